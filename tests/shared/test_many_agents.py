"""A search over more agents than the process may have files open: some databases are opened for each reading, and nothing is lost by it."""

import json
import subprocess
import sys

import pytest

from shared.store import search as statements
from shared.visibility import Caller
from tests.conftest import World, ids

ADA = Caller("a0", "agent:a0:main")
LAST = "SELECT 1 FROM sessions WHERE session_key = 'agent:a11:main'"

FEW_FILES = """
import json, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
from shared.visibility import Caller
from tests.conftest import World
world = World(Path(sys.argv[1]), visibility="all", agent_to_agent=frozenset({"*"}))
for n in range(60):
    world.session(f"a{n}").append(f"m{n}", f"the ferry {n}")
hits = world.pages(Caller("a0", "agent:a0:main"), "ferry", limit=7)
print(json.dumps([hit["messageId"] for hit in hits]))
"""


@pytest.fixture
def fleet(make_world) -> World:
    """Twelve agents that see each other, of which a request may keep two open."""
    world = make_world(visibility="all", agent_to_agent=frozenset({"*"}))
    world.store.held_at_once = 2
    for n in range(12):
        world.session(f"a{n}").append(f"m{n}", f"the ferry {n}").append(f"n{n}", "no ferry today")
    return world


def test_a_process_with_few_files_searches_many_agents(tmp_path):
    done = subprocess.run([sys.executable, "-c", FEW_FILES, str(tmp_path)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2_000:]
    assert sorted(json.loads(done.stdout)) == sorted(f"m{n}" for n in range(60))


@pytest.mark.parametrize("named", [{}, {"match": "any"}, {"order": "recent"}, {"group": "session"}])
def test_pages_over_databases_that_are_opened_for_each_reading_are_those_over_open_ones(fleet, named):
    few = fleet.pages(ADA, "ferry no", limit=5, **named)

    fleet.store.held_at_once = 100
    assert few == fleet.pages(ADA, "ferry no", limit=5, **named)
    assert few


def test_a_session_deleted_while_it_is_searched_is_left_out(fleet, monkeypatch):
    candidates = statements.candidates
    deleted = []

    def then_delete(conn, *given):
        found = candidates(conn, *given)
        if not deleted and conn.execute(LAST).fetchone():
            deleted.append(fleet.session("a11").delete())
        return found

    monkeypatch.setattr(statements, "candidates", then_delete)

    assert set(ids(fleet.search(ADA, "the ferry", match="all", limit=50))) == {f"m{n}" for n in range(11)}
    assert deleted


def test_a_rewind_after_a_database_was_looked_at_hides_what_it_left(fleet, monkeypatch):
    pending = statements.pending
    moved = []

    def then_rewind(conn, *given):
        found = pending(conn, *given)
        if not moved and conn.execute(LAST).fetchone():
            moved.append(fleet.session("a11").rewind("m11"))
        return found

    monkeypatch.setattr(statements, "pending", then_rewind)

    assert "n11" not in ids(fleet.search(ADA, "ferry", limit=50))
    assert moved
