"""Search, history and list over HTTP: both methods, both kinds of token, and what may not be seen."""

import re
from typing import Any

import msgspec
import pytest
from flask import Flask
from werkzeug.test import TestResponse

from shared import forms
from tests.web.conftest import ADA, Visitor, message, say, services_of, visitor

CALLER = {"callerAgent": "ada", "callerSession": "agent:ada:main"}


def ids(answer: TestResponse) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [hit["messageId"] for hit in answer.get_json()["results"]]


@pytest.fixture
def harbour(platform: Visitor) -> Visitor:
    """A few messages, in ada's session and in one that ada does not see."""
    say(platform, message("a1", "the ferry leaves at noon"), message("a2", "and the tide turns", "assistant"))
    say(platform, message("g1", "grete keeps the ferry ledger"), agent="grete", key="agent:grete:main")
    return platform


def test_a_search_answers_the_fields_of_the_contract(harbour: Visitor):
    answer = harbour.post("/v1/sessions/search", {"query": "ferry", "caller": ADA})

    found = msgspec.convert(answer.get_json(), forms.Found)
    assert [hit.message_id for hit in found.results] == ["a1"]
    hit = found.results[0]
    assert [hit.excerpt[start:end] for start, end in hit.highlights] == ["ferry"]
    assert (found.indexing, found.pending_sessions, found.truncated, found.next_cursor) == (False, 0, False, None)
    assert "Retry-After" not in answer.headers


def test_get_and_post_ask_alike(harbour: Visitor):
    posted = harbour.post("/v1/sessions/search", {"query": "ferry tide", "match": "any", "limit": 1, "caller": ADA})
    got = harbour.get("/v1/sessions/search", query="ferry tide", match="any", limit=1, **CALLER)

    assert got.get_json() == posted.get_json()
    assert len(got.get_json()["results"]) == 1


@pytest.mark.parametrize("unset", ["sessionKey", "role", "after", "before", "match", "order", "group", "scope", "limit", "cursor"])
def test_null_is_the_same_as_leaving_it_out(harbour: Visitor, unset: str):
    plain = harbour.post("/v1/sessions/search", {"query": "ferry", "caller": ADA})
    null = harbour.post("/v1/sessions/search", {"query": "ferry", "caller": ADA, unset: None})

    assert null.get_json() == plain.get_json()


def test_times_narrow_as_milliseconds_and_as_iso(platform: Visitor):
    say(
        platform,
        {**message("old", "ferry"), "timestamp": "2026-01-01T00:00:00Z"},
        {**message("new", "ferry"), "timestamp": "2026-06-01T00:00:00Z"},
    )

    for after in ("2026-03-01", "2026-03-01T00:00:00Z", 1_772_323_200_000):
        assert ids(platform.post("/v1/sessions/search", {"query": "ferry", "caller": ADA, "after": after})) == ["new"]
        assert ids(platform.get("/v1/sessions/search", query="ferry", after=after, **CALLER)) == ["new"]
        assert ids(platform.post("/v1/sessions/search", {"query": "ferry", "caller": ADA, "before": after})) == ["old"]


@pytest.mark.parametrize(
    ("query", "status"), [('"', 422), ("   ", 422), ("...", 422), ("null", 200), ("true", 200), ("10", 200), ("&=?#%", 422)]
)
def test_query_text_is_text_in_both_methods(harbour: Visitor, query: str, status: int):
    assert harbour.post("/v1/sessions/search", {"query": query, "caller": ADA}).status_code == status
    assert harbour.get("/v1/sessions/search", query=query, **CALLER).status_code == status


def test_a_search_that_finds_work_owed_says_so_and_enqueues_it(harbour: Visitor, operator: Visitor):
    harbour.post("/v1/sessions/rewind", {**ADA, "toEventId": "a1"})

    answers_made = [harbour.post("/v1/sessions/search", {"query": "ferry", "caller": ADA}) for _ in range(3)]

    first = answers_made[0]
    assert ids(first) == ["a1"]
    assert first.get_json()["indexing"] is True
    assert first.get_json()["pendingSessions"] == 1
    assert first.get_json()["warning"]
    assert int(first.headers["Retry-After"]) >= 1
    jobs = operator.get("/v1/ops/jobs", task="reconcile").get_json()["jobs"]
    assert [(job["agentId"], job["sessionKey"], job["state"]) for job in jobs] == [("ada", "agent:ada:main", "queued")]


def test_an_agents_token_searches_as_its_own_caller(app: Flask, harbour: Visitor):
    ada = visitor(app, "agent", agent_id="ada", session_key="agent:ada:main")
    grete = visitor(app, "agent", agent_id="grete", session_key="agent:grete:main")

    assert ids(ada.post("/v1/sessions/search", {"query": "ferry", "scope": "all"})) == ["a1"]
    assert ids(grete.get("/v1/sessions/search", query="ferry")) == ["g1"]


def test_a_sandboxed_token_sees_what_it_spawned_and_no_more(app: Flask, platform: Visitor):
    say(platform, message("p1", "osprey"), key="agent:ada:main")
    for kid in ("kid1", "kid2"):
        platform.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": f"agent:ada:{kid}", "spawnedBy": "agent:ada:main"})
        say(platform, message(kid, "osprey"), key=f"agent:ada:{kid}")
    kid = visitor(app, "agent", agent_id="ada", session_key="agent:ada:kid1", sandboxed=True)

    for scope in ("self", "tree", "agent", "all"):
        assert ids(kid.post("/v1/sessions/search", {"query": "osprey", "scope": scope})) == ["kid1"]


