"""/mcp as it stands on the wire: what each revision sends and gets, and everything that is not the protocol."""

import base64
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flask import Flask
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from werkzeug.test import TestResponse

from shared.config import Settings
from shared.tools import NOTICE, TOOLS, definitions, output_schema
from tests.web.conftest import Visitor, message, say, services_of, visitor
from web import create_app
from web.protocol import HANDSHAKE, MAX_BATCH, MODERN, REVISIONS

ACCEPT = {"Accept": "application/json, text/event-stream"}
META = {"io.modelcontextprotocol/protocolVersion": MODERN[0], "io.modelcontextprotocol/clientCapabilities": {}}


def request(method: str, params: Any = None, message_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, **({} if params is None else {"params": params})}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments})


def send(who: Visitor, body: Any, **headers: str) -> TestResponse:
    """Posts a message as an older client does; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return who.post("/mcp", body, headers={**ACCEPT, **named})


def send_modern(who: Visitor, method: str, params: dict[str, Any] | None = None, meta: Any = META, **headers: str | None) -> TestResponse:
    """Posts a request as a client of today does; a header given as None is left out."""
    body = request(method, {**(params or {}), "_meta": meta})
    named: dict[str, str | None] = {"MCP_Protocol_Version": MODERN[0], "Mcp_Method": method, **headers}
    if method == "tools/call":
        named = {"Mcp_Name": str((params or {}).get("name")), **named}
    return send(who, body, **{name: value for name, value in named.items() if value is not None})


def error_of(answer: TestResponse) -> tuple[int, int]:
    """The HTTP status and the protocol's code."""
    return answer.status_code, answer.get_json()["error"]["code"]


def tool_error(answer: TestResponse) -> str:
    result = answer.get_json()["result"]
    assert result["isError"] is True and "structuredContent" not in result
    return str(result["content"][0]["text"])


# -- revisions


def test_the_revisions_are_those_that_the_official_client_knows():
    assert set(REVISIONS) == set(KNOWN_PROTOCOL_VERSIONS)
    assert set(MODERN) == set(MODERN_PROTOCOL_VERSIONS)


@pytest.mark.parametrize(
    ("wanted", "agreed"), [(one, one) for one in HANDSHAKE] + [("2099-01-01", HANDSHAKE[0]), (MODERN[0], HANDSHAKE[0]), ("", HANDSHAKE[0])]
)
def test_a_handshake_settles_on_what_was_asked_for_or_on_the_newest_that_has_one(ada: Visitor, wanted: str, agreed: str):
    answer = send(ada, request("initialize", {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}))

    result = answer.get_json()["result"]
    assert answer.status_code == 200 and "Mcp-Session-Id" not in answer.headers
    assert (result["protocolVersion"], result["capabilities"], result["serverInfo"]["name"]) == (agreed, {"tools": {}}, "session-search")


def test_todays_revision_needs_no_handshake(ada: Visitor):
    discovered = send_modern(ada, "server/discover").get_json()["result"]
    listed = send_modern(ada, "tools/list").get_json()["result"]

    assert discovered["supportedVersions"] == list(REVISIONS)
    assert listed["tools"] == definitions("mcp")
    for result in (discovered, listed):
        assert result["resultType"] == "complete" and result["ttlMs"] > 0 and result["cacheScope"] == "public"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "session-search"


