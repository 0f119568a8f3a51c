"""The exposition: every name and label, what moves it, and that it is one sum over all web processes, the ended ones included."""

import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from shared.config import Settings
from shared.queue import TASKS
from shared.store import open_store
from shared.tokens import issue_token
from tests.web.conftest import ADA, Visitor, message, say, services_of
from tests.web.test_serving import HEADS, Served
from web import OPERATION_NAMES
from web.figures import APPENDED, APPENDS, SEARCHES
from web.together import Together

LABELS: dict[str, set[str]] = {
    "session_search_agents": {"state"},
    "session_search_append_seconds": {"outcome"},
    "session_search_appended_events": set(),
    "session_search_database_bytes": {"database"},
    "session_search_disk_free_bytes": set(),
    "session_search_incomplete_answers": set(),
    "session_search_job_outcomes": {"task", "state"},
    "session_search_job_run_seconds": set(),
    "session_search_job_wait_seconds": set(),
    "session_search_jobs": {"queue", "state"},
    "session_search_limited": {"limit"},
    "session_search_queue_oldest_wait_seconds": set(),
    "session_search_queue_paused": set(),
    "session_search_queue_readable": set(),
    "session_search_redactions": {"operation"},
    "session_search_requests": {"operation", "status"},
    "session_search_search_seconds": {"outcome"},
    "session_search_sessions": {"state"},
    "session_search_wal_bytes": {"database"},
    "session_search_worker_progress_age_seconds": set(),
    "session_search_workers": {"state"},
}
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def families(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(who: Visitor, name: str, **labels: str) -> float:
    """One sample by its full name."""
    found = [
        sample.value
        for family in families(who.get("/metrics").text).values()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert len(found) == 1, (name, labels, found)
    return found[0]


def test_the_exposition_has_exactly_these_names_each_with_help_unit_and_labels(operator: Visitor):
    found = families(operator.get("/metrics").text)

    assert set(found) == set(LABELS)
    for name, family in found.items():
        assert family.documentation.endswith(".")
        assert family.type in ("gauge", "counter", "histogram")
        assert (family.type == "histogram") <= name.endswith("_seconds")
        if family.samples:
            assert {label for sample in family.samples for label in sample.labels} - {"le"} == LABELS[name], name


def test_label_values_are_known_from_the_start_whatever_callers_send(platform: Visitor, operator: Visitor):
    before = {(s.name, *sorted(s.labels.items())) for f in families(operator.get("/metrics").text).values() for s in f.samples}
    say(platform, message("a", "alpha"), agent="zebra", key="agent:zebra:main")
    for path in ("/v1/none", "/none", "/static/none", "/", "/v1/ops/jobs/none", "/v1/sessions/search?query=x"):
        for method in ("GET", "POST", "BREW"):
            platform.ask(method, path)

    text = operator.get("/metrics").text

    after = {(s.name, *sorted(s.labels.items())) for f in families(text).values() for s in f.samples}
    assert after == before
    assert "zebra" not in text


def test_a_scrape_of_a_fresh_service_names_every_series_with_0(operator: Visitor):
    found = families(operator.get("/metrics").text)

    outcomes = {(s.labels["task"], s.labels["state"]): s.value for s in found["session_search_job_outcomes"].samples}
    assert outcomes == {(task, state): 0 for task in (*TASKS, "other") for state in ("done", "failed", "cancelled")}
    depth = {(s.labels["queue"], s.labels["state"]) for s in found["session_search_jobs"].samples}
    assert depth == {(queue, state) for queue in ("interactive", "bulk") for state in ("queued", "running", "retrying")}
    assert found["session_search_worker_progress_age_seconds"].samples == []


def test_searches_are_timed_by_outcome(platform: Visitor, operator: Visitor):
    say(platform, message("a", "alpha beta"))
    for query in ("alpha", "alpha", "gamma", "..."):
        platform.post("/v1/sessions/search", {"query": query, "caller": ADA})
    platform.get("/", query="beta", callerAgent="ada", callerSession="agent:ada:main")  # the page asks as programs do

    counts = {outcome: value(operator, "session_search_search_seconds_count", outcome=outcome) for (outcome,) in SEARCHES.values}

    assert counts == {"found": 3, "nothing": 1, "refused": 1, "failed": 0}
    assert 0 < value(operator, "session_search_search_seconds_sum", outcome="found") < 60
    assert value(operator, "session_search_search_seconds_bucket", outcome="found", le="+Inf") == 3


def test_appends_are_timed_by_outcome_and_new_events_counted(platform: Visitor, operator: Visitor):
    say(platform, message("a", "alpha"), message("b", "beta"))
    say(platform, message("a", "alpha"))
    platform.post("/v1/sessions/append", {**ADA, "events": [message("a", "other words")]})

    assert value(operator, "session_search_append_seconds_count", outcome="stored") == 2
    assert value(operator, "session_search_append_seconds_count", outcome="refused") == 1
    assert value(operator, "session_search_appended_events_total") == 2


def test_masks_in_answers_are_counted_by_operation(platform: Visitor, operator: Visitor):
    say(platform, message("a", f"the marmalade token is {SECRET} and again {SECRET}"))
    platform.post("/v1/sessions/put", {**ADA, "title": f"about {SECRET}"})
    found = platform.post("/v1/sessions/search", {"query": "marmalade", "caller": ADA}).get_json()["results"][0]["redacted"]
    shown = platform.post("/v1/sessions/history", {"sessionKey": ADA["sessionKey"], "caller": ADA}).get_json()["messages"][0]["redacted"]
    platform.post("/v1/sessions/list", {"caller": ADA})

    counts = {name: value(operator, "session_search_redactions_total", operation=name) for name in ("search", "history", "list")}

    assert counts == {"search": found, "history": shown, "list": 1}
    assert min(found, shown) >= 2


def test_incomplete_answers_pending_and_parked_sessions_are_told(app: Flask, platform: Visitor, operator: Visitor):
    say(platform, message("a", "alpha"), message("b", "beta"))
    say(platform, message("a", "alpha"), key="agent:ada:other")
    platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    with services_of(app).store.writer("ada") as conn:
        conn.execute("UPDATE index_state SET pending_reason = 'edited', parked = 1 WHERE pending_reason IS NULL")

    platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})

    assert value(operator, "session_search_incomplete_answers_total") == 1
    found = families(operator.get("/metrics").text)["session_search_sessions"].samples
    assert {sample.labels["state"]: sample.value for sample in found} == {"indexed": 0, "pending": 1, "parked": 1}
    assert value(operator, "session_search_jobs", queue="interactive", state="queued") == 1


