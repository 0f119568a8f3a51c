"""Reconcile: the difference and nothing else, under a lease that runs out, whatever comes in between, and never for ever."""


import pytest

from shared import jsontext, searchable
from shared.errors import LeaseLost
from shared.overview import mark_pending
from shared.store import projection
from shared.visibility import OWNER
from tests.conftest import Killed, Session, dies_after, ids, message
from worker import reconcile
from worker.reconcile import Reconciled

LEASE_MS = 20_000


@pytest.fixture
def small_steps(monkeypatch):
    """Two messages a step."""
    monkeypatch.setattr(reconcile, "MAX_STEP", 8)
    monkeypatch.setattr(reconcile, "MIN_STEP", 1)


def line(session: Session, count: int, prefix: str = "e", word: str = "alpha") -> Session:
    session.send(*(message(f"{prefix}{n:03}", f"{word} {n}") for n in range(count)))
    return session


# -------------------------------------------------------------------------------------------------- the difference


def test_a_session_that_owes_nothing_is_left_alone(agent):
    line(agent, 3)

    assert agent.reconcile() == Reconciled(entries=0, removed=0, pending=False)
    assert agent.world.session("ada", "agent:ada:nowhere").reconcile() == Reconciled(0, 0, pending=False)


@pytest.mark.parametrize(("back_to", "removed"), [("e098", 1), ("e097", 2), ("e000", 99), (None, 100)])
def test_a_rewind_costs_what_it_removed(agent, back_to, removed):
    line(agent, 100)
    agent.rewind(back_to)

    assert agent.reconcile() == Reconciled(0, removed, pending=False)
    assert len(agent.found("alpha")) == 100 - removed


def test_a_rewind_and_what_was_appended_since_costs_what_it_removed(agent):
    line(agent, 100)
    agent.rewind("e089")
    line(agent, 50, "n")

    assert agent.reconcile() == Reconciled(0, 10, pending=False)
    assert len(agent.found("alpha")) == 140


def test_switching_to_another_branch_and_back_costs_the_two_tails(agent):
    line(agent, 20)
    agent.append("left", "beta", parent="e018").append("right", "gamma", parent="e018")
    assert agent.reconcile() == Reconciled(0, 2, pending=False)

    agent.rewind("e019")

    assert agent.reconcile() == Reconciled(1, 1, pending=False)
    assert agent.found("alpha 19") == ["e019"]


def test_a_rewind_there_and_back_costs_nothing(agent):
    line(agent, 20)
    agent.rewind("e003")
    agent.rewind("e019")

    assert agent.reconcile() == Reconciled(0, 0, pending=False)
    assert len(agent.found("alpha")) == 20
    assert agent.world.verify() == []


def test_a_row_that_is_added_again_keeps_the_place_of_its_time(agent):
    agent.append("a", "alpha", timestamp=1_000).append("b", "alpha", timestamp=2_000)
    agent.append("c", "alpha", parent="a", timestamp=3_000)
    agent.reconcile()
    agent.rewind("b")
    agent.reconcile()

    assert agent.found("alpha", order="recent") == ["b", "a"]


def test_forcing_a_session_that_is_right_rewrites_nothing(agent):
    line(agent, 30)
    mark_pending(agent.world.store, "ada", agent.key, now_ms=agent.world.now())

    assert agent.reconcile() == Reconciled(0, 0, pending=False)


def test_a_forced_session_is_repaired_where_its_rows_are_wrong(agent):
    line(agent, 5)
    with agent.world.plain_sqlite() as conn:
        conn.execute("UPDATE message_index SET text = 'wrong' WHERE rowid = (SELECT max(message_no) FROM messages)")
        conn.execute("UPDATE messages SET role = 'assistant' WHERE seq = 2")
        conn.execute("DELETE FROM messages WHERE seq = 3")
        conn.execute("INSERT INTO messages SELECT 7, transcript_no, 9, 9, 0, session_no, 0, 'user' FROM messages WHERE seq = 1")
    mark_pending(agent.world.store, "ada", agent.key, now_ms=agent.world.now())

    agent.reconcile()

    assert len(agent.found("alpha")) == 5
    assert (agent.found("wrong"), agent.found("alpha", role="assistant")) == ([], [])
    mark_pending(agent.world.store, "ada", agent.key, now_ms=agent.world.now())
    assert agent.reconcile() == Reconciled(0, 0, pending=False)


def test_a_session_of_one_step_costs_one_commit(agent):
    agent.append("a", "the index is there")
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(50)])
    seen = []
    with agent.world.store.writer("ada") as conn:
        conn.set_trace_callback(seen.append)

    agent.reconcile()

    with agent.world.store.writer("ada") as conn:
        conn.set_trace_callback(None)
    assert [statement for statement in seen if statement.startswith(("BEGIN", "COMMIT"))] == ["BEGIN IMMEDIATE", "COMMIT"]
    assert len(agent.found("alpha")) == 50


