"""The write verbs over HTTP: what is answered is stored, what is refused is not."""

from typing import Any

import msgspec
import pytest
from flask import Flask

from shared import forms
from tests.web.conftest import ADA, Visitor, message, say, services_of, visitor
from web import answers


def texts(who: Visitor, key: str = "agent:ada:main") -> list[str]:
    page = who.post("/v1/sessions/history", {"sessionKey": key, "caller": {"agentId": "ada", "sessionKey": key}}).get_json()
    return [row["text"] for row in page["messages"]]


def test_put_answers_the_session_as_list_shows_it(platform: Visitor):
    made = platform.post("/v1/sessions/put", {**ADA, "title": "Harbour", "kind": "group", "sessionId": "s-1"})

    listed = platform.post("/v1/sessions/list", {"caller": ADA}).get_json()["sessions"]
    assert made.status_code == 200
    assert made.get_json() == listed[0]
    assert msgspec.convert(made.get_json(), forms.Session).title == "Harbour"


def test_put_changes_only_what_is_named_and_null_is_a_value(platform: Visitor):
    platform.post("/v1/sessions/put", {**ADA, "title": "Harbour", "spawnedBy": "agent:ada:parent"})

    kept = platform.post("/v1/sessions/put", ADA).get_json()
    cleared = platform.post("/v1/sessions/put", {**ADA, "title": None, "spawnedBy": None}).get_json()

    assert (kept["title"], kept["spawnedBy"]) == ("Harbour", "agent:ada:parent")
    assert (cleared["title"], cleared["spawnedBy"]) == (None, None)


@pytest.mark.parametrize(
    "key", ["agent:ada:../../etc/passwd", "日本語 🚢", "a\x00b", "'; DROP TABLE sessions; --", "k" * 512, "<b>", "%2e%2e"]
)
def test_any_key_is_only_a_name(platform: Visitor, key: str):
    made = platform.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": key})

    assert made.status_code == 200, made.text
    assert made.get_json()["sessionKey"] == key


def test_append_stores_and_answers_where_the_leaf_is(platform: Visitor):
    answer = platform.post("/v1/sessions/append", {**ADA, "events": [message("a", "alpha"), message("b", "beta")]})

    stored = msgspec.convert(answer.get_json(), answers.Appended)
    assert (stored.appended, stored.leaf_id, stored.seq) == (2, "b", 2)
    assert texts(platform) == ["alpha", "beta"]


def test_unknown_fields_inside_events_are_kept(platform: Visitor):
    event = {**message("a", "alpha"), "x-note": {"deep": [1, 2]}}

    assert platform.post("/v1/sessions/append", {**ADA, "events": [event]}).status_code == 200
    assert platform.post("/v1/sessions/append", {**ADA, "events": [event]}).get_json()["appended"] == 0
    assert platform.post("/v1/sessions/append", {**ADA, "events": [message("a", "alpha")]}).status_code == 409


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "message", "id": "", "message": {"role": "user", "content": "x"}},
        {"type": "message", "id": "i" * 257, "message": {"role": "user", "content": "x"}},
        {"type": "message", "id": 7, "message": {"role": "user", "content": "x"}},
        {"type": 7, "id": "z"},
        {"type": "message", "id": "z", "parentId": 3, "message": {"role": "user", "content": "x"}},
        {"type": "message", "id": "z", "timestamp": "noon", "message": {"role": "user", "content": "x"}},
    ],
)
def test_one_bad_event_refuses_the_whole_append(platform: Visitor, bad: dict[str, Any]):
    say(platform, message("a", "alpha"))

    answer = platform.post("/v1/sessions/append", {**ADA, "events": [message("b", "beta"), bad]})

    assert answer.status_code == 422, answer.text
    assert "events[1]" in answer.get_json()["detail"]
    assert texts(platform) == ["alpha"]


