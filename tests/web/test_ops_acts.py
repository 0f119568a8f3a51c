"""What operators do from their page: asked first, carried out by the form of that page only, and told afterwards."""

import re
from html import unescape
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from shared.queue import TASKS, Queue
from shared.store import workers
from tests.web.conftest import ADA, Visitor, message, say, services_of, visitor
from tests.web.test_pages import sign_in
from web.acting import TOLD
from web.acts import ACTS

WORKER = "host-1-ab/interactive-1"
KEY = "agent:ada:main"


@pytest.fixture
def queue(app: Flask) -> Queue:
    return services_of(app).queue


@pytest.fixture
def owed(platform: Visitor) -> Visitor:
    """One session of ada's owes work, and has a job."""
    say(platform, message("a", "alpha"), message("b", "beta"))
    platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})
    return platform


@pytest.fixture
def browser(app: Flask, operator: Visitor) -> FlaskClient:
    """A browser that an operator signed in with."""
    browser = app.test_client()
    sign_in(browser, operator)
    return browser


def job_of(operator: Visitor) -> dict[str, Any]:
    job: dict[str, Any] = operator.get("/v1/ops/jobs").get_json()["jobs"][0]
    return job


def fail(queue: Queue, operator: Visitor, error: str = "the event at position 1 cannot be read") -> str:
    """The job ran and failed."""
    with queue.transaction() as conn:
        workers.add_worker(conn, WORKER, "interactive", 1)
    job = str(job_of(operator)["id"])
    queue.take("interactive", WORKER, TASKS, 1)
    assert queue.end(job, WORKER, "failed", error=error, now_ms=2)
    return job


def confirm(browser: FlaskClient, path: str) -> TestResponse:
    """Asks, and presses the button of the question."""
    question = browser.get(path)
    assert question.status_code == 200, question.text
    (action,) = re.findall(r'<form method="post" action="(/ops/do/[^"]*)"', question.text)
    assert unescape(action) == path
    (proof,) = re.findall(r'class="row">\s*<input type="hidden" name="form_token" value="(\w{64})"', question.text)
    return browser.post(path, data={"form_token": proof}, headers={"Origin": "http://localhost"})


def told(browser: FlaskClient, answer: TestResponse) -> str:
    """The word about what was done, on the page that the act leads to."""
    assert answer.status_code == 303, answer.text
    return unescape(re.findall(r'id="told"[^>]*>([^<]*)<', browser.get(answer.headers["Location"]).text)[0])


@pytest.mark.usefixtures("owed")
def test_a_job_is_cancelled_and_retried_each_after_a_question(browser: FlaskClient, operator: Visitor):
    job = job_of(operator)["id"]

    assert told(browser, confirm(browser, f"/ops/do/cancel?job={job}")) == "Cancelled, or asked to stop: 1."
    assert job_of(operator)["state"] == "cancelled"
    assert told(browser, confirm(browser, f"/ops/do/retry?job={job}")) == "Queued again: 1."
    assert job_of(operator)["state"] == "queued"


def test_to_ask_changes_nothing(browser: FlaskClient, operator: Visitor, owed: Visitor):
    job = job_of(operator)

    for act in ACTS:
        for query in (f"?job={job['id']}", "?agentId=ada", ""):
            assert browser.get(f"/ops/do/{act}{query}").status_code in (200, 400, 422)

    assert job_of(operator) == job
    assert operator.get("/v1/ops/queue").get_json()["paused"] is False


def test_all_that_the_filter_selects_is_acted_on_and_nothing_else(browser: FlaskClient, operator: Visitor, platform: Visitor):
    for agent in ("ada", "grete"):
        for n in range(3):
            say(platform, message("a", "alpha"), agent=agent, key=f"agent:{agent}:{n}")
    operator.post("/v1/ops/reindex", {"all": True, "force": True})

    question = browser.get("/ops/do/cancel?agentId=ada").text
    done = confirm(browser, "/ops/do/cancel?agentId=ada")

    assert "Cancel 3 jobs?" in question
    assert told(browser, done) == "Cancelled, or asked to stop: 3."
    assert done.headers["Location"].startswith("/ops?agentId=ada&")
    states = {(job["agentId"], job["state"]) for job in operator.get("/v1/ops/jobs").get_json()["jobs"]}
    assert states == {("ada", "cancelled"), ("grete", "queued")}
    assert told(browser, confirm(browser, "/ops/do/retry?agentId=ada&state=cancelled")) == "Queued again: 3."


@pytest.mark.usefixtures("owed")
@pytest.mark.parametrize("act", ["retry", "cancel", "park"])
def test_an_empty_filter_is_refused(browser: FlaskClient, operator: Visitor, act: str):
    assert browser.get(f"/ops/do/{act}").status_code == 422


