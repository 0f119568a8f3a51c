"""Whatever hidden sessions hold and undergo, no answer to a caller changes by a byte: not a hit, a count, a flag, a cursor or an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared import candidates, jsontext, stream
from shared.errors import NotFound, SessionSearchError, UnreadableEvent
from shared.history import HistoryRequest, read_history
from shared.visibility import Caller
from tests.conftest import START_MS, Session, World, memory_folder, message

WORDS = ("anchor", "bosun", "capstan")
VISIBLE = ("agent:ada:main", "agent:ada:child", "agent:bob:child")
# Whose session it is that the caller must not learn of: a sibling's, another agent's, one set incognito below the caller's own.
HIDDEN = ("agent:ada:sibling", "agent:bob:main", "agent:eve:main", "agent:ada:veiled", "agent:bob:veiled")
CALLERS = {"tree": Caller("ada", "agent:ada:main"), "self": Caller("bob", "agent:bob:child"), "sandbox": Caller("ada", "agent:ada:main", sandboxed=True)}

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
acts = st.sampled_from(["append", "append", "append", "rewind", "branch", "delete", "import", "cron", "title", "reset", "break", "reconcile"])
deeds = st.lists(st.tuples(st.booleans(), st.integers(0, 4), acts, texts), min_size=3, max_size=25)


@contextmanager
def small_bounds() -> Iterator[None]:
    """Bounds that a few messages go past, so that cursors hold all that they can hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "RANKED", 4)
        patch.setattr(candidates, "RANKED_ANY", 3)
        patch.setattr(stream, "CHUNK", 3)
        yield


class Sea:
    """A world in which visible and hidden things happen, or visible ones alone, at the same times."""

    def __init__(self, world: World, *, with_hidden: bool) -> None:
        self.world, self.with_hidden = world, with_hidden
        with world.store.registry_writer() as conn:
            conn.execute("INSERT INTO meta (name, value) VALUES ('cursor key', ?)", (b"k" * 32,))
        for n, key in enumerate(VISIBLE):
            self._begin(n, key, spawnedBy=None if n == 0 else VISIBLE[0])
        for n, key in enumerate(HIDDEN if with_hidden else ()):
            veiled = {"spawnedBy": VISIBLE[0], "incognito": True} if "veiled" in key else {}
            self._begin(50 + n, key, **veiled)

    def _begin(self, moment: int, key: str, **changes: Any) -> None:
        self.world.now.ms = START_MS + moment
        self.session(key).put(sessionId=f"{key} 0", **changes)
        self.session(key).send(*(message(f"first {n}", " ".join(WORDS[n % 3 :]), timestamp=START_MS + 100 * moment + n) for n in range(4)))

    def session(self, key: str) -> Session:
        return self.world.session(key.split(":")[1], key)

    def does(self, number: int, hidden: bool, pick: int, act: str, text: str) -> None:
        """One deed, at a time of its own; what is refused changes nothing."""
        if hidden and not self.with_hidden:
            return
        self.world.now.ms = START_MS + 1_000 * (number + 1)
        keys = HIDDEN if hidden else VISIBLE
        session = self.session(keys[pick % len(keys)])
        try:
            self._act(session, number, act, text)
        except (NotFound, UnreadableEvent):
            pass
        if "veiled" in session.key and act != "delete":
            session.put(incognito=True, spawnedBy=VISIBLE[0])

    def _act(self, session: Session, number: int, act: str, text: str) -> None:
        named = f"{number:02}"
        if act in ("append", "branch") or (act == "delete" and session.key == VISIBLE[0]):
            session.send(message(named, text, **({"parentId": None} if act == "branch" else {})))
        elif act == "rewind":
            session.rewind(None)
        elif act == "delete":
            session.delete()
            session.put(sessionId=f"{session.key} d{number}", spawnedBy=None)
        elif act == "import":
            session.take_in(f"{session.key} i{number}", [message(named, text)])
        elif act == "reset":
            session.reset(f"{session.key} r{number}")
        elif act == "reconcile":
            session.reconcile()
        elif act == "break":
            session.write_outside("UPDATE events SET payload = '{' WHERE transcript_no = :t")
            session.reconcile()
        else:
            session.put(**({"kind": "cron"} if act == "cron" else {"title": text}))

    # ---------------------------------------------------------------------------------------------------- answers

    def told(self, caller: Caller) -> Iterator[bytes]:
        """Everything that a caller can ask."""
        self.world.now.ms = START_MS + 10**6
        for word in (*WORDS, "anchor bosun", '"bosun capstan"', "nowhere"):
            for named in (
                {}, {"match": "any"}, {"order": "recent"}, {"group": "session"}, {"match": "any", "group": "session", "order": "recent"},
            ):  # fmt: skip
                yield from self.walk(caller, query=word, limit=2, **named)
        for key in (*VISIBLE, *HIDDEN, "agent:not:there"):
            yield from self.walk(caller, query="anchor", session_key=key, limit=2)
            yield self.history(caller, HistoryRequest(key, limit=3))
            yield self.history(caller, HistoryRequest(key, session_id=f"{HIDDEN[0]} 0"))
            yield self.history(caller, HistoryRequest(key, message_id="03"))
        cursor = None
        while True:
            body = self.world.listing(caller, limit=2, cursor=cursor)
            yield jsontext.dumps(body).encode()
            cursor = body["nextCursor"]
            if cursor is None:
                return

    def walk(self, caller: Caller, **named: Any) -> Iterator[bytes]:
        cursor = None
        while True:
            answer = self.world.ask(caller, cursor=cursor, **named)
            owed = [(owed.agent_id, owed.session_key) for owed in answer.owed]
            yield jsontext.dumps([answer.body, answer.retry_after_s, owed, list(answer.drain)]).encode()
            cursor = answer.body["nextCursor"]
            if cursor is None:
                return

    def history(self, caller: Caller, request: HistoryRequest) -> bytes:
        try:
            return jsontext.dumps(read_history(self.world.store, caller, request)).encode()
        except SessionSearchError as e:
            return f"{type(e).__name__}: {e}".encode()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(deeds, st.sampled_from(sorted(CALLERS)))
def test_hidden_sessions_change_no_byte_of_any_answer(taken, caller):
    with small_bounds(), memory_folder() as folder:
        seas = [Sea(World(folder / str(hidden)), with_hidden=hidden) for hidden in (False, True)]
        for sea in seas:
            for number, (hidden, pick, act, text) in enumerate(taken):
                sea.does(number, hidden, pick, act, text)

        alone, among = (list(sea.told(CALLERS[caller])) for sea in seas)

        assert among == alone
        for sea in seas:
            sea.world.store.close()
