"""Leases and failures: one worker at a session, for as long as it lives; what fails waits longer each time, and holds up nobody."""

import threading

import pytest

from shared.errors import LeaseLost, StoreUnavailable, UnreadableEvent
from shared.overview import owed_sessions, unpark
from shared.visibility import OWNER
from tests.conftest import Killed, Session, dies_after, ids, message
from worker import reconcile
from worker.reconcile import MAX_ATTEMPTS

LEASE_MS = 20_000


@pytest.fixture
def small_steps(monkeypatch):
    """Two messages a step."""
    monkeypatch.setattr(reconcile, "MAX_STEP", 8)
    monkeypatch.setattr(reconcile, "MIN_STEP", 1)


def line(session: Session, count: int) -> Session:
    session.send(*(message(f"e{n:03}", f"alpha {n}") for n in range(count)))
    return session


# ------------------------------------------------------------------------------------------------------------ leases


def test_a_second_worker_is_told_that_another_has_the_session(agent, small_steps):
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(9)])
    told = []

    def second() -> None:
        if agent.leased():  # not any more after the last step
            with pytest.raises(LeaseLost):
                agent.reconcile("second")
            told.append(1)

    agent.reconcile("first", second)

    assert told
    assert len(agent.found("alpha")) == 9


def test_a_lease_that_ran_out_is_taken_over_and_its_worker_publishes_nothing_more(agent, small_steps):
    agent.take_in("s1", [message(f"e{n:02}", "alpha") for n in range(20)])
    turns = []

    def taken_over() -> None:
        if not turns:
            turns.append(1)
            agent.world.now.pass_ms(LEASE_MS + 1)
            with pytest.raises(Killed):
                agent.reconcile("second", dies_after(1))
            turns.append(len(agent.found("alpha")))

    with pytest.raises(LeaseLost):
        agent.reconcile("first", taken_over)

    assert len(agent.found("alpha")) == turns[1]
    assert agent.state()["lease_owner"] == "second"
    assert agent.state()["attempts"] == 0


def test_a_worker_at_work_keeps_its_lease_however_long_it_takes(agent, small_steps):
    agent.take_in("s1", [message(f"e{n:02}", "alpha") for n in range(20)])

    told = []

    def slow() -> None:
        agent.world.now.pass_ms(LEASE_MS - 100)
        if agent.leased():  # not any more after the last step
            with pytest.raises(LeaseLost):
                agent.reconcile("second")
            told.append(1)

    assert not agent.reconcile("first", slow).pending
    assert len(told) > 2


def test_the_same_worker_may_begin_again_at_once(agent, small_steps):
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(9)])
    with pytest.raises(Killed):
        agent.reconcile("w1", dies_after(0))

    assert not agent.reconcile("w1").pending


def test_a_worker_that_lost_its_session_notes_no_failure_in_it(agent, small_steps):
    """It put the other's lease aside and counted an attempt that was not made."""
    agent.take_in("s1", [message(f"e{n:02}", "alpha") for n in range(20)])

    def fails_after_being_replaced() -> None:
        agent.world.now.pass_ms(LEASE_MS + 1)
        with pytest.raises(Killed):
            agent.reconcile("second", dies_after(0))
        raise StoreUnavailable("busy")

    with pytest.raises(StoreUnavailable):
        agent.reconcile("first", fails_after_being_replaced)

    state = agent.state()
    assert (state["lease_owner"], state["attempts"], state["error"]) == ("second", 0, None)


# ---------------------------------------------------------------------------------------------------------- failures


def busy() -> None:
    raise StoreUnavailable("a database is held by another program")


def test_a_failure_is_noted_and_each_further_one_waits_longer_until_the_session_is_parked(agent, small_steps):
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(5)])
    waits = []

    for attempt in range(1, MAX_ATTEMPTS + 1):
        agent.write_outside("UPDATE index_state SET whole_to = 0, indexed = 0")
        with pytest.raises(StoreUnavailable):
            agent.reconcile(beat=busy)
        state = agent.state()
        waits.append(state["retry_at_ms"] - agent.world.now.ms)
        assert (state["attempts"], state["lease_owner"], state["parked"]) == (attempt, None, int(attempt == MAX_ATTEMPTS))
        assert "another program" in state["error"]

    assert all(later > 1.5 * sooner for sooner, later in zip(waits, waits[1:-1], strict=False))
    assert 300 < waits[0] < 700
    assert owed_sessions(agent.world.store, "ada", limit=9, now_ms=10**15) == []
    assert unpark(agent.world.store, "ada", None) == 1
    assert not agent.reconcile().pending


def test_a_session_that_failed_is_due_again_when_its_wait_is_over(agent, small_steps):
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(5)])
    with pytest.raises(StoreUnavailable):
        agent.reconcile(beat=busy)

    retry_at_ms = agent.state()["retry_at_ms"]

    assert owed_sessions(agent.world.store, "ada", limit=9, now_ms=retry_at_ms - 1) == []
    assert owed_sessions(agent.world.store, "ada", limit=9, now_ms=retry_at_ms) == [agent.key]


def test_one_broken_session_does_not_stop_the_others(world):
    for key in ("one", "broken", "two"):
        world.session("ada", key).append("a", "alpha").append("b", "beta")
        world.session("ada", key).rewind("a")
    world.session("ada", "broken").edit_outside("a", '{"the secret words')

    for key in owed_sessions(world.store, "ada", limit=9, now_ms=world.now()):
        try:
            world.session("ada", key).reconcile()
        except UnreadableEvent as e:
            assert (key, "secret" in str(e)) == ("broken", False)

    assert owed_sessions(world.store, "ada", limit=9, now_ms=world.now()) == []
    assert sorted(h["sessionKey"] for h in world.search(OWNER, "alpha")["results"]) == ["one", "two"]


def test_a_change_to_a_parked_session_makes_it_due_again(agent):
    agent.append("a", "alpha").append("b", "beta")
    agent.edit_outside("a", "{")
    with pytest.raises(UnreadableEvent):
        agent.reconcile()
    assert owed_sessions(agent.world.store, "ada", limit=9, now_ms=10**15) == []

    agent.rewind("a")

    assert owed_sessions(agent.world.store, "ada", limit=9, now_ms=agent.world.now()) == [agent.key]


# ------------------------------------------------------------------------------------------------------- side by side


def test_workers_and_writers_side_by_side_leave_the_branch(world, small_steps):
    agent = line(world.session(), 20)
    failures = []

    def repeatedly(act):
        def run():
            for n in range(25):
                try:
                    act(n)
                except LeaseLost:
                    continue
                except Exception as e:
                    failures.append(e)

        return threading.Thread(target=run)

    acts = [
        lambda n: agent.append(f"a{n}", "alpha"),
        lambda n: agent.append(f"b{n}", "alpha", parent=f"e{n % 20:03}"),
        lambda n: agent.rewind(f"e{n * 7 % 20:03}"),
        lambda n: agent.edit_outside(f"e{n % 20:03}", message(f"e{n % 20:03}", f"alpha {n}")),
        lambda n: agent.reconcile("w1"),
        lambda n: agent.reconcile("w2"),
    ]
    threads = [repeatedly(act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.now.pass_ms(LEASE_MS + 1)
    agent.reconcile()

    assert failures == []
    assert sorted(agent.found("alpha")) == sorted(ids(agent.history()))
    assert world.verify() == []
