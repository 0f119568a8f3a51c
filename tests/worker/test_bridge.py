"""session-search mcp as programs start it: lines in, lines out, and nothing on standard output that is not the protocol."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.config import Settings
from shared.store import open_store
from shared.tokens import issue_token
from tests.web.test_serving import Served
from worker.bridge import Bridge

COMMAND = [sys.executable, "-c", "import sys; from worker.cli import run; sys.exit(run(sys.argv[1:]))", "mcp"]
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("bridge"))
    served.await_start()
    yield served
    assert served.end() == 0


@pytest.fixture(scope="module")
def token(served: Served) -> str:
    store = open_store(Settings(data=served.data))
    try:
        return issue_token(store, "agent", 0, agent_id="ada", session_key="agent:ada:main").text
    finally:
        store.close()


def converse(port: int, token: str, *lines: Any) -> tuple[list[Any], subprocess.CompletedProcess[bytes]]:
    """What the command answers to these lines (bytes as they are, all else as JSON), and how it ended."""
    sent = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    environ = {**os.environ, "SESSION_SEARCH_TOKEN": token, "SESSION_SEARCH_PORT": str(port)}
    done = subprocess.run(COMMAND, input=sent, env=environ, capture_output=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def request(message_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}


def test_each_request_gets_one_line_and_the_end_of_input_ends_it(served: Served, token: str):
    answers, done = converse(
        served.port,
        token,
        request(1, "initialize", **INITIALIZE),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        b"",
        request("two", "tools/list"),
        request(3, "tools/call", name="sessions_list", arguments={}),
        request(4, "no/such"),
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert [answer["id"] for answer in answers] == [1, "two", 3, 4]
    assert "structuredContent" in answers[2]["result"]  # the revision that was settled on goes with what follows
    assert answers[3]["error"]["code"] == -32601


def test_a_request_of_today_takes_its_headers_from_itself(served: Served, token: str):
    called = request(1, "tools/call", name="sessions_list", arguments={}, _meta=META)
    foreign = request(2, "tools/call", name="sessions_lösche", arguments={}, _meta=META)
    future = request(3, "tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01\r\nX: y"})

    answers, _ = converse(served.port, token, called, foreign, future)

    assert answers[0]["result"]["resultType"] == "complete"
    assert answers[1]["error"]["message"] == "unknown tool: sessions_lösche"
    assert answers[2]["error"]["code"] in (-32020, -32022)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{", (None, -32700)),
        (b"\xff", (None, -32700)),
        (b"[" * 100_000, (None, -32700)),
        (b'{"jsonrpc": "2.0", "id": 5}', (5, -32600)),
        (b"7", (None, -32600)),
        (b"[]", (None, -32600)),
    ],
)
def test_a_line_that_is_no_message_is_told_so_and_the_next_is_answered(served: Served, token: str, line: bytes, expected: tuple[Any, int]):
    answers, done = converse(served.port, token, line, request(6, "ping"))

    assert (answers[0]["id"], answers[0]["error"]["code"]) == expected
    assert answers[1:] == [{"jsonrpc": "2.0", "id": 6, "result": {}}]
    assert done.returncode == 0


def test_a_refusal_before_the_protocol_becomes_an_error_for_whoever_waits(served: Served):
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answers, _ = converse(served.port, served.token, request(1, "ping"), notice, [request(2, "ping"), notice, request(3, "ping")], [notice])

    single, batch = answers
    assert single["id"] == 1 and "agents' tokens" in single["error"]["message"] and "(403)" in single["error"]["message"]
    assert [one["id"] for one in batch] == [2, 3]


def test_a_service_that_is_not_there_is_an_error_and_no_end(tmp_path: Path):
    answers, done = converse(9, "sst_x", request(1, "ping"), request(2, "ping"))

    assert [answer["id"] for answer in answers] == [1, 2]
    assert "Is `session-search serve` running at http://127.0.0.1:9?" in answers[0]["error"]["message"]
    assert done.returncode == 0


def test_a_connection_that_ended_meanwhile_is_opened_again(served: Served, token: str):
    bridge = Bridge(f"http://127.0.0.1:{served.port}/mcp", token)
    ping = json.dumps(request(1, "ping")).encode()
    first = bridge.answer(ping)
    bridge._wire._connection.sock.shutdown(socket.SHUT_RDWR)
    again = bridge.answer(ping)
    bridge.close()

    assert json.loads(first) == json.loads(again) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("body", [b"[" * 100_000, b"[]", b"<html>", b'"text"', b'{"title": "x"}', b""])
def test_whatever_a_broken_service_answers_is_an_error_for_whoever_waits(monkeypatch, body: bytes):
    """Deep nesting and an empty list ended the bridge."""
    bridge = Bridge("http://127.0.0.1:9", "sst_x")
    monkeypatch.setattr(bridge._wire, "post", lambda *sent: (200, {}, body))

    answer = json.loads(bridge.answer(json.dumps(request(1, "initialize", **INITIALIZE)).encode()))

    assert (answer["id"], answer["error"]["message"]) == (1, "the service answered 200")


def test_an_initialize_that_is_answered_otherwise_than_asked_settles_nothing(monkeypatch):
    bridge = Bridge("http://127.0.0.1:9", "sst_x")
    for body in (b'[{"jsonrpc": "2.0", "id": 1, "result": {}}]', b'{"jsonrpc": "2.0", "id": 1, "result": {}}'):
        monkeypatch.setattr(bridge._wire, "post", lambda *sent, body=body: (200, {}, body))

        assert bridge.answer(json.dumps(request(1, "initialize", **INITIALIZE)).encode()) == body

    assert bridge._revision is None


def test_a_service_that_hangs_is_waited_for_once():
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        bridge = Bridge(f"http://127.0.0.1:{hanging.getsockname()[1]}", "sst_x")
        bridge._wire._connection.timeout = 0.2

        answer = json.loads(bridge.answer(json.dumps(request(1, "ping")).encode()))
        hanging.settimeout(0.2)
        hanging.accept()[0].close()

        assert "does not answer" in answer["error"]["message"]
        with pytest.raises(TimeoutError):
            hanging.accept()


@pytest.mark.parametrize("token", ["", " ", "a\nb", "é"])
def test_without_a_token_it_does_not_begin(token: str):
    answers, done = converse(9, token, request(1, "ping"))

    assert (answers, done.returncode) == ([], 2)
    assert b"SESSION_SEARCH_TOKEN must hold an agent's token" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("url", ["localhost", "ftp://localhost", "http://"])
def test_what_is_no_address_is_a_mistake_of_usage(url: str):
    done = subprocess.run([*COMMAND, "--url", url], env={**os.environ, "SESSION_SEARCH_TOKEN": "t"}, capture_output=True, check=False)

    assert done.returncode == 2 and b"is no address of the service" in done.stderr