def test_a_lone_surrogate_is_stored_as_the_replacement_character(platform: Visitor):
    body = b'{"agentId":"ada","sessionKey":"agent:ada:main","events":[{"type":"message","id":"a","message":{"role":"user","content":"x\\ud83d y"}}]}'

    answer = platform.ask("POST", "/v1/sessions/append", data=body, content_type="application/json")

    assert answer.status_code == 200
    assert texts(platform) == ["x� y"]


def test_an_idempotency_key_makes_a_retried_append_safe(platform: Visitor):
    event = {"type": "message", "message": {"role": "user", "content": "alpha"}}
    key = {"Idempotency-Key": "k-1"}

    first = platform.post("/v1/sessions/append", {**ADA, "events": [event]}, headers=key)
    again = platform.post("/v1/sessions/append", {**ADA, "events": [event]}, headers=key)
    other = platform.post("/v1/sessions/append", {**ADA, "events": [event, event]}, headers=key)

    assert first.get_json() == again.get_json()
    assert other.status_code == 409
    assert texts(platform) == ["alpha"]


def test_rewind_takes_null_for_an_empty_branch_and_404_for_an_unknown_event(platform: Visitor):
    say(platform, message("a", "alpha"), message("b", "beta"))

    back = platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    unknown = platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "zz"})
    empty = platform.post("/v1/sessions/rewind", {**ADA, "toEventId": None})

    assert msgspec.convert(back.get_json(), answers.Rewound).leaf_id == "a"
    assert unknown.status_code == 404
    assert empty.get_json()["leafId"] is None
    assert texts(platform) == []


def test_reset_begins_a_new_transcript_under_the_key(platform: Visitor):
    say(platform, message("a", "alpha"))

    answer = platform.post("/v1/sessions/reset", {**ADA, "newSessionId": "s-2"})

    assert answer.get_json() == {"sessionId": "s-2"}
    assert texts(platform) == []


def test_delete_answers_once_and_then_404(platform: Visitor):
    say(platform, message("a", "alpha"))

    first, second = (platform.post("/v1/sessions/delete", ADA) for _ in range(2))

    assert first.get_json() == {"deleted": True}
    assert second.status_code == 404


def test_a_delete_enqueues_the_erase_of_its_words(platform: Visitor, operator: Visitor):
    say(platform, message("a", "alpha"))

    platform.post("/v1/sessions/delete", ADA)

    jobs = operator.get("/v1/ops/jobs", task="erase").get_json()["jobs"]
    assert [job["agentId"] for job in jobs] == ["ada"]


def test_a_key_of_another_agent_is_a_conflict(platform: Visitor):
    platform.post("/v1/sessions/put", ADA)

    answer = platform.post("/v1/sessions/put", {"agentId": "grete", "sessionKey": ADA["sessionKey"]})

    assert answer.status_code == 409


def test_a_session_that_spawned_itself_is_a_422(platform: Visitor):
    answer = platform.post("/v1/sessions/put", {**ADA, "spawnedBy": ADA["sessionKey"]})

    assert answer.status_code == 422
    assert answer.get_json()["field"] == "spawnedBy"


@pytest.mark.parametrize("verb", ["put", "append", "rewind", "reset", "delete"])
def test_an_agent_writes_nothing(app: Flask, verb: str):
    ada = visitor(app, "agent", agent_id="ada", session_key="agent:ada:main")

    assert ada.post(f"/v1/sessions/{verb}", {**ADA, "events": [message("a", "x")]}).status_code == 403
    assert services_of(app).store.agent_ids() == []


def test_a_trusted_platform_may_write_while_the_queue_cannot(app: Flask, platform: Visitor):
    queue_file = services_of(app).settings.data / "queue.sqlite"
    say(platform, message("a", "alpha"))
    services_of(app).queue.close()
    for file in queue_file.parent.glob("queue.sqlite*"):
        file.unlink()
    queue_file.mkdir()

    assert platform.post("/v1/sessions/append", {**ADA, "events": [message("b", "beta")]}).status_code == 200
    assert platform.post("/v1/sessions/delete", ADA).get_json() == {"deleted": True}