def test_requests_are_counted_by_operation_and_class(platform: Visitor, nobody: Visitor, operator: Visitor):
    platform.get("/readyz")
    nobody.get("/readyz")
    nobody.get("/login")
    platform.get("/nowhere")

    assert value(operator, "session_search_requests_total", operation="readyz", status="2xx") == 1
    assert value(operator, "session_search_requests_total", operation="readyz", status="4xx") == 1
    assert value(operator, "session_search_requests_total", operation="page", status="2xx") == 1
    assert value(operator, "session_search_requests_total", operation="unknown", status="4xx") == 1


def test_sizes_are_those_of_the_files(app: Flask, platform: Visitor, operator: Visitor):
    say(platform, message("a", "alpha"))
    path = services_of(app).store.agent_path("ada")

    assert value(operator, "session_search_database_bytes", database="agents") == path.stat().st_size
    assert value(operator, "session_search_wal_bytes", database="agents") == path.with_name(path.name + "-wal").stat().st_size > 0
    assert value(operator, "session_search_database_bytes", database="registry") > 0
    assert value(operator, "session_search_database_bytes", database="queue") > 0
    assert value(operator, "session_search_disk_free_bytes") > 0


def test_a_queue_that_cannot_be_read_hides_no_other_figure(app: Flask, operator: Visitor):
    (services_of(app).settings.data / "queue.sqlite").mkdir(parents=True)

    assert value(operator, "session_search_queue_readable") == 0
    assert value(operator, "session_search_agents", state="counted") == 0