@pytest.mark.parametrize("headers", [{}, {"MCP_Protocol_Version": "2024-11-05"}, {"MCP_Protocol_Version": "2025-03-26"}])
def test_clients_older_than_structured_content_get_none(ada: Visitor, headers: dict[str, str]):
    tools = send(ada, request("tools/list"), **headers).get_json()["result"]["tools"]
    result = send(ada, call("sessions_list"), **headers).get_json()["result"]

    assert all(set(tool) == {"name", "description", "inputSchema", "annotations"} for tool in tools)
    assert tools[0]["annotations"]["title"] == TOOLS[0].title and tools[0]["annotations"]["readOnlyHint"] is True
    assert set(result) == {"content", "isError"}


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_clients_since_2025_06_18_get_schemas_and_structured_content(ada: Visitor, revision: str):
    tools = send(ada, request("tools/list"), MCP_Protocol_Version=revision).get_json()["result"]
    result = send(ada, call("sessions_list"), MCP_Protocol_Version=revision).get_json()["result"]

    assert tools == {"tools": definitions("mcp")}
    assert result["structuredContent"] == {"notice": NOTICE, "sessions": [], "nextCursor": None, "scope": "tree"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"MCP_Protocol_Version": None}, (400, -32020)),
        ({"MCP_Protocol_Version": "2025-11-25"}, (400, -32020)),
        ({"Mcp_Method": None}, (400, -32020)),
        ({"Mcp_Method": "Tools/List"}, (400, -32020)),
        ({"meta": None}, (400, -32602)),
        ({"meta": {}}, (400, -32602)),
        ({"meta": {"io.modelcontextprotocol/protocolVersion": MODERN[0]}}, (400, -32602)),
        ({"MCP_Protocol_Version": "2099-01-01", "meta": {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}}, (400, -32022)),
        ({"MCP_Protocol_Version": "2025-11-25", "meta": {**META, "io.modelcontextprotocol/protocolVersion": "2025-11-25"}}, (400, -32022)),
        ({"MCP_Protocol_Version": "2099-01-01", "meta": {}}, (400, -32022)),
        ({"params": {"cursor": "further"}}, (400, -32602)),
    ],
)
def test_a_request_of_today_whose_metadata_do_not_fit_is_refused(ada: Visitor, change: dict[str, Any], expected: tuple[int, int]):
    answer = send_modern(ada, "tools/list", **change)

    assert error_of(answer) == expected
    assert answer.get_json()["id"] == 1
    if expected[1] == -32022:
        assert answer.get_json()["error"]["data"] == {"supported": list(REVISIONS), "requested": change["MCP_Protocol_Version"]}


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("sessions_list", True),
        ("=?base64?" + base64.b64encode(b"sessions_list").decode() + "?=", True),
        ("sessions_search", False),
        ("=?base64?!?=", False),
        ("=?base64?/w==?=", False),
        (None, False),
    ],
)
def test_the_tools_name_in_the_header_must_be_the_one_in_the_message(ada: Visitor, name: str | None, passes: bool):
    answer = send_modern(ada, "tools/call", {"name": "sessions_list"}, Mcp_Name=name)

    assert answer.status_code == 200 if passes else error_of(answer) == (400, -32020)


@pytest.mark.parametrize("method", ["initialize", "ping", "resources/list", "subscriptions/listen", "tools/delete", "logging/setLevel"])
def test_a_method_that_todays_revision_has_not_here_is_a_404(ada: Visitor, method: str):
    assert error_of(send_modern(ada, method)) == (404, -32601)


# -- messages


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (request("prompts/list"), (200, -32601)),
        (request("server/discover"), (200, -32601)),
        (request("initialize"), (200, -32602)),
        (request("tools/call"), (200, -32602)),
        (request("tools/call", {"name": 7}), (200, -32602)),
        (request("tools/call", {"name": "sessions_list", "arguments": []}), (200, -32602)),
        (request("tools/call", {"name": "sessions_delete"}), (200, -32602)),
        (request("tools/list", {"cursor": "x"}), (200, -32602)),
        (request("tools/list", []), (200, -32602)),
        (request("tools/list", message_id=None), (400, -32600)),
        (request("tools/list", message_id=1.5), (400, -32600)),
        (request("tools/list", message_id=True), (400, -32600)),
        (request("tools/list", message_id=1 << 70), (400, -32600)),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, (400, -32600)),
        ({"id": 1, "method": "ping"}, (400, -32600)),
        ({"jsonrpc": "2.0", "id": 1}, (400, -32600)),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, (400, -32600)),
        ("ping", (400, -32600)),
        (None, (400, -32600)),
        (7, (400, -32600)),
    ],
)
def test_what_is_no_request_of_the_protocol_is_told_so(ada: Visitor, body: Any, expected: tuple[int, int]):
    answer = ada.ask("POST", "/mcp", data=json.dumps(body), content_type="application/json", headers=ACCEPT)

    assert error_of(answer) == expected
    assert answer.get_json()["id"] == (1 if isinstance(body, dict) and body.get("id") == 1 and body["id"] is not True else None)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"jsonrpc": NaN}', b"[" * 100 + b"]" * 100])
