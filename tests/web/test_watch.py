"""Health, readiness and figures."""

from concurrent.futures import ThreadPoolExecutor

from flask import Flask

from tests.web.conftest import ADA, Visitor, message, say, services_of
from web.operations import OPERATIONS


def test_healthz_opens_no_database(app: Flask, nobody: Visitor):
    answer = nobody.get("/healthz")

    assert answer.get_json() == {"status": "ok"}
    assert not services_of(app).settings.data.exists()


def test_ready_when_nothing_is_owed(platform: Visitor):
    assert platform.get("/readyz").get_json() == {"ready": True, "reasons": []}


def test_a_damaged_database_turns_readiness_red_and_is_named(app: Flask, platform: Visitor):
    say(platform, message("a", "alpha"))
    store = services_of(app).store
    file = store.agent_path("ada")
    services_of(app).close()
    for log in file.parent.glob(file.name + "-*"):
        log.unlink()
    file.write_bytes(b"this was a database " * 500)

    answer = platform.get("/readyz")

    assert answer.status_code == 503
    assert answer.get_json()["ready"] is False
    assert any(str(file) in reason for reason in answer.get_json()["reasons"])
    assert answer.mimetype == "application/json"


def test_a_queue_file_that_cannot_be_opened_turns_readiness_red(app: Flask, platform: Visitor):
    (services_of(app).settings.data / "queue.sqlite").mkdir()

    assert platform.get("/readyz").status_code == 503


def test_a_damaged_registry_answers_503_and_lets_nobody_in(app: Flask, platform: Visitor, nobody: Visitor):
    platform.get("/readyz")
    file = services_of(app).store.registry_path
    services_of(app).close()
    for log in file.parent.glob(file.name + "-*"):
        log.unlink()
    file.write_bytes(b"this was a database " * 500)

    answer = platform.get("/v1/sessions/list", callerAgent="ada", callerSession="k")

    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert nobody.get("/healthz").status_code == 200


def test_metrics_count_jobs_and_sessions(platform: Visitor, operator: Visitor):
    say(platform, message("a", "alpha"), message("b", "beta"))
    platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})

    answer = operator.get("/metrics")

    lines = answer.text.splitlines()
    assert answer.mimetype == "text/plain"
    assert 'session_search_jobs{queue="interactive",state="queued"} 1.0' in lines
    assert 'session_search_sessions{state="pending"} 1.0' in lines
    assert "session_search_queue_paused 0.0" in lines
    assert all(line.startswith(("#", "session_search_")) for line in lines)
    assert '"ada' not in answer.text and "agent:" not in answer.text


def test_the_store_is_opened_once_and_again_after_a_fork(app: Flask, monkeypatch):
    here = services_of(app)
    first = here.store

    assert here.store is first
    monkeypatch.setattr("web.services.os.getpid", lambda: -1)
    assert here.store is not first
    first.close()


def test_threads_that_come_first_together_share_one_store(app: Flask, operator: Visitor):
    services_of(app).close()

    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: services_of(app).store, range(32)))
        statuses = list(pool.map(lambda _: operator.get("/v1/ops/queue").status_code, range(32)))

    assert len({id(store) for store in stores}) == 1
    assert statuses == [200] * 32


def test_every_operation_has_a_name_of_its_own():
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