def test_a_message_that_names_another_task_makes_no_new_series(app: Flask, operator: Visitor):
    with services_of(app).queue.transaction() as conn:
        conn.execute("INSERT INTO outcomes (task, state, jobs) VALUES ('made up', 'failed', 3), ('reconcile', 'failed', 2)")

    assert value(operator, "session_search_job_outcomes_total", task="other", state="failed") == 3
    assert value(operator, "session_search_job_outcomes_total", task="reconcile", state="failed") == 2


# -- several threads and processes


def sum_of(together: Together, name: str, **labels: str) -> float:
    samples = (sample for family in together.figures.collect() for sample in family.samples)
    return sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())


def test_threads_lose_no_count():
    together = Together(Settings(), OPERATION_NAMES)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [together.figures.add(APPENDED) for _ in range(500)], range(8)))

    assert sum_of(together, "session_search_appended_events_total") == 4000


def test_processes_count_side_by_side_and_what_an_ended_one_counted_stays():
    together = Together(Settings(web_processes=2), OPERATION_NAMES)

    def count_in_a_child() -> None:
        seat = together.take_seat()
        child = os.fork()
        if child == 0:
            together.figures.sit(seat)
            for _ in range(1000):
                together.figures.observe(APPENDS, "stored", seconds=0.002)
            os._exit(0)
        running.append((child, seat))

    running: list[tuple[int, int]] = []
    for _ in range(3):
        count_in_a_child()
    for child, seat in running:
        os.waitpid(child, 0)
        together.leave_seat(seat)
    for _ in range(9):  # seats are used again, each with what it holds
        count_in_a_child()
        child, seat = running[-1]
        os.waitpid(child, 0)
        together.leave_seat(seat)

    assert sum_of(together, "session_search_append_seconds_count", outcome="stored") == 12_000
    assert sum_of(together, "session_search_append_seconds_bucket", outcome="stored", le="0.001") == 0
    assert sum_of(together, "session_search_append_seconds_bucket", outcome="stored", le="0.0025") == 12_000


class TwoProcesses(Served):
    environ = {"SESSION_SEARCH_WEB_PROCESSES": "2", "SESSION_SEARCH_RATE_LIMIT": "10"}

    def get(self, path: str, token: str | None = None) -> str:
        return self.send(f"GET {path} HTTP/1.1\r\n{HEADS}Authorization: Bearer {token or self.token}\r\nConnection: close\r\n\r\n")

    def children(self) -> set[int]:
        own = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return {int(pid) for pid in Path(own).read_text().split()}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoProcesses]:
    served = TwoProcesses(tmp_path)
    served.await_start()
    yield served
    assert served.end() == 0


def test_a_served_scrape_tells_all_processes_and_a_limit_holds_across_them(two: TwoProcesses):
    """A killed process takes along neither its counts nor what its callers have used up."""
    store = open_store(Settings(data=two.data))
    watcher, began = issue_token(store, "operator", 0).text, time.monotonic()
    store.close()

    statuses = [two.get("/openapi.json").split()[1] for _ in range(15)]
    first = requests_told(two.get("/metrics", watcher))
    killed = two.children()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 20
    while (two.children() & killed or len(two.children()) < 2) and time.monotonic() < end:
        time.sleep(0.05)
    two.await_start()
    told = {requests_told(two.get("/metrics", watcher)) for _ in range(8)}
    statuses += [two.get("/openapi.json").split()[1] for _ in range(10)]

    assert first >= 10 and told == {first}
    assert set(statuses) == {"200", "429"}
    assert 10 <= statuses.count("200") <= 11 + (time.monotonic() - began) / 6
    assert requests_told(two.get("/metrics", watcher)) == statuses.count("200")


def requests_told(answer: str) -> int:
    found = re.search(r'session_search_requests_total\{operation="openapi",status="2xx"\} (\d+)', answer)
    assert found, answer
    return int(found[1])