@pytest.mark.usefixtures("owed")
def test_the_question_tells_what_is_left_as_it_is(browser: FlaskClient, operator: Visitor, platform: Visitor, queue: Queue):
    fail(queue, operator)
    platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})

    page = re.sub(r"<[^>]*>|\s+", " ", browser.get("/ops/do/retry?agentId=ada").text)

    assert "Retry 1 job?" in page
    assert re.search(r"Jobs queued\s+1, left as they are", page)
    assert re.search(r"Jobs failed\s+1 ", page)


# ---- parking


def test_a_session_is_parked_and_tried_again(browser: FlaskClient, operator: Visitor, owed: Visitor):
    job = job_of(operator)["id"]

    assert told(browser, confirm(browser, f"/ops/do/park?job={job}")) == "Sessions parked: 1."
    row = operator.get("/v1/ops/agents").get_json()["agents"][0]
    search = owed.post("/v1/sessions/search", {"query": "alpha", "caller": ADA}).get_json()
    page = browser.get("/ops").text

    assert (row["pending"], row["failed"]) == (0, 1)
    assert [job["state"] for job in operator.get("/v1/ops/jobs").get_json()["jobs"]] == ["cancelled"]
    assert search["indexing"] is True
    assert "needs an operator" in search["warning"]
    assert "parked by an operator" in page
    (again,) = re.findall(r'id="unpark-ada-1" href="([^"]*)"', page)
    assert told(browser, confirm(browser, unescape(again))) == "No longer parked, and tried again now: 1."
    assert operator.get("/v1/ops/agents").get_json()["agents"][0]["pending"] == 1
    assert operator.get("/v1/ops/jobs", state="queued").get_json()["jobs"][0]["sessionKey"] == KEY


@pytest.mark.parametrize(("query", "drained"), [("?agentId=ada", ["ada"]), ("", ["ada", "grete"])])
def test_all_parked_sessions_of_an_agent_or_of_everybody_are_tried_again(
    browser: FlaskClient, operator: Visitor, platform: Visitor, query: str, drained: list[str]
):
    for agent in ("ada", "grete"):
        key = f"agent:{agent}:main"
        say(platform, message("a", "alpha"), message("b", "beta"), agent=agent, key=key)
        platform.post("/v1/sessions/rewind", {"agentId": agent, "sessionKey": key, "toEventId": "a"})
        operator.post("/v1/ops/reindex", {"agentId": agent})
    assert told(browser, confirm(browser, "/ops/do/park?state=queued")) == "Sessions parked: 2."

    confirm(browser, f"/ops/do/unpark{query}")

    failed = {row["agentId"]: row["failed"] for row in operator.get("/v1/ops/agents").get_json()["agents"]}
    assert sorted(agent for agent, count in failed.items() if not count) == drained
    assert sorted(job["agentId"] for job in operator.get("/v1/ops/jobs", task="drain").get_json()["jobs"]) == drained


def test_what_owes_nothing_is_not_parked(browser: FlaskClient, operator: Visitor, platform: Visitor):
    say(platform, message("a", "alpha"))
    operator.post("/v1/ops/reindex", {"agentId": "ada", "force": True})
    job = job_of(operator)["id"]
    platform.post("/v1/sessions/delete", ADA)

    answer = confirm(browser, f"/ops/do/park?job={job}")

    assert answer.status_code == 409
    assert "It was not done: this session owes nothing" in answer.text


def test_a_retry_takes_the_session_out_of_its_parking(browser: FlaskClient, operator: Visitor, owed: Visitor):
    job = job_of(operator)["id"]
    confirm(browser, f"/ops/do/park?job={job}")

    confirm(browser, f"/ops/do/retry?job={job}")

    row = operator.get("/v1/ops/agents").get_json()["agents"][0]
    assert (row["pending"], row["failed"]) == (1, 0)


# ---- the queue and bulk runs


def test_the_queue_is_paused_and_resumed(browser: FlaskClient, operator: Visitor):
    assert told(browser, confirm(browser, "/ops/do/pause")).startswith("The queue is paused.")
    assert operator.get("/v1/ops/queue").get_json()["paused"] is True
    assert 'id="act-resume"' in browser.get("/ops").text
    assert told(browser, confirm(browser, "/ops/do/resume")) == "The queue goes on."
    assert operator.get("/v1/ops/queue").get_json()["paused"] is False


