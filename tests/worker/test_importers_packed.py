"""Rollouts that Codex has packed: found, known again, refused by name when they are damaged, and unpacked in little memory."""

import json
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
import zstandard

from shared.searchable import message_text
from tests.worker.formats import codex as write_codex
from tests.worker.formats import talk
from worker.importers import FORMATS
from worker.importers.base import Problems
from worker.importing import import_paths, render_report


def packed(path: Path) -> Path:
    """The rollout as Codex leaves it after a week without use: packed beside it, and itself gone."""
    new = path.with_name(path.name + ".zst")
    new.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    path.unlink()
    return new


def test_a_rollout_that_was_packed_is_found_and_known(world, tmp_path):
    """Codex packs what was not used for a week; such sessions were never seen."""
    path = write_codex(tmp_path, talk("alpha", "beta"))
    take = partial(import_paths, world.store, "codex", [tmp_path], agent="ada", now_ms=1_790_000_000_000)
    assert take().total("added") == 2

    packed(path)

    again = take()
    assert [file.path.name for file in again.files] == ["a.jsonl.zst"]
    assert (again.exit_code, again.total("added"), again.total("known")) == (0, 0, 2)


def test_of_a_rollout_that_is_there_packed_and_not_the_one_that_goes_on_is_read(tmp_path):
    packed(write_codex(tmp_path, talk("alpha")))
    write_codex(tmp_path, talk("alpha", "beta"))

    assert [path.name for path in FORMATS["codex"].below(tmp_path)] == ["a.jsonl"]


def test_several_frames_are_one_file(tmp_path):
    path = packed(write_codex(tmp_path, talk("alpha")))
    first = path.read_bytes()
    more = write_codex(tmp_path, talk("alpha", "beta")).read_bytes().split(b"\n", 2)[2]
    path.write_bytes(first + zstandard.ZstdCompressor().compress(more))

    [source] = FORMATS["codex"].read(path, Problems())

    assert [message_text(event) for event in source.events] == ["alpha", "beta"]


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-9], lambda data: data[:30] + bytes([data[30] ^ 255]) + data[31:], lambda data: b"no zstd at all", lambda data: data + b"x"],
    ids=["cut off", "changed", "another", "followed by something"],
)
def test_a_packed_rollout_that_is_damaged_is_a_failure_that_names_it(damage, world, tmp_path):
    path = packed(write_codex(tmp_path, talk(*(f"text {n} {n * 7919}" for n in range(50)))))
    path.write_bytes(damage(path.read_bytes()))

    report = import_paths(world.store, "codex", [path], agent="ada", now_ms=1_790_000_000_000)

    assert report.exit_code == 1
    assert "the packed file is" in render_report(report)


def test_a_packed_file_that_unpacks_to_a_line_without_end_takes_little_memory(tmp_path):
    path = write_codex(tmp_path, talk("alpha"))
    path.write_bytes(path.read_bytes() + b"x" * (100 << 20) + b"\n" + path.read_bytes().split(b"\n")[1].replace(b"alpha", b"omega") + b"\n")
    packed(path)
    problems = Problems()

    tracemalloc.start()
    [source] = FORMATS["codex"].read(path.with_name("a.jsonl.zst"), problems)
    texts = [message_text(event) for event in source.events]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert texts == ["alpha", "omega"]
    assert [problem.line for problem in problems.found] == [3]
    assert peak < 90 << 20


def test_items_of_kinds_that_are_not_known_yet_are_no_damage(tmp_path):
    path = write_codex(tmp_path, talk("alpha"))
    unknown = {"timestamp": "2026-01-01T00:00:03Z", "ordinal": 3, "type": "world_state", "payload": {"tide": "low"}}
    path.write_text(path.read_text() + json.dumps(unknown) + "\n" + '{"type": "world_state"}\n')
    problems = Problems()

    [source] = FORMATS["codex"].read(path, problems)

    assert [message_text(event) for event in source.events] == ["alpha"]
    assert [(problem.line, problem.reason) for problem in problems.found] == [(4, "line skipped: not a rollout item")]