def test_a_body_that_is_no_json_is_a_parse_error(ada: Visitor, data: bytes):
    answer = ada.ask("POST", "/mcp", data=data, content_type="application/json", headers=ACCEPT)

    assert error_of(answer) == (400, -32700)
    assert answer.get_json()["id"] is None


@pytest.mark.parametrize("message_id", [0, -5, (1 << 63) - 1, "", "a", "é\n"])
def test_an_id_comes_back_as_it_was(ada: Visitor, message_id: Any):
    assert send(ada, request("ping", message_id=message_id)).get_json() == {"jsonrpc": "2.0", "id": message_id, "result": {}}


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
    ],
)
def test_what_wants_no_answer_gets_none(ada: Visitor, body: dict[str, Any]):
    answer = send(ada, body)

    assert (answer.status_code, answer.data) == (202, b"")


def test_todays_clients_send_no_answers_and_nothing_under_an_unknown_revision(ada: Visitor):
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled"}

    assert send(ada, notice, MCP_Protocol_Version=MODERN[0]).status_code == 202
    assert error_of(send(ada, notice, MCP_Protocol_Version="2099-01-01")) == (400, -32022)
    assert error_of(send(ada, {"jsonrpc": "2.0", "id": 1, "result": {}}, MCP_Protocol_Version=MODERN[0])) == (400, -32600)


def test_a_batch_is_answered_in_the_one_revision_that_has_them(ada: Visitor):
    batch = [request("ping", message_id="a"), {"jsonrpc": "2.0", "method": "notifications/initialized"}, request("no/such", message_id="b"), 7]

    answer = send(ada, batch)

    assert answer.status_code == 200
    assert [(one["id"], one.get("error", {}).get("code")) for one in answer.get_json()] == [("a", None), ("b", -32601), (None, -32600)]
    assert send(ada, [batch[1]]).status_code == 202
    assert error_of(send(ada, batch, MCP_Protocol_Version="2025-06-18")) == (400, -32600)
    assert error_of(send(ada, batch, MCP_Protocol_Version=MODERN[0])) == (400, -32600)


def test_a_batch_has_bounds_and_begins_no_conversation(ada: Visitor):
    assert error_of(send(ada, [])) == (400, -32600)
    assert error_of(send(ada, [request("ping")] * (MAX_BATCH + 1))) == (400, -32600)
    assert send(ada, [request("initialize", {"protocolVersion": HANDSHAKE[0]})]).get_json()[0]["error"]["code"] == -32600


def test_every_message_of_a_batch_counts_as_a_request(tmp_path: Path):
    app = create_app(Settings(data=tmp_path / "limited", rate_limit=5))
    ada = visitor(app, "agent", agent_id="ada", session_key="agent:ada:main")

    answers = [send(ada, [request("ping")] * 4), send(ada, [request("ping")] * 4)]

    assert [answer.status_code for answer in answers] == [200, 429]
    assert int(answers[1].headers["Retry-After"]) > 0
    services_of(app).close()


# -- who and how


def test_there_is_no_answer_without_a_credential(nobody: Visitor):
    answer = send(nobody, request("ping"))

    assert answer.status_code == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
def test_who_looks_for_a_way_to_sign_in_is_not_sent_to_a_page_for_people(nobody: Visitor, ada: Visitor, path: str):
    assert nobody.get(path).status_code == 401
    assert (ada.get(path).status_code, ada.get(path).mimetype) == (404, "application/problem+json")


