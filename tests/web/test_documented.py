"""Every status that the OpenAPI document names for an operation, brought about, and every answer held against its described shape."""

import json

import msgspec
import pytest
from flask import Flask
from werkzeug.test import TestResponse

from shared.config import Settings
from shared.queue import TASKS
from shared.store import workers
from tests.web.conftest import ADA, Visitor, message, say, services_of, visitor
from web import answers, create_app
from web.documents import document
from web.errors import KINDS
from web.operations import OPERATIONS, Operation

EVERY = [(operation, method) for operation in OPERATIONS for method in operation.methods]
NAMES = [f"{method} {operation.path}" for operation, method in EVERY]
SEALED = {"agent_id": "ada", "session_key": "agent:ada:main"}
EVENT = message("e1", "the ferry leaves at noon")
GOOD: dict[str, dict[str, object]] = {
    "put": {**ADA, "title": "Ferry plans"},
    "append": {**ADA, "events": [message("e2", "and returns at dusk")]},
    "rewind": {**ADA, "toEventId": "e1"},
    "reset": ADA,
    "delete": ADA,
    "search": {"query": "ferry", "caller": ADA},
    "history": {"sessionKey": ADA["sessionKey"], "caller": ADA},
    "list": {"caller": ADA},
    "opsReindex": {"agentId": "ada", "force": True},
    "opsJobsRetry": {"state": "failed"},
    "opsJobsCancel": {"state": "queued"},
}
AS_QUERY = {
    "search": "query=ferry&callerAgent=ada&callerSession=agent:ada:main",
    "history": "sessionKey=agent:ada:main&callerAgent=ada&callerSession=agent:ada:main",
    "list": "callerAgent=ada&callerSession=agent:ada:main",
}
BEYOND = {  # fits the schema and cannot be done
    "put": {**ADA, "spawnedBy": ADA["sessionKey"]},
    "append": {**ADA, "events": [{}]},
    "rewind": {"agentId": "ada", "sessionKey": "é" * 257, "toEventId": None},
    "reset": {"agentId": "ada", "sessionKey": "é" * 257},
    "delete": {"agentId": "ada", "sessionKey": "é" * 257},
    "search": {"query": "...", "caller": ADA},
    "history": {"sessionKey": "k"},
    "list": {},
    "opsReindex": {},
    "opsJobsRetry": {},
    "opsJobsCancel": {},
}
BEYOND_AS_QUERY = {"search": "query=...&callerAgent=a&callerSession=k", "history": "sessionKey=k", "list": "", "opsJobs": "since=soon"}
MISSING = {
    "rewind": {"agentId": "ada", "sessionKey": "none", "toEventId": None},
    "reset": {"agentId": "ada", "sessionKey": "none"},
    "delete": {"agentId": "ada", "sessionKey": "none"},
    "history": {"sessionKey": "none", "caller": ADA},
    "opsReindex": {"agentId": "none"},
}
CONFLICT = {
    "put": {"agentId": "grete", "sessionKey": ADA["sessionKey"]},
    "append": {**ADA, "events": [message("e1", "other words")]},
    "reset": {**ADA, "newSessionId": "s1"},
}
ELSEWHERE = {500, 507}  # nothing of a request brings these about: test_errors.py holds the form of both


def who(app: Flask, operation: Operation) -> Visitor:
    """Somebody whose token may use the operation."""
    kind = next((kind for kind in ("operator", "platform") if kind in operation.kinds), "platform")
    return visitor(app, kind)


def ask(somebody: Visitor, operation: Operation, method: str, query: str | None = None, body: object = None, job: str = "none") -> TestResponse:
    path = operation.path.replace("{id}", job)
    if method == "GET":
        query = AS_QUERY.get(operation.name, "") if query is None else query
        return somebody.ask("GET", path + ("?" + query if query else ""))
    return somebody.post(path, GOOD.get(operation.name) if body is None else body)


def documented(operation: Operation, method: str) -> set[int]:
    found = json.loads(document())["paths"][operation.path][method.lower()]
    return {int(status) for status in found["responses"]}


def check_problem(answer: TestResponse, status: int) -> None:
    """A problem document of the described shape whose type belongs to its status."""
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/problem+json"
    found = msgspec.convert(answer.get_json(), answers.Problem)
    assert found.status == status
    assert found.type.rpartition(":")[2] in {kind.name for kind in KINDS.values() if kind.status == status} | {"bad-query", "bad-cursor"}
    assert ("Retry-After" in answer.headers) == (status in (429, 503))