def test_two_workers_from_one_snapshot_do_not_publish_twice(agent):
    """The lease is taken with the first step: a worker that was slower finds that somebody published since its snapshot."""
    agent.append("a", "the index is there")
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(5)])
    others = []

    class Slow(reconcile._Work):
        def _computed(self, *seen):
            computed = super()._computed(*seen)
            if not others:
                others.append(agent.reconcile("quick"))
            return computed

    work = Slow(agent.world.store, "ada", "s1", "slow", agent.world.now, lambda: None, lambda error: None)
    work.run()

    assert others[0].entries == 5
    assert work.added == 0
    assert agent.world.verify() == []
    assert len(agent.found("alpha")) == 5


def test_every_transcript_of_a_session_is_reconciled(agent):
    agent.take_in("s1", [message("a", "alpha")])
    agent.take_in("s2", [message("a", "alpha")])
    agent.append("b", "alpha")

    assert agent.reconcile() == Reconciled(3, 0, pending=False)


# ------------------------------------------------------------------------------------------------------ killed workers


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_what_a_killed_worker_did_is_right_as_far_as_it_goes_and_the_next_goes_on_from_there(agent, small_steps, steps):
    agent.take_in("s1", [message(f"e{n:02}", "alpha") for n in range(20)])

    with pytest.raises(Killed):
        agent.reconcile("killed", dies_after(steps))

    done = len(agent.found("alpha"))
    assert 0 < done < 20
    assert agent.search("alpha")["indexing"]
    agent.world.now.pass_ms(LEASE_MS + 1)
    assert agent.reconcile("next").entries == 20 - done
    assert len(agent.found("alpha")) == 20
    assert agent.world.verify() == []


def test_abandoned_messages_do_not_come_back_when_their_removal_was_cut_short(agent, small_steps):
    """More of them stood at one position than a step removes: the next worker looked beyond that position only, and settled the rest in."""
    agent.append("root", "alpha")
    for n in range(12):
        agent.append(f"x{n}", "abandoned", parent="root")
    for n in range(6):
        agent.append(f"y{n}", "kept", **({"parent": "root"} if n == 0 else {}))

    with pytest.raises(Killed):
        agent.reconcile("killed", dies_after(0))
    agent.world.now.pass_ms(LEASE_MS + 1)
    agent.reconcile("next")

    assert (agent.found("abandoned"), len(agent.found("kept"))) == ([], 6)
    assert agent.world.verify() == []


@pytest.mark.parametrize("between", ["rewind", "append", "branch", "rewind and append", "import", "reset", "delete"])
@pytest.mark.parametrize("when", [1, 2])
def test_a_write_between_two_steps_is_no_loss(agent, small_steps, between, when):
    line(agent, 12)
    line_id = agent.listed()["sessionId"]
    agent.rewind("e003")
    line(agent, 8, "n")
    agent.rewind("e011")
    steps = [0]

    def act():
        steps[0] += 1
        if steps[0] != when:
            return
        if "rewind" in between:
            agent.rewind("e005")
        if "append" in between:
            agent.append("late", "alpha")
        if between == "branch":
            agent.append("late", "alpha", parent="n002")
        if between == "import":
            agent.take_in(line_id, [message("late", "alpha")])
        if between == "reset":
            agent.reset("s9")
        if between == "delete":
            agent.delete()

    try:
        agent.reconcile(beat=act)
    except LeaseLost:
        assert between == "delete"
    agent.reconcile()

    if between == "delete":
        assert agent.found("alpha") == []
    else:
        assert sorted(agent.found("alpha")) == sorted(ids(agent.history(session_id=line_id)))
        assert not agent.listed()["pending"]
    assert agent.world.verify() == []


def test_under_steady_writes_a_reconcile_comes_to_an_end(agent, small_steps):
    agent.take_in("s1", [message(f"e{n:02}", "alpha") for n in range(40)])
    written = iter(range(1_000))

    agent.reconcile(beat=lambda: agent.append(f"n{next(written)}", "alpha"))

    assert sorted(agent.found("alpha")) == sorted(ids(agent.history()))
    assert not agent.search("alpha")["indexing"]


def test_removing_very_many_rows_takes_time_in_proportion(agent):
    """It took the square: 22 seconds for 8,000 rows."""
    agent.append("root", "alpha")
    for start in range(3):
        line(agent, 1_000, f"{start}-")
    agent.rewind("root")
    steps = []

    assert agent.reconcile(beat=lambda: steps.append(1)).removed == 3_000
    assert len(steps) < 60