@pytest.mark.parametrize("kind", ["platform", "operator"])
def test_the_tools_are_for_agents_tokens_alone(app: Flask, kind: str):
    answer = send(visitor(app, kind), call("sessions_list"))

    assert answer.status_code == 403
    assert "session-search token agent" in answer.get_json()["detail"]


def test_a_sign_in_cookie_calls_no_tool(app: Flask, ada: Visitor):
    """A page of this service could act in the name of whoever is signed in."""
    client = app.test_client()
    client.post("/login", data={"token": ada.token})

    assert client.get("/").status_code == 200
    assert client.post("/mcp", json=request("ping"), headers=ACCEPT).status_code == 401


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
def test_only_post_is_taken(ada: Visitor, method: str):
    answer = ada.ask(method, "/mcp", headers={"Accept": "text/event-stream"})

    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost"}, 200),
        ({"Accept": "text/event-stream"}, 406),
        ({"Accept": "text/html"}, 406),
        ({"Accept": "application/json;q=0"}, 406),
        ({"Accept": "application/json"}, 200),
        ({"Accept": "*/*"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
    ],
)
def test_headers_are_checked_as_everywhere(ada: Visitor, headers: dict[str, str], status: int):
    sent = {"Content-Type": "application/json", **ACCEPT, **headers}

    answer = ada.ask("POST", "/mcp", data=json.dumps(request("ping")), headers=sent)

    assert answer.status_code == status
    assert status == 200 or answer.mimetype == "application/problem+json"


def test_a_body_has_its_bound(ada: Visitor):
    assert send(ada, request("ping", {"pad": "x" * (4 << 20)})).status_code == 413


def test_its_requests_are_counted_under_its_name(ada: Visitor, operator: Visitor):
    send(ada, request("ping"))

    assert 'session_search_requests_total{operation="mcp",status="2xx"} 1.0' in operator.get("/metrics").text


# -- the tools


def test_a_tool_answers_what_the_operation_answers(app: Flask, ada: Visitor, platform: Visitor):
    say(platform, message("e1", "the ferry leaves at noon"), message("e2", "and the ferry returns at dusk"))
    asked = [
        ("sessions_search", "search", {"query": "ferry", "limit": 1, "order": "recent"}),
        ("sessions_search", "search", {"query": "ferry nowhere", "group": "session"}),
        ("sessions_history", "history", {"sessionKey": "agent:ada:main", "messageId": "e1"}),
        ("sessions_list", "list", {"scope": "self"}),
    ]

    for tool, verb, arguments in asked:
        result = send_modern(ada, "tools/call", {"name": tool, "arguments": arguments}).get_json()["result"]
        answer = ada.post(f"/v1/sessions/{verb}", arguments).get_json()

        assert result["structuredContent"] == {"notice": NOTICE, **answer}
        jsonschema.validate(result["structuredContent"], output_schema(next(one for one in TOOLS if one.name == tool)))
        assert result["content"][0]["text"].startswith(NOTICE)


def test_a_cursor_told_in_the_text_opens_the_next_page(ada: Visitor, platform: Visitor):
    say(platform, *(message(f"e{n}", f"ferry number {n}") for n in range(3)))
    seen, cursor = [], {}

    while True:
        text = send(ada, call("sessions_search", query="ferry", limit=1, **cursor)).get_json()["result"]["content"][0]["text"]
        seen += [line for line in text.split("\n") if line.startswith("> ")]
        *_, last = text.split("\n")
        if not last.startswith("More: "):
            break
        cursor = {"cursor": json.loads(last.partition("cursor ")[2])}

    assert sorted(seen) == [f"> ferry number {n}" for n in range(3)]


