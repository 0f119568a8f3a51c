"""Eight callers at once on real processes: each finds what it was answered, nobody is refused, and reconciliation gets its turn."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.callers import Caller, Counts, shown
from tests.crash.rig import Line, Rig

SETTLED_S = 10.0  # a second or less on an idle machine
KEY = "agent:agent0:rewound"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    for name in ("serve", "worker"):
        rig.start(name)
    yield rig
    rig.close()


def test_callers_find_what_was_answered_and_a_rewound_session_settles_beside_steady_appends_and_a_reindex(rig: Rig):
    line, counts, stop = Line(rig), Counts(), threading.Event()
    events = [{"type": "message", "id": f"e{n}", "message": {"role": "user", "content": f"mark e{n}"}} for n in range(300)]
    line.insist("append", agentId="agent0", sessionKey=KEY, events=events)
    callers = [Caller(rig, counts, number, 1, stop) for number in range(8)]
    for caller in callers:
        caller.start()
    time.sleep(0.5)

    line.insist("reindex", kind="operator", path="/v1/ops/", all=True, force=True)
    line.insist("rewind", agentId="agent0", sessionKey=KEY, toEventId="e1")
    begun = time.monotonic()
    named = {"query": "mark", "sessionKey": KEY, "caller": {"agentId": "agent0", "sessionKey": KEY}}
    while (found := line.insist("search", **named).body)["indexing"] and time.monotonic() < begun + SETTLED_S:
        time.sleep(0.05)
    time.sleep(1)
    stop.set()
    for caller in callers:
        caller.join()
    branches = [(key, branch, shown(line, caller.agent, key)) for caller in callers for key, branch in caller.sessions.items()]
    line.close()

    assert not found["indexing"]
    assert {hit["messageId"] for hit in found["results"]} == {"e0", "e1"}
    assert counts.faults == []
    assert (counts.broken, counts.refused) == (0, 0)
    assert min(counts.answered[verb] for verb in ("append", "rewind", "search")) > 5
    assert [(key, has) for key, branch, has in branches if has != branch] == []