def fill(app: Flask) -> str:
    """A session with one event, and a failed job; its id."""
    platform, here = visitor(app, "platform"), services_of(app)
    platform.post("/v1/sessions/put", {**ADA, "sessionId": "s1"})
    say(platform, EVENT)
    now_ms = here.now_ms()
    with here.queue.transaction() as conn:
        workers.add_worker(conn, "w/1", "interactive", now_ms)
    here.queue.enqueue_reconcile([("ada", ADA["sessionKey"])], now_ms)
    here.queue.take("interactive", "w/1", TASKS, now_ms)
    (job,) = visitor(app, "operator").get("/v1/ops/jobs").get_json()["jobs"]
    here.queue.end(job["id"], "w/1", "failed", error="a database was busy", now_ms=now_ms)
    return str(job["id"])


@pytest.mark.parametrize(("operation", "method"), EVERY, ids=NAMES)
def test_a_good_request_gets_the_described_answer(app: Flask, operation: Operation, method: str):
    job = fill(app)
    if operation.name == "opsJobCancel":
        assert visitor(app, "operator").post(f"/v1/ops/jobs/{job}/retry").status_code == 200
    if operation.name == "opsBatch":
        job = visitor(app, "operator").post("/v1/ops/reindex", GOOD["opsReindex"]).get_json()["batchId"]

    answer = ask(who(app, operation), operation, method, job=job)

    assert answer.status_code == operation.status, answer.text
    assert answer.mimetype == operation.media.split(";")[0]
    if operation.answer is not None:
        msgspec.convert(answer.get_json(), operation.answer)


@pytest.mark.parametrize(("operation", "method"), EVERY, ids=NAMES)
def test_every_described_failure_can_be_had_and_has_the_described_shape(app: Flask, operation: Operation, method: str):
    job = fill(app)
    right = who(app, operation)
    tried = {operation.status, *ELSEWHERE}

    def check(status: int, answer: TestResponse) -> None:
        check_problem(answer, status)
        tried.add(status)

    check(421, right.ask(method, operation.path.replace("{id}", "none"), headers={"Host": "evil.example"}))
    if operation.kinds:
        check(401, ask(visitor(app), operation, method))
    wrong = next((kind for kind in ("agent", "operator") if kind not in operation.kinds), None)
    if wrong and operation.kinds:
        check(403, ask(visitor(app, wrong, **(SEALED if wrong == "agent" else {})), operation, method))
    if method == "POST":
        path = operation.path.replace("{id}", "none")
        check(400, right.post(path, {"surprise": 1}))
        check(403, right.post(path, GOOD.get(operation.name), headers={"Origin": "http://evil.example"}))
        check(413, right.ask("POST", path, data=b" " * ((4 << 20) + 1), content_type="application/json"))
        check(415, right.ask("POST", path, data="{}", content_type="text/plain"))
    else:
        check(400, ask(right, operation, method, query="surprise=1"))
        if operation.body.__struct_fields__:
            check(414, ask(right, operation, method, query="cursor=" + "c" * 9000))
    if operation.body.__struct_fields__:
        check(422, ask(right, operation, method, query=BEYOND_AS_QUERY.get(operation.name), body=BEYOND.get(operation.name)))
    if 404 in operation.errors:
        query = "sessionKey=none&callerAgent=ada&callerSession=k" if operation.name == "history" else None
        check(404, ask(right, operation, method, query=query, body=MISSING.get(operation.name)))
    if 409 in operation.errors:
        if operation.name == "opsJobRetry":
            right.post(f"/v1/ops/jobs/{job}/retry")
        check(409, ask(right, operation, method, body=CONFLICT.get(operation.name), job=job))
    if operation.kinds:
        limited = create_app(Settings(data=services_of(app).settings.data, synchronous="NORMAL", rate_limit=1))
        busy = who(limited, operation)
        busy.get("/openapi.json")
        check(429, ask(busy, operation, method))
        services_of(limited).close()
        right.client.get("/readyz")
        damage_registry(app)
        check(503, ask(right, operation, method))

    assert documented(operation, method) == tried - (set() if 507 in operation.errors else {507})


def damage_registry(app: Flask) -> None:
    file = services_of(app).store.registry_path
    services_of(app).close()
    for log in file.parent.glob(file.name + "-*"):
        log.unlink()
    file.write_bytes(b"this was a database " * 500)