def test_what_is_still_to_be_indexed_is_said_and_enqueued(app: Flask, ada: Visitor, platform: Visitor):
    say(platform, message("e1", "the ferry leaves at noon"), message("e2", "at dusk"))
    platform.post("/v1/sessions/rewind", {"agentId": "ada", "sessionKey": "agent:ada:main", "toEventId": "e1"})

    text = send(ada, call("sessions_search", query="dusk")).get_json()["result"]["content"][0]["text"]

    assert 'Nothing was found for "dusk".' in text
    assert "Results may be incomplete: 1 session is being indexed. Ask again in 1 s." in text
    jobs = visitor(app, "operator").get("/v1/ops/jobs").get_json()["jobs"]
    assert [(job["task"], job["sessionKey"]) for job in jobs] == [("reconcile", "agent:ada:main")]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("sessions_search", {}, "query is missing"),
        ("sessions_search", {"query": ""}, "query must be a string of 1 to 4096 characters"),
        ("sessions_search", {"query": "..."}, "query holds nothing searchable"),
        ("sessions_search", {"query": "a", "limit": "5"}, "limit must be a whole number from 1 to 50"),
        ("sessions_search", {"query": "a", "limit": 51}, "limit must be a whole number from 1 to 50"),
        ("sessions_search", {"query": "a", "role": "system"}, "role must be one of assistant, user"),
        ("sessions_search", {"query": "a", "top_k": 5}, "unknown field “top_k”; known are query, "),
        ("sessions_search", {"query": "a", "after": "yesterday"}, "after must be milliseconds since 1970, or ISO 8601"),
        ("sessions_search", {"query": "a", "scope": "everything"}, "scope must be one of"),
        ("sessions_search", {"query": "a", "cursor": "x"}, "cursor is not one"),
        ("sessions_search", {"query": "a", "caller": {"agentId": "bob", "sessionKey": "agent:bob:main"}}, "unknown field “caller”"),
        ("sessions_history", {"sessionKey": "agent:bob:main"}, "or nothing that this caller may see. sessions_list shows"),
        ("sessions_history", {"sessionKey": "k", "messageId": "a", "before": "b"}, "only one of messageId, before and after"),
        ("sessions_list", {"limit": 0}, "limit must be a whole number from 1 to 200"),
    ],
)
def test_an_agents_mistake_is_told_with_its_field_and_what_to_do(ada: Visitor, tool: str, arguments: dict[str, Any], told: str):
    answer = send(ada, call(tool, **arguments), MCP_Protocol_Version="2025-11-25")

    text = tool_error(answer)
    assert told in text
    assert f"call {tool} again" in text or "sessions_list shows" in text


def test_null_is_the_same_as_leaving_a_field_out(ada: Visitor, platform: Visitor):
    say(platform, message("e1", "the ferry leaves at noon"))

    arguments = {"query": "ferry", "role": None, "after": None, "limit": None, "cursor": None, "agentId": None}

    assert "> the ferry leaves at noon" in send(ada, call("sessions_search", **arguments)).text


def test_a_hidden_session_and_none_are_one_answer(ada: Visitor, platform: Visitor):
    say(platform, message("b1", "bob's ferry"), agent="bob", key="agent:bob:main")

    hidden, missing = (send(ada, call("sessions_history", sessionKey=key)).data for key in ("agent:bob:main", "agent:bob:none"))

    assert hidden == missing


def test_a_database_that_cannot_be_read_is_told_as_such(app: Flask, ada: Visitor, platform: Visitor):
    say(platform, message("e1", "the ferry leaves at noon"))
    store = services_of(app).store
    path = store.agent_path("ada")
    services_of(app).close()
    path.write_bytes(b"no database at all" * 1_000)

    text = tool_error(send(ada, call("sessions_search", query="ferry")))

    assert "nothing was changed. Try again. Wait 5 s first; if it stays so, tell the operator." in text
    assert str(path) not in text


def test_secrets_are_masked_here_too(ada: Visitor, platform: Visitor):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    say(platform, message("e1", f"the ferry token is {token} indeed"))

    answer = send(ada, call("sessions_search", query="ferry")).text + send(ada, call("sessions_history", sessionKey="agent:ada:main")).text

    assert token not in answer
    assert answer.count("[redacted:github-token]") == 2