def bare(answer: TestResponse, *names: str) -> tuple[Any, ...]:
    text = answer.text
    for name in names:
        text = text.replace(name, "<name>")
    headers = sorted(name for name in answer.headers.keys() if name not in ("Date", "Content-Length"))  # noqa: SIM118
    return answer.status_code, re.sub(r'"interpreted":"[^"]*",?', "", text), headers


@pytest.mark.parametrize("kind", ["platform", "agent"])
def test_hidden_and_missing_sessions_get_the_same_answer_byte_for_byte(app: Flask, harbour: Visitor, kind: str):
    who = harbour if kind == "platform" else visitor(app, "agent", agent_id="ada", session_key="agent:ada:main")
    caller = {"caller": ADA} if kind == "platform" else {}
    hidden, missing = "agent:grete:main", "agent:nobody:none"

    for ask in (
        lambda key: who.post("/v1/sessions/history", {"sessionKey": key, **caller}),
        lambda key: who.post("/v1/sessions/history", {"sessionKey": key, "messageId": "g1", **caller}),
        lambda key: who.post("/v1/sessions/history", {"sessionKey": "agent:ada:main", "sessionId": key, **caller}),
        lambda key: who.post("/v1/sessions/search", {"query": "ferry", "sessionKey": key, "scope": "all", **caller}),
    ):
        assert bare(ask(hidden), hidden) == bare(ask(missing), missing)


def test_a_hidden_word_and_a_word_that_is_nowhere_get_the_same_answer(harbour: Visitor):
    for limit in (1, 10):
        hidden, nowhere = (
            harbour.post("/v1/sessions/search", {"query": word, "caller": ADA, "scope": "all", "limit": limit})
            for word in ("ledger", "zzznope")
        )
        assert bare(hidden, "ledger") == bare(nowhere, "zzznope")


def test_history_answers_the_fields_of_the_contract_oldest_first(harbour: Visitor):
    answer = harbour.get("/v1/sessions/history", sessionKey="agent:ada:main", **CALLER)

    page = msgspec.convert(answer.get_json(), forms.Page)
    assert [message.id for message in page.messages] == ["a1", "a2"]
    assert (page.before, page.after, page.truncated) == (None, None, False)


def test_history_pages_lead_to_the_first_message(platform: Visitor):
    say(platform, *(message(f"m{i}", f"turn {i}") for i in range(7)))

    seen, cursor = [], {}
    while True:
        page = platform.get("/v1/sessions/history", sessionKey="agent:ada:main", limit=3, **CALLER, **cursor).get_json()
        seen = [row["id"] for row in page["messages"]] + seen
        if page["before"] is None:
            break
        cursor = {"before": page["before"]}

    assert seen == [f"m{i}" for i in range(7)]


def test_history_shows_tools_only_when_asked(platform: Visitor):
    call = {"type": "toolCall", "id": "t1", "name": "run", "arguments": {"command": "ls"}}
    say(platform, {"type": "message", "id": "a", "message": {"role": "assistant", "content": [{"type": "text", "text": "look"}, call]}})

    plain = platform.get("/v1/sessions/history", sessionKey="agent:ada:main", **CALLER).get_json()
    whole = platform.get("/v1/sessions/history", sessionKey="agent:ada:main", includeTools="true", **CALLER).get_json()

    assert [row["text"] for row in plain["messages"]] == ["look"]
    assert [row["type"] for row in whole["messages"]] == ["text", "toolCall"]
    assert msgspec.convert(whole, forms.Page).messages[1].name == "run"


def test_the_list_is_paged_and_names_its_scope(platform: Visitor):
    for n in range(5):
        platform.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": f"agent:ada:s{n}", "spawnedBy": "agent:ada:main"})

    first = platform.post("/v1/sessions/list", {"caller": ADA, "limit": 2}).get_json()
    rest = platform.get("/v1/sessions/list", limit=200, cursor=first["nextCursor"], **CALLER).get_json()

    keys = [row["sessionKey"] for row in first["sessions"] + rest["sessions"]]
    assert sorted(keys) == [f"agent:ada:s{n}" for n in range(5)]
    assert msgspec.convert(rest, forms.Sessions).scope == "tree"


def test_a_cursor_is_useless_in_other_hands(app: Flask, platform: Visitor):
    for n in range(3):
        platform.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": f"agent:ada:s{n}", "spawnedBy": "agent:ada:main"})
    cursor = platform.post("/v1/sessions/list", {"caller": ADA, "limit": 1}).get_json()["nextCursor"]
    grete = visitor(app, "agent", agent_id="grete", session_key="agent:grete:main")

    answer = grete.post("/v1/sessions/list", {"cursor": cursor})

    assert answer.status_code == 422
    assert answer.get_json()["type"] == "urn:session-search:problem:bad-cursor"


def test_a_search_answers_while_the_queue_cannot_be_written(app: Flask, harbour: Visitor):
    harbour.post("/v1/sessions/rewind", {**ADA, "toEventId": "a1"})
    folder = services_of(app).settings.data
    services_of(app).queue.close()
    for file in folder.glob("queue.sqlite*"):
        file.unlink()
    (folder / "queue.sqlite").mkdir()

    answer = harbour.post("/v1/sessions/search", {"query": "ferry", "caller": ADA})

    assert ids(answer) == ["a1"]
    assert answer.get_json()["indexing"] is True