@pytest.mark.parametrize(
    ("query", "sessions", "asked"),
    [
        ("", 0, "every one of 2"),
        ("?force=true", 3, "all of them, indexed or not"),
        ("?agentId=ada&force=true", 2, "Agent"),
        (f"?sessionKey={KEY.replace(':', '%3A')}&force=true", 1, KEY),
        ("?agentId=ada&force=true&since=2100-01-01T00%3A00", 0, "Used since"),
        ("?agentId=&sessionKey=&since=&force=true", 3, "every one of 2"),
    ],
)
def test_a_reindex_is_ordered(browser: FlaskClient, operator: Visitor, platform: Visitor, query: str, sessions: int, asked: str):
    say(platform, message("a", "alpha"))
    say(platform, message("a", "alpha"), key="agent:ada:other")
    say(platform, message("a", "alpha"), agent="grete", key="agent:grete:main")
    question = browser.get(f"/ops/do/reindex{query}")

    (action,) = re.findall(r'action="(/ops/do/reindex[^"]*)"', question.text)
    answer = confirm(browser, unescape(action))

    assert asked in question.text
    assert str(sessions) in told(browser, answer) if sessions else "nothing is owed there" in told(browser, answer)
    assert len(operator.get("/v1/ops/jobs").get_json()["jobs"]) == sessions


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ops/do/erase", 404),
        ("/ops/do/retry?job=none", 404),
        ("/ops/do/reindex?agentId=nobody", 404),
        ("/ops/do/unpark?agentId=nobody", 404),
        ("/ops/do/reindex?since=soon", 422),
        ("/ops/do/pause?x=1", 400),
        ("/ops/do/retry?state=lost", 400),
        ("/ops/do/retry?job=a&job=b", 422),
    ],
)
def test_what_cannot_be_done_is_not_asked(browser: FlaskClient, path: str, status: int):
    assert browser.get(path).status_code == status


# ---- who may


@pytest.mark.parametrize("act", sorted(ACTS))
def test_an_act_is_taken_only_from_the_form_of_its_own_sign_in(
    app: Flask, browser: FlaskClient, operator: Visitor, owed: Visitor, act: str
):
    job = job_of(operator)
    path = f"/ops/do/{act}" + (f"?job={job['id']}" if act in ("retry", "cancel", "park") else "")
    other = app.test_client()
    sign_in(other, operator)
    (theirs,) = set(re.findall(r'name="form_token" value="(\w{64})"', other.get("/ops").text))
    (ours,) = set(re.findall(r'name="form_token" value="(\w{64})"', browser.get("/ops").text))

    refused = [
        browser.post(path),
        browser.post(path, data={"form_token": ""}),
        browser.post(path, data={"form_token": "é"}),
        browser.post(path, data={"form_token": theirs}),
        browser.post(f"{path}{'&' if '?' in path else '?'}form_token={ours}"),
        browser.post(path, data={"form_token": ours}, headers={"Origin": "http://evil.example"}),
        browser.post(path, data={"form_token": ours}, headers={"Origin": "null"}),
        browser.post(path, data={"form_token": ours}, headers={"Sec-Fetch-Site": "cross-site"}),
    ]

    assert {answer.status_code for answer in refused} <= {400, 403}
    assert job_of(operator) == job
    assert operator.get("/v1/ops/queue").get_json()["paused"] is False


@pytest.mark.parametrize("act", sorted(ACTS))
def test_a_read_only_token_can_neither_ask_nor_act(app: Flask, operator: Visitor, owed: Visitor, act: str):
    onlooker = visitor(app, "operator", read_only=True)
    browser = app.test_client()
    sign_in(browser, onlooker)
    (proof,) = set(re.findall(r'name="form_token" value="(\w{64})"', browser.get("/ops").text))
    job = job_of(operator)
    path = f"/ops/do/{act}?job={job['id']}"

    answers = [onlooker.ask("GET", path), onlooker.ask("POST", path), browser.get(path), browser.post(path, data={"form_token": proof})]

    assert [answer.status_code for answer in answers] == [403] * 4
    assert job_of(operator) == job
    assert operator.get("/v1/ops/queue").get_json()["paused"] is False


def test_nobody_and_other_kinds_cannot_act(app: Flask, ada: Visitor, platform: Visitor, nobody: Visitor, operator: Visitor):
    assert [who.ask("POST", "/ops/do/pause").status_code for who in (ada, platform, nobody)] == [403, 403, 401]
    assert operator.get("/v1/ops/queue").get_json()["paused"] is False


def test_a_bearer_acts_without_a_form(operator: Visitor):
    assert operator.ask("POST", "/ops/do/pause").status_code == 303
    assert operator.get("/v1/ops/queue").get_json()["paused"] is True


@pytest.mark.parametrize(("did", "count"), [("<b>x</b>", "1"), ("retry", "<b>x</b>"), ("retry", "9" * 400), ("retry", "²"), ("", "")])
def test_an_address_cannot_put_words_on_the_page(operator: Visitor, did: str, count: str):
    page = operator.get("/ops", did=did, count=count)

    assert page.status_code == 200
    assert "<b>x" not in page.text
    assert "9999" not in page.text


def test_every_act_has_its_word():
    assert set(TOLD) == set(ACTS)
