"""What a search's statements cost: the full-text index is the outer loop, nothing is scanned, and pending sessions add nothing."""

import pytest

from shared import candidates
from shared.store import search as statements
from shared.visibility import OWNER, visible_sessions
from tests.conftest import message


def plans_of(world, act):
    """The query plan of every SELECT that an act runs on ada's database."""
    seen = []
    with world.store.reader("ada") as conn:
        conn.set_trace_callback(seen.append)
    act()
    with world.store.reader("ada") as conn:
        conn.set_trace_callback(None)
        ours = [statement for statement in seen if "SELECT" in statement and not statement.startswith("--") and "_config" not in statement]
        found = {statement: conn.execute("EXPLAIN QUERY PLAN " + statement).fetchall() for statement in ours}
    return {statement: [row[3] for row in plan] for statement, plan in found.items()}


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"match": "any"},
        {"order": "recent"},
        {"group": "session"},
        {"role": "user", "after_ms": 5, "before_ms": 10**13},
        {"scope": "self"},
        {"session_key": "agent:ada:main"},
    ],
)
def test_every_search_has_the_full_text_index_as_its_outer_loop_and_no_full_scan(agent, named):
    agent.put(kind="cron")
    agent.send(*(message(f"e{n}", "alpha beta") for n in range(100)))
    agent.rewind("e50")

    plans = plans_of(agent.world, lambda: agent.world.search(OWNER, "alpha beta", **named))

    matching = [plan for statement, plan in plans.items() if "MATCH" in statement]
    assert matching
    assert all(plan[0].startswith("SCAN f VIRTUAL TABLE") for plan in matching)
    counted = [plan for statement, plan in plans.items() if statements._IN_ALL not in statement]  # which ends at its limit, see below
    scans = [step for plan in counted for step in plan if step.startswith("SCAN ") and "VIRTUAL TABLE" not in step and "USING" not in step]
    assert [step for step in scans if step not in ("SCAN w", "SCAN CONSTANT ROW")] == []


def test_more_sessions_than_few_are_joined_behind_the_index(world):
    for n in range(statements.FEW + 1):
        world.session("ada", f"k{n}").put(spawnedBy="agent:ada:main")
        world.session("ada", f"k{n}").append("m", "alpha")
    caller = world.session("ada").caller

    plans = plans_of(world, lambda: world.search(caller, "alpha"))

    matching = [plan for statement, plan in plans.items() if "MATCH" in statement]
    assert matching
    assert all(plan[0].startswith("SCAN f VIRTUAL TABLE") and plan[1].startswith("SEARCH m USING INTEGER PRIMARY KEY") for plan in matching)


def test_who_sees_all_of_an_agents_sessions_asks_without_a_list_of_them(world):
    """A caller who had spawned ten thousand sessions bound their numbers to every statement, 5 ms a request."""
    main = world.session("ada").append("m", "alpha")
    for n in range(statements.FEW + 1):
        world.session("ada", f"k{n}").put(spawnedBy=main.key)
    keys = visible_sessions(world.store, main.caller).keys["ada"]

    def numbers():
        with world.store.reader("ada") as conn:
            return statements.known_numbers(conn, world.store.trees, "ada", keys).numbers

    assert numbers() is None
    assert numbers() is None  # as remembered

    world.session("ada", "beside").append("m", "alpha")

    assert len(numbers()) == statements.FEW + 2
    assert len(main.search("alpha")["results"]) == 1


def test_a_search_runs_the_same_statements_with_one_pending_session_as_with_many(world):
    def pending(first, count):
        for n in range(first, first + count):
            world.session("ada", f"k{n}").take_in(f"s{n}", [message("a", "alpha")])

    world.session("ada").append("m", "beta")
    pending(0, 1)
    one = len(plans_of(world, lambda: world.search(OWNER, "beta")))
    pending(1, 60)

    assert len(plans_of(world, lambda: world.search(OWNER, "beta"))) == one


@pytest.mark.parametrize("narrowed", [{}, {"role": "user"}, {"after_ms": 10**13}, {"before_ms": 5}])
def test_counting_what_is_visible_looks_at_no_more_rows_than_it_counts(agent, monkeypatch, narrowed):
    """Filters were applied to it: a day long past, asked for in many sessions, cost a look at every message there is."""
    monkeypatch.setattr(candidates, "RANKED_ANY", 10)
    agent.send(*(message(f"e{n}", "alpha beta") for n in range(900)))
    counted = []
    count = statements.visible_messages
    monkeypatch.setattr(candidates.search, "visible_messages", lambda conn, *given: counted.append(rows_read(conn, count, *given)) or 0)

    for caller in (agent.caller, OWNER):
        agent.world.search(caller, "alpha beta", match="any", **narrowed)

    assert len(counted) == 2
    assert max(counted) < 20


def rows_read(conn, function, *given):
    """How many rows of messages a statement steps over, told by the instructions SQLite runs, some twenty a row."""
    ticks = []
    conn.set_progress_handler(lambda: ticks.append(1) and None, 20)
    function(conn, *given)
    conn.set_progress_handler(None, 0)
    return len(ticks)
