"""An agent's conversation with the running service, held by the official MCP client over both transports and in both eras."""

import functools
import json
import re
import string
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from shared.client import SessionSearch
from shared.config import Settings
from shared.store import open_store
from shared.tokens import issue_token, revoke_token
from shared.tools import FORMATS, TOOLS, definitions
from tests.web.test_serving import Served
from web.protocol import HANDSHAKE, MODERN

ADA: Any = {"agentId": "ada", "sessionKey": "agent:ada:main"}
COMMAND = ["-c", "import sys; from worker.cli import run; sys.exit(run(sys.argv[1:]))", "mcp"]
ERAS = {"auto": MODERN[0], "legacy": HANDSHAKE[0]}


class Agent:
    """A running service with something in it, and an agent's token for it."""

    def __init__(self, served: Served) -> None:
        self.served, self.address = served, f"http://127.0.0.1:{served.port}"
        self.store = open_store(Settings(data=served.data))
        issued = issue_token(self.store, "agent", 0, agent_id="ada", session_key="agent:ada:main")
        self.token, self.token_id = issued.text, issued.token_id

    @asynccontextmanager
    async def by_http(self, mode: str, token: str | None = None) -> AsyncIterator[Client]:
        async with (
            create_mcp_http_client({"Authorization": f"Bearer {token or self.token}"}) as http,
            Client(streamable_http_client(self.address + "/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    @asynccontextmanager
    async def by_stdio(self, mode: str, token: str | None = None) -> AsyncIterator[Client]:
        environ = {"SESSION_SEARCH_TOKEN": token or self.token, "SESSION_SEARCH_PORT": str(self.served.port)}
        async with Client(StdioServerParameters(command=sys.executable, args=COMMAND, env=environ), mode=mode) as client:
            yield client

    def reach(self, transport: str) -> Callable[..., Any]:
        return self.by_http if transport == "http" else self.by_stdio


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    served = Served(tmp_path_factory.mktemp("mcp"))
    served.await_start()
    made = Agent(served)
    with SessionSearch(made.address, served.token, caller=ADA) as sessions:
        sessions.put("ada", "agent:ada:talk", title="Ferry plans", spawnedBy="agent:ada:main")
        sessions.append("ada", "agent:ada:talk", [said("e1", "When does the ferry leave?", "user"), said("e2", "The ferry leaves at noon.")])
        sessions.append("bob", "agent:bob:main", [said("b1", "Bob hides the ferry ticket.", "user")])
    yield made
    made.store.close()
    assert served.end() == 0


ROOT = Path(__file__).parents[2]
FOR_AGENTS = (ROOT / "docs" / "agents.md").read_text("utf-8")


def said(event_id: str, text: str, role: str = "assistant") -> dict[str, Any]:
    return {"type": "message", "id": event_id, "message": {"role": role, "content": text}}


def held(conversation: Callable[[], Any]) -> Any:
    """What a conversation came to; none takes longer than half a minute."""

    async def bounded() -> Any:
        with anyio.fail_after(30):
            return await conversation()

    return anyio.run(bounded)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_an_agent_lists_the_tools_searches_follows_a_hit_and_is_refused(agent: Agent, transport: str, mode: str):
    async def conversation() -> None:
        async with agent.reach(transport)(mode) as client:
            tools = (await client.list_tools()).tools
            search = await client.call_tool("sessions_search", {"query": '"leaves at noon"'})
            (hit,) = search.structured_content["results"]
            around = {name: hit[name] for name in ("sessionKey", "sessionId", "messageId")}
            history = await client.call_tool("sessions_history", around)
            listed = await client.call_tool("sessions_list", {})
            refused = await client.call_tool("sessions_search", {"query": "ferry", "limit": "5"})
            hidden = await client.call_tool("sessions_history", {"sessionKey": "agent:bob:main"})

            assert client.protocol_version == ERAS[mode]
            assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
            assert all(tool.annotations.read_only_hint and tool.annotations.open_world_hint is False for tool in tools)
            assert (hit["messageId"], hit["excerpt"]) == ("e2", "The ferry leaves at noon.")
            assert "> The ferry leaves at noon." in search.content[0].text
            assert [message["id"] for message in history.structured_content["messages"]] == ["e1", "e2"]
            assert "agent:ada:talk" in {session["sessionKey"] for session in listed.structured_content["sessions"]}
            assert "agent:bob:main" not in listed.content[0].text
            assert refused.is_error and "limit must be a whole number from 1 to 50" in refused.content[0].text
            assert hidden.is_error and "sessions_list" in hidden.content[0].text

    held(conversation)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_an_unknown_tool_is_an_error_of_the_protocol(agent: Agent, transport: str):
    async def conversation() -> None:
        async with agent.reach(transport)("auto") as client:
            with pytest.raises(MCPError, match="unknown tool: sessions_delete") as refused:
                await client.call_tool("sessions_delete", {})
            assert refused.value.code == -32602

    held(conversation)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_another_kind_of_token_gets_no_conversation(agent: Agent, transport: str):
    async def conversation() -> None:
        async with agent.reach(transport)("legacy", agent.served.token):
            raise AssertionError("a conversation was begun")

    with pytest.raises(BaseExceptionGroup) as refused:
        held(conversation)

    assert refused.group_contains(MCPError)
    if transport == "stdio":
        assert "agents' tokens" in str(leaves(refused.value)[0])


def test_a_token_revoked_in_the_middle_ends_what_it_opened(agent: Agent):
    issued = issue_token(agent.store, "agent", 0, agent_id="ada", session_key="agent:ada:main")

    async def conversation() -> None:
        async with agent.by_stdio("auto", issued.text) as client:
            assert not (await client.call_tool("sessions_list", {})).is_error
            revoke_token(agent.store, issued.token_id, 1)
            with pytest.raises(MCPError, match=r"A credential is needed \(401\)"):
                await client.call_tool("sessions_list", {})

    held(conversation)


def test_a_client_over_stdio_is_told_when_no_service_answers(agent: Agent, tmp_path: Path):
    environ = {"SESSION_SEARCH_TOKEN": agent.token}
    nowhere = StdioServerParameters(command=sys.executable, args=[*COMMAND, "--url", "http://127.0.0.1:9"], env=environ)

    async def conversation() -> None:
        async with Client(nowhere, mode="legacy"):
            raise AssertionError("a conversation was begun")

    with pytest.raises(BaseExceptionGroup) as refused:
        held(conversation)

    assert "Is `session-search serve` running at http://127.0.0.1:9?" in str(leaves(refused.value)[0])


# -- what the manual shows


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", FOR_AGENTS, re.DOTALL)


def configured() -> dict[str, dict[str, Any]]:
    """The server of each configuration, by what is peculiar to it."""
    servers = [json.loads(text)["mcpServers"]["session-search"] for text in shown("json")]
    (codex,) = [tomllib.loads(text)["mcp_servers"]["session-search"] for text in shown("toml")]
    return {"claude": servers[0], "codex": codex, "gemini": servers[1], "command": servers[2]}


def test_the_readme_shows_the_three_configurations_as_the_manual_has_them():
    readme = (ROOT / "README.md").read_text("utf-8")

    assert [text for text in [*shown("json")[:2], *shown("toml")] if text not in readme] == []


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_each_configuration_in_the_manual_reaches_the_service(agent: Agent, name: str):
    server = configured()[name]
    url = server.get("url") or server["httpUrl"]
    token = string.Template(server["headers"]["Authorization"]).substitute(SESSION_SEARCH_TOKEN=agent.token) if "headers" in server else ""
    assert url == f"http://{Settings().host}:{Settings().port}/mcp"
    assert server.get("bearer_token_env_var", "SESSION_SEARCH_TOKEN") == "SESSION_SEARCH_TOKEN"

    async def conversation() -> None:
        headers = {"Authorization": token or f"Bearer {agent.token}"}
        async with (
            create_mcp_http_client(headers) as http,
            Client(streamable_http_client(url.replace(str(Settings().port), str(agent.served.port)), http_client=http)) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == re.findall(r"`(sessions_\w+)`", FOR_AGENTS)[:3]

    held(conversation)


def test_the_command_in_the_manual_is_one_that_speaks_the_protocol(agent: Agent):
    server = configured()["command"]
    assert (server["command"], server["args"], list(server["env"])) == ("session-search", ["mcp"], ["SESSION_SEARCH_TOKEN"])
    environ = {"SESSION_SEARCH_TOKEN": agent.token, "SESSION_SEARCH_PORT": str(agent.served.port)}

    async def conversation() -> None:
        program = StdioServerParameters(command=sys.executable, args=[*COMMAND[:2], *server["args"]], env=environ)
        async with Client(program) as client:
            assert len((await client.list_tools()).tools) == 3

    held(conversation)


def test_the_text_in_the_manual_is_what_an_agent_gets(agent: Agent):
    with SessionSearch(agent.address, agent.served.token) as sessions:
        sessions.put("cleo", "agent:ada:main:cleo", title="Ferry plans", sessionId="ferry-2")
        event = {**said("e2", "The ferry leaves at noon, from the north pier."), "timestamp": "2026-11-30T10:15:04Z"}
        sessions.append("cleo", "agent:ada:main:cleo", [event])
    token = issue_token(agent.store, "agent", 0, agent_id="cleo", session_key="agent:ada:main:cleo").text

    async def conversation() -> str:
        async with agent.by_http("auto", token) as client:
            return str((await client.call_tool("sessions_search", {"query": "noon ferry"})).content[0].text)

    text = held(conversation).replace("agent:ada:main:cleo", "agent:ada:main").replace("ferry-2", "ferry-1")
    (expected,) = shown("text")
    assert re.sub(r"\(.*? ago\)|\(now\)", "(…)", text) == re.sub(r"\(.*? ago\)", "(…)", expected.rstrip("\n"))


def test_the_python_in_the_manual_runs(agent: Agent, capsys: pytest.CaptureFixture[str]):
    (program,) = shown("python")

    exec(program.replace("http://127.0.0.1:8321", agent.address), {"token": agent.served.token})

    assert "user Is there a ferry at noon?" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_prints_the_definitions_in_each_shape(form: Any):
    done = subprocess.run([sys.executable, *COMMAND[:2], "tools", "--format", form], capture_output=True, check=True)

    assert json.loads(done.stdout) == definitions(form)
    assert f"`{form}`" in FOR_AGENTS or f"--format {form}`" in FOR_AGENTS


def leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return functools.reduce(lambda found, one: found + leaves(one), error.exceptions, [])
