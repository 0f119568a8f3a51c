"""Any mix of writes, moves, foreign writes, killed workers and imports leaves search, history and list equal to the active branch."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.errors import LeaseLost, NotFound, UnreadableEvent
from shared.visibility import OWNER
from tests.conftest import Killed, Session, World, dies_after, memory_folder, message
from tests.properties.tree import Told, Transcript
from worker import reconcile

WORDS = ("alder", "birch", "cedar", "dogwood")
KEYS = (("ada", "agent:ada:main"), ("ada", "agent:ada:two"), ("bob", "agent:bob:main"))
LEASE_MS = 21_000

picks = st.integers(0, 11)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join)
roles = st.sampled_from(["user", "user", "assistant", "tool"])
kinds = st.sampled_from(["message", "message", "message", "message", "reset", "compaction", "thought_bubble", "leaf", "side"])
parents = st.sampled_from(["leaf", "leaf", "leaf", "known", "null", "unknown"])


@contextmanager
def small_steps() -> Iterator[None]:
    """A reconcile of two messages a step, so that a few messages are many steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reconcile, "MAX_STEP", 8)
        patch.setattr(reconcile, "MIN_STEP", 1)
        yield


class Machine(RuleBasedStateMachine):
    """Every write goes to the program and to an oracle that keeps events in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = ExitStack()
        self.opened.enter_context(small_steps())
        self.world = World(self.opened.enter_context(memory_folder()), visibility="all", agent_to_agent=frozenset({"*"}))
        self.told: dict[str, dict[str, Transcript]] = {}  # session key -> session id -> events
        self.current: dict[str, str] = {}
        self.made = 0
        self.turn = 0

    def teardown(self) -> None:
        self.world.store.close()
        self.opened.close()

    # ------------------------------------------------------------------------------------------------- helpers

    def a_session(self, pick: int) -> Session:
        agent_id, key = KEYS[pick % len(KEYS)]
        return self.world.session(agent_id, key)

    def a_living_session(self, pick: int) -> tuple[Session, Transcript]:
        living = sorted(self.current)
        key = living[pick % len(living)]
        agent_id = next(agent for agent, known in KEYS if known == key)
        return self.world.session(agent_id, key), self.told[key][self.current[key]]

    def a_node(self, told: Transcript, pick: int) -> Told | None:
        nodes = told.nodes()
        return nodes[pick % len(nodes)] if nodes else None

    def new_id(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made:03}"

    def an_event(self, told: Transcript | None, kind: str, text: str, role: str, parent: str, pick: int) -> dict[str, Any]:
        event_id = self.new_id("e")
        nodes = told.nodes() if told else []
        named = nodes[pick % len(nodes)].id if nodes else "nowhere"
        place = {"leaf": {}, "null": {"parentId": None}, "unknown": {"parentId": "nowhere"}, "known": {"parentId": named}}[parent]
        if kind == "leaf":
            return {"type": "leaf", "id": event_id, "targetId": {"null": None, "unknown": "nowhere"}.get(parent, named)}
        if kind in ("message", "side"):
            return message(event_id, text, role, **place, **({"appendMode": "side"} if kind == "side" else {}))
        return {"type": kind, "id": event_id, "summary": text, **place}

    def send(self, session: Session, *events: dict[str, Any]) -> None:
        told = self.told.setdefault(session.key, {})
        answer = session.send(*events)
        transcript = told.setdefault(answer["sessionId"], Transcript())
        self.current[session.key] = answer["sessionId"]
        transcript.take_over()
        before = transcript.leaf
        for event in events:
            transcript.add(event)
        self.found_at_once(session, transcript, before, events)

    def found_at_once(self, session: Session, told: Transcript, before: Told | None, events: tuple[dict[str, Any], ...]) -> None:
        """What was appended to the leaf is searchable when the answer arrives."""
        added = told.path(told.leaf)[len(told.path(before)) :]
        if told.never_indexed or told.path(told.leaf)[: len(told.path(before))] != told.path(before):
            return
        for event in (e for e in added if e.payload in events and e.text):
            assert event.id in session.found(event.text, scope="self"), "an append is not searchable"

    def expected(self, word: str) -> set[tuple[str, str, str]]:
        return {
            (key, session_id, event.id)
            for key, transcripts in self.told.items()
            for session_id, told in transcripts.items()
            for event in told.active()
            if word in event.text.split()
        }

    def reconciled(self, session: Session) -> None:
        """The oracle after a reconcile of a whole session."""
        for told in self.told[session.key].values():
            told.look_again()

    # -------------------------------------------------------------------------------------------------- verbs

    @initialize(pick=picks, text=texts)
    def begin(self, pick: int, text: str) -> None:
        self.send(self.a_session(pick), *(message(self.new_id("e"), text) for _ in range(3)))

    @rule(pick=picks, kind=kinds, text=texts, role=roles, parent=parents, other=picks, more=st.booleans())
    def append(self, pick: int, kind: str, text: str, role: str, parent: str, other: int, more: bool) -> None:
        session = self.a_session(pick)
        told = self.told.get(session.key, {}).get(self.current.get(session.key, ""))
        events = [self.an_event(told, kind, text, role, parent, other)]
        if more:
            events.append(message(self.new_id("e"), text, role))
        self.send(session, *events)

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks)
    def append_again(self, pick: int, other: int) -> None:
        session, told = self.a_living_session(pick)
        event = self.a_node(told, other)
        if event is None:
            return

        answer = session.send(event.payload)

        assert answer["appended"] == 0
        told.take_over()

    @rule(pick=picks, title=st.sampled_from(["log", "chart"]))
    def put(self, pick: int, title: str) -> None:
        session = self.a_session(pick)
        shown = session.put(title=title)
        self.told.setdefault(session.key, {}).setdefault(shown["sessionId"], Transcript())
        self.current[session.key] = shown["sessionId"]

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks, to_root=st.booleans())
    def rewind(self, pick: int, other: int, to_root: bool) -> None:
        """Back, forth or over to another branch."""
        session, told = self.a_living_session(pick)
        told.take_over()
        target = None if to_root and other < 3 else self.a_node(told, other)

        answer = session.rewind(target.id if target else None)

        told.leaf = target
        assert answer["leafId"] == (target.id if target else None)

    @precondition(lambda self: self.current)
    @rule(pick=picks)
    def reset(self, pick: int) -> None:
        session, told = self.a_living_session(pick)
        told.take_over()
        answer = session.reset(self.new_id("s"))
        self.told[session.key][answer["sessionId"]] = Transcript()
        self.current[session.key] = answer["sessionId"]

    @precondition(lambda self: self.current and self.turn % 3 == 0)
    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        session, _ = self.a_living_session(pick)
        session.delete()
        del self.current[session.key], self.told[session.key]

    @rule(pick=picks, size=st.integers(1, 5), text=texts, elsewhere=st.booleans(), fork=st.booleans())
    def import_events(self, pick: int, size: int, text: str, elsewhere: bool, fork: bool) -> None:
        session = self.a_session(pick)
        transcripts = self.told.get(session.key, {})
        session_id = self.new_id("s") if elsewhere or not transcripts else sorted(transcripts)[pick % len(transcripts)]
        told = self.told.setdefault(session.key, {}).setdefault(session_id, Transcript(never_indexed=True))
        told.take_over()
        told.never_indexed = told.never_indexed or not told.events
        events = [message(self.new_id("i"), text) for _ in range(size)]
        if fork:
            events.append(self.an_event(told, "message", text, "user", "known", pick))

        done = session.take_in(session_id, events)

        self.current.setdefault(session.key, session_id)
        for event in events:
            told.add(event)
        assert (done.added, done.known) == (len(events), 0)

    # --------------------------------------------------------------------------------------------- other programs

    @precondition(lambda self: self.current)
    @rule(pick=picks, kind=kinds, text=texts, role=roles, parent=parents, other=picks)
    def add_outside(self, pick: int, kind: str, text: str, role: str, parent: str, other: int) -> None:
        session, told = self.a_living_session(pick)
        event = self.an_event(told, kind, text, role, parent, other)
        session.add_outside(event)
        told.waiting.append(event)

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks, text=texts)
    def edit_text_outside(self, pick: int, other: int, text: str) -> None:
        session, told = self.a_living_session(pick)
        event = self.a_node(told, other)
        if event is None or not event.text:
            return
        event.payload = {**event.payload, "message": {**event.payload["message"], "content": text}}
        session.edit_outside(event.id, event.payload)
        told.touched_outside = True

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks, above=picks, to_root=st.booleans())
    def edit_parent_outside(self, pick: int, other: int, above: int, to_root: bool) -> None:
        session, told = self.a_living_session(pick)
        event, new = self.a_node(told, other), None if to_root else self.a_node(told, above)
        if event is None or new in told.below(event):
            return
        event.payload = {**event.payload, "parentId": new.id if new else None}
        session.edit_outside(event.id, event.payload)
        event.new_parent.append(new)
        told.touched_outside = True

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks)
    def delete_outside(self, pick: int, other: int) -> None:
        """Where the leaf and its parent are both gone, nobody can tell any more where the branch ended; that case is a test of its own."""
        session, told = self.a_living_session(pick)
        event = self.a_node(told, other)
        if event is None or (event is told.leaf and event.hangs_on is not None and event.hangs_on.gone):
            return
        session.delete_outside(event.id)
        told.remove_outside(event)

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks, to_root=st.booleans())
    def move_leaf_outside(self, pick: int, other: int, to_root: bool) -> None:
        session, told = self.a_living_session(pick)
        told.leaf = None if to_root and other < 3 else self.a_node(told, other)
        session.move_leaf_outside(told.leaf.id if told.leaf else None)

    @precondition(lambda self: self.current)
    @rule(pick=picks, other=picks)
    def break_and_mend_outside(self, pick: int, other: int) -> None:
        """A payload that cannot be read parks the session; mended, it is as if nothing had been.

        A reset is left out: until a reconcile has looked at it again, nothing tells that it was one.
        """
        session, told = self.a_living_session(pick)
        event = self.a_node(told, other)
        if event is None or event.payload["type"] == "reset":
            return
        session.edit_outside(event.id, '{"type": "message", "broken')
        self.world.now.pass_ms(LEASE_MS)

        with pytest.raises(UnreadableEvent, match="position"):
            session.reconcile()

        assert session.search(WORDS[0], scope="self")["indexing"]
        event.new_parent = []
        self.partly_reconciled(session)
        session.edit_outside(event.id, json.dumps(event.payload))
        told.touched_outside = told.mended = True
        named = event.payload.get("parentId", "")
        if named is None or told.known(named) is not None:
            event.new_parent = [told.known(named) if named else None]

    # -------------------------------------------------------------------------------------------------- workers

    @precondition(lambda self: self.current)
    @rule(pick=picks)
    def reconcile(self, pick: int) -> None:
        session, _ = self.a_living_session(pick)
        self.world.now.pass_ms(LEASE_MS)

        done = session.reconcile()

        assert not done.pending
        self.reconciled(session)
        self.holds_after_reconcile(session)

    @precondition(lambda self: self.current)
    @rule(pick=picks, steps=st.integers(0, 3))
    def worker_is_killed(self, pick: int, steps: int) -> None:
        """What it began is lost or kept; another worker gets the session when the lease has run out."""
        session, _ = self.a_living_session(pick)
        self.world.now.pass_ms(LEASE_MS)
        try:
            session.reconcile("killed", dies_after(steps))
        except Killed:
            if session.leased():  # nothing is, before the first step is published
                with pytest.raises(LeaseLost):
                    session.reconcile("other")
            self.partly_reconciled(session)
        else:
            self.reconciled(session)

    @precondition(lambda self: self.current)
    @rule(pick=picks, text=texts, other=picks, move=st.booleans())
    def reconcile_while_writing(self, pick: int, text: str, other: int, move: bool) -> None:
        """An append or a rewind between two steps."""
        session, told = self.a_living_session(pick)
        self.world.now.pass_ms(LEASE_MS)
        done = []

        def beat() -> None:
            if not done:
                done.append(True)
                self.partly_reconciled(session)
                if move and told.nodes():
                    self.rewind_to(session, told, other)
                self.send(session, message(self.new_id("e"), text))

        session.reconcile(beat=beat)
        assert not session.reconcile().pending
        self.reconciled(session)
        self.holds_after_reconcile(session)

    def rewind_to(self, session: Session, told: Transcript, other: int) -> None:
        target = told.nodes()[other % len(told.nodes())]
        session.rewind(target.id)
        told.leaf = target

    def partly_reconciled(self, session: Session) -> None:
        """A worker has looked at what is owed, transcript by transcript, and was stopped somewhere."""
        owed = self.transcripts_looked_at(session)
        for session_id, told in self.told[session.key].items():
            if session_id in owed:
                never = told.never_indexed
                told.look_again()
                told.never_indexed = never

    def transcripts_looked_at(self, session: Session) -> set[str]:
        """Those in which nothing from outside waits any more."""
        with self.world.plain_sqlite(session.agent_id) as conn:
            rows = conn.execute("SELECT t.session_id FROM index_state AS i JOIN transcripts AS t USING (transcript_no) WHERE i.foreign_writes = 0")
            return {row[0] for row in rows}

    # -------------------------------------------------------------------------------------------------- what holds

    @invariant()
    def search_shows_nothing_else_and_says_what_is_missing(self) -> None:
        self.turn += 1
        word = WORDS[self.turn % len(WORDS)]
        hits = self.world.pages(OWNER, word, match="all", limit=50, group="message")
        found = [(hit["sessionKey"], hit["sessionId"], hit["messageId"]) for hit in hits]
        expected = self.expected(word)
        assert len(found) == len(set(found))
        assert set(found) <= expected
        if set(found) != expected:
            assert self.world.search(OWNER, word)["indexing"]

    @invariant()
    def history_and_list_are_the_branch(self) -> None:
        for agent_id, key in KEYS:
            session = self.world.session(agent_id, key)
            if key not in self.current:
                with pytest.raises(NotFound):
                    session.history()
                continue
            told = self.told[key][self.current[key]]
            shown = [(m["id"], m["text"]) for m in session.history()["messages"]]
            branch = [(e.id, e.text) for e in told.active()]
            assert shown == ([pair for pair in branch if pair in shown] if told.mended else branch)
            if not told.touched_outside:
                assert session.listed()["messages"] == len(told.active())

    def holds_after_reconcile(self, session: Session) -> None:
        """Exactly the branch, in every transcript of the session; nothing pending; nothing for verify to find."""
        assert not session.listed()["pending"]
        for word in WORDS:
            body = self.world.search(OWNER, word, session_key=session.key, match="all")
            assert not body["indexing"]
            found = {(h["sessionKey"], h["sessionId"], h["messageId"]) for h in self.world.pages(OWNER, word, session_key=session.key, match="all")}
            assert found == {hit for hit in self.expected(word) if hit[0] == session.key}
        assert session.listed()["messages"] == len(self.told[session.key][self.current[session.key]].active())
        assert self.world.verify(session.agent_id) == []

    @precondition(lambda self: self.turn % 5 == 0)
    @rule()
    def everything_converges(self) -> None:
        self.world.now.pass_ms(LEASE_MS)
        for agent_id, key in KEYS:
            if key in self.current:
                session = self.world.session(agent_id, key)
                session.reconcile()
                self.reconciled(session)
        for word in WORDS:
            body = self.world.search(OWNER, word)
            assert not body["indexing"]
            found = {(h["sessionKey"], h["sessionId"], h["messageId"]) for h in self.world.pages(OWNER, word, match="all", limit=50)}
            assert found == self.expected(word)


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
