"""The operators' page over 100,000 jobs of which 20,000 failed: counted in steps of SQLite's machine, which no busy neighbour changes."""

import sqlite3
from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from shared.queue import Queue
from tests.web.conftest import Visitor, services_of, settings_for, visitor
from web import create_app

FIRST_MS = 1_760_000_000_000
EVERY_MS = 500
JOBS = 100_000
STRETCH = 100  # steps between two looks at the count
MANY_JOBS = """
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :jobs - 1)
    INSERT INTO jobs (id, state, task, queue, agent_id, session_key, attempts, error, queued_at_ms, started_at_ms, ended_at_ms, worker)
    SELECT printf('%012x%04x%04x', :first_ms + i * :every_ms, i & 65535, 0), CASE WHEN i % 5 THEN 'done' ELSE 'failed' END,
           CASE WHEN i % 1000 THEN 'reconcile' ELSE 'erase' END, 'bulk', 'agent' || (i % 20), 'agent:x:' || (i % 7000), 1,
           CASE WHEN i % 5 = 0 THEN 'the event at position ' || i || ' cannot be read' END,
           :first_ms + i * :every_ms, :first_ms + i * :every_ms + 50, :first_ms + i * :every_ms + 90, 'w/1'
    FROM n
"""
FILTERS = [
    "state=failed",
    "state=done",
    "state=running",
    "state=retrying",
    "task=erase",
    "task=drain",
    "agentId=agent3",
    "agentId=nobody",
    "sessionKey=agent%3Ax%3A77",
    "sessionKey=none",
    "batchId=none",
    f"q={FIRST_MS + 70_000 * EVERY_MS:012x}{70_000 & 65535:04x}0000",
    f"since={FIRST_MS + (JOBS - 5) * EVERY_MS}",
    f"until={FIRST_MS + 5 * EVERY_MS}",
    "state=failed&sessionKey=agent%3Ax%3A75",
    "state=failed&agentId=agent5",
    "state=failed&task=reconcile&agentId=agent5&q=position",
    f"task=drain&until={FIRST_MS + 5 * EVERY_MS}",
]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """100,000 jobs, the last of which ended now."""
    app = create_app(settings_for(tmp_path_factory.mktemp("crowded")))
    here = services_of(app)
    with here.queue.transaction() as conn:
        conn.execute(MANY_JOBS, {"jobs": JOBS, "first_ms": FIRST_MS, "every_ms": EVERY_MS})
    now_ms = FIRST_MS + JOBS * EVERY_MS
    here.now_ms = lambda: now_ms  # type: ignore[method-assign]
    yield app
    here.close()


@pytest.fixture(scope="module")
def operator(crowded: Flask) -> Visitor:
    return visitor(crowded, "operator")


def steps(queue: Queue, act: Callable[[], object]) -> int:
    """How many steps the queue's database needs for what is done."""
    looks = [0]

    def look() -> int:
        looks[0] += 1
        return 0

    with queue.reading() as conn:
        conn.set_progress_handler(look, STRETCH)
    try:
        act()
    finally:
        conn.set_progress_handler(None, 0)
    return looks[0] * STRETCH


def asked(queue: Queue, act: Callable[[], object]) -> list[str]:
    """The statements that are run meanwhile, with their values in them."""
    found: list[str] = []
    with queue.reading() as conn:
        conn.set_trace_callback(found.append)
    try:
        act()
    finally:
        conn.set_trace_callback(None)
    return [sql for sql in found if sql.lstrip().startswith("SELECT")]


def plan(conn: sqlite3.Connection, sql: str) -> list[str]:
    return [str(row[3]) for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}")]


def look(who: Visitor, path: str) -> None:
    answer = who.ask("GET", path)
    assert answer.status_code == 200, answer.text


def test_what_every_look_costs_is_the_counts_by_state_and_an_hour_of_runs(crowded: Flask, operator: Visitor):
    queue = services_of(crowded).queue

    assert steps(queue, lambda: look(operator, "/ops/live")) < 1_500_000
    assert steps(queue, lambda: look(operator, "/ops/charts")) < 4_000_000


@pytest.mark.parametrize("query", FILTERS)
def test_a_filter_adds_little_to_that_and_asks_an_index(crowded: Flask, operator: Visitor, query: str):
    queue = services_of(crowded).queue
    plain = steps(queue, lambda: look(operator, "/ops/live"))

    assert steps(queue, lambda: look(operator, f"/ops/live?{query}")) < plain + 60_000
    for sql in asked(queue, lambda: look(operator, f"/ops/live?{query}")):
        with queue.reading() as conn:
            assert not [row for row in plan(conn, sql) if row.startswith("SCAN jobs") and "USING" not in row], sql


def test_text_that_no_error_holds_costs_the_errors_and_not_the_jobs(crowded: Flask, operator: Visitor):
    queue = services_of(crowded).queue
    plain = steps(queue, lambda: look(operator, "/ops/live"))

    assert steps(queue, lambda: look(operator, "/ops/live?q=nowhere")) < plain + 20 * JOBS // 5


@pytest.mark.parametrize(
    "query", ["state=failed", "agentId=agent3", "sessionKey=none", "task=drain", "q=position+995", "state=failed&agentId=agent5"]
)
def test_what_is_asked_before_an_act_on_many_is_counted_by_an_index(crowded: Flask, operator: Visitor, query: str):
    queue = services_of(crowded).queue

    assert steps(queue, lambda: look(operator, f"/ops/do/retry?{query}")) < 1_000_000


def test_the_hundredth_page_costs_as_much_as_the_first(crowded: Flask, operator: Visitor):
    queue = services_of(crowded).queue
    jobs = operator.get("/v1/ops/jobs", state="failed", limit=200).get_json()
    for _ in range(9):
        jobs = operator.get("/v1/ops/jobs", state="failed", limit=200, cursor=jobs["nextCursor"]).get_json()

    first = steps(queue, lambda: look(operator, "/ops/live?state=failed"))
    deep = steps(queue, lambda: look(operator, f"/ops/live?state=failed&cursor={jobs['nextCursor']}"))

    assert abs(deep - first) < 2_000
