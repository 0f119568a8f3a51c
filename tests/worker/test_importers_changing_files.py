"""A source that its program changes while it is read: nothing fails, nothing of the neighbours is lost, and the next import shows it as it is."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import World
from tests.worker.formats import KINDS, SESSION, Kind, Said
from worker.importers import FORMATS
from worker.importing import Importing

NOW_MS = 1_790_000_000_000
BEFORE = [Said(f"e{n}", "user" if n % 2 else "assistant", f"word{n} " + "x" * 8_000, n) for n in range(10, 22)]  # past any buffer
AFTER = [*BEFORE, *(Said(f"e{n}", "user", f"word{n}", n) for n in range(22, 25))]
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def take(world: World, kind: Kind, path: Path, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Imports the file; with its third event something else happens."""
    heard = iter(range(1_000_000))

    def beat() -> None:
        if next(heard) == 2:
            meanwhile()

    agent = "ada" if kind is not KINDS["openclaw database"] else None
    Importing(world.store, FORMATS[kind.format], agent, NOW_MS, beat=beat).take([path])


def shown(world: World) -> list[str]:
    [agent] = world.store.agent_ids()
    session = world.session(agent, f"agent:{agent}:{SESSION}")
    session.reconcile()
    assert world.verify(agent) == []
    return [message["text"].split()[0] for message in session.history()["messages"]]


def words(said: list[Said]) -> list[str]:
    return [s.text.split()[0] for s in said]


@each_kind
def test_a_source_written_anew_meanwhile_is_whole_after_the_next_import(kind, world, tmp_path):
    path = kind.write(tmp_path / "in", BEFORE)

    take(world, kind, path, lambda: kind.write(tmp_path / "in", AFTER) and None)
    take(world, kind, path)

    assert shown(world) == words(AFTER)


@each_kind
def test_a_source_replaced_meanwhile_by_another_file_of_its_name_is_whole_after_the_next_import(kind, world, tmp_path):
    path = kind.write(tmp_path / "in", BEFORE)
    kind.write(tmp_path / "new", AFTER)

    def replace() -> None:
        for file in [file for file in (tmp_path / "new").rglob("*") if file.is_file()]:
            (place := tmp_path / "in" / file.relative_to(tmp_path / "new")).parent.mkdir(parents=True, exist_ok=True)
            file.replace(place)

    take(world, kind, path, replace)
    take(world, kind, path)

    assert shown(world) == words(AFTER)


@each_kind
def test_a_source_cut_off_meanwhile_is_whole_once_it_is_there_again(kind, world, tmp_path):
    path = kind.write(tmp_path / "in", BEFORE)
    kept = shutil.copytree(tmp_path / "in", tmp_path / "kept")

    take(world, kind, path, lambda: os.truncate(path, path.stat().st_size // 2))
    shutil.rmtree(tmp_path / "in")
    shutil.copytree(kept, tmp_path / "in")
    take(world, kind, path)

    assert shown(world) == words(BEFORE)


@each_kind
def test_a_source_that_is_gone_meanwhile_is_no_failure_of_the_others(kind, world, tmp_path):
    path = kind.write(tmp_path / "in", BEFORE)
    kept = shutil.copytree(tmp_path / "in", tmp_path / "kept")

    take(world, kind, path, lambda: shutil.rmtree(tmp_path / "in"))
    shutil.copytree(kept, tmp_path / "in")
    take(world, kind, path)

    assert shown(world) == words(BEFORE)