# ------------------------------------------------------------------------------------------- catalogue and analyser


def test_a_secret_that_is_registered_makes_sessions_outdated_and_their_rows_serve_on_masked(world):
    one, two = world.session("ada", "one"), world.session("ada", "two")
    one.append("a", "the swordfish swims").append("b", "plain words")
    two.append("a", "plain words")

    world.register_secret("swordfish")

    body = one.search("plain")
    assert (ids(body), body["indexing"], body["pendingSessions"]) == (["b"], True, 1)
    assert one.search("the swims")["results"][0]["excerpt"] == "the [redacted:registered-secret] swims"
    assert ids(one.search("swordf*")) == []
    assert one.reconcile() == Reconciled(1, 1, pending=False)
    assert two.reconcile() == Reconciled(0, 0, pending=False)
    assert not world.search(OWNER, "plain")["indexing"]
    assert ids(one.search("swordf*")) == []
    assert world.verify() == []


def test_under_mask_and_off_a_changed_catalogue_owes_nothing(make_world):
    world = make_world("data", redaction="mask")
    agent = world.session().append("a", "the swordfish swims")

    world.register_secret("swordfish")

    body = agent.search("swordfish")
    assert (body["indexing"], body["results"][0]["excerpt"]) == (False, "the [redacted:registered-secret] swims")


@pytest.mark.parametrize("policies", [("strict", "off"), ("off", "strict"), ("mask", "strict")])
def test_another_policy_makes_sessions_outdated_and_they_converge(make_world, policies):
    before, after = policies
    world = make_world("data", redaction=before)
    agent = world.session().append("a", "key ghp_16C7e42F292c6912E7710c838347Ae178B4a here")

    world.reopen(redaction=after)

    assert agent.search("key")["indexing"]
    agent.reconcile()
    assert not agent.search("key")["indexing"]
    assert bool(agent.found("ghp_16C7e42F*")) == (after != "strict")
    assert world.verify() == []


def test_a_newer_analyser_makes_sessions_outdated_and_they_converge(agent, monkeypatch):
    line(agent, 10)
    monkeypatch.setattr(projection, "ANALYSER_VERSION", projection.ANALYSER_VERSION + 1)

    assert len(agent.found("alpha")) == 10
    assert agent.search("alpha")["indexing"]
    assert agent.reconcile() == Reconciled(0, 0, pending=False)
    assert not agent.search("alpha")["indexing"]


def test_a_secret_registered_before_the_first_search_of_an_import_does_not_stay_in_the_index(agent):
    """What an import's rows were made by was not written down, so that they did not count as outdated."""
    agent.take_in("s1", [message("a", "the swordfish swims")])
    agent.reconcile()

    agent.world.register_secret("swordfish")

    assert ids(agent.search("swordf*")) == []
    assert agent.search("the")["indexing"]
    agent.reconcile()
    assert agent.world.verify() == []


def test_a_secret_registered_while_a_worker_is_at_a_session_does_not_stay_in_the_index(agent):
    """The worker went on with the catalogue it had begun with, and settled the session with the secret in it."""
    line(agent, 250, word="swordfish")
    mark_pending(agent.world.store, "ada", agent.key, now_ms=agent.world.now())
    acts = [lambda: agent.world.register_secret("swordfish"), lambda: None]

    agent.reconcile(beat=lambda: (acts.pop()(), agent.search("anything")) if acts else None)
    while agent.search("anything")["indexing"]:
        agent.reconcile()

    assert agent.found("swordf*") == []
    assert agent.world.verify() == []


# ----------------------------------------------------------------------------------------------------------- bounds


def test_no_step_holds_the_write_lock_for_a_whole_session(agent):
    texts = [f"{'word ' * 200}{n}" for n in range(700)]
    agent.take_in("s1", [message(f"e{n}", text) for n, text in enumerate(texts)])
    seen = []
    with agent.world.store.writer("ada") as conn:
        conn.set_trace_callback(seen.append)

    agent.reconcile()

    steps = " ".join("C" if s.startswith("COMMIT") else "i" if "INSERT INTO messages" in s else "" for s in seen).split("C")
    assert max(step.count("i") for step in steps) <= reconcile.MAX_STEP
    assert sum(step.count("i") for step in steps) == 700


def test_a_message_that_has_no_searchable_text_any_more_loses_its_row(agent):
    agent.append("a", "alpha").append("b", "beta")
    payload = message("a", [{"type": "thinking", "thinking": "alpha"}], "assistant")
    assert searchable.message_text(payload) == ""

    agent.edit_outside("a", jsontext.dumps(payload))

    assert agent.reconcile().removed == 1
    assert agent.found("alpha") == []
    assert agent.listed()["messages"] == 1
