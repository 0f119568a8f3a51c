"""Codex's threads that go on in another rollout: after a revert from the middle of the first, in a fork by reference to it."""

import json
from functools import partial
from pathlib import Path

import pytest
import zstandard

from tests.conftest import World
from worker.importing import import_paths

NOW_MS = 1_790_000_000_000


def page(folder: Path, rollout: str, thread: str, words: str, base: tuple[str, int] | None = None, **meta: str) -> Path:
    """A rollout of one turn a word; a record has the number that follows those of its base."""
    number = base[1] if base else 0
    history = {"history_base": {"thread_id": base[0], "end_ordinal_exclusive": base[1], "end_byte_offset": 9}} if base else {}
    records = [("session_meta", {"id": thread, "history_mode": "paginated", **history, **meta})]
    for word in words.split():
        records += [
            ("event_msg", {"type": "task_started"}),
            ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": word}]}),
            ("response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"re {word}"}]}),
            ("event_msg", {"type": "task_complete"}),
        ]
    path = folder / f"rollout-2026-01-01T00-00-0{len(list(folder.iterdir()))}-{rollout}.jsonl"
    lines = [
        {"timestamp": f"2026-01-01T00:00:{n + number:02}Z", "ordinal": n + number, "type": kind, "payload": payload}
        for n, (kind, payload) in enumerate(records)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def before_turn(number: int) -> int:
    """The number of the record with which the n-th turn of a first rollout begins."""
    return 1 + 4 * (number - 1)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def take(world, folder):
    return partial(import_paths, world.store, "codex", [folder], agent="ada", now_ms=NOW_MS)


def said(world: World, thread: str) -> str:
    session = world.session("ada", f"agent:ada:{thread}")
    session.reconcile()
    assert world.verify() == []
    return " ".join(message["text"] for message in session.history()["messages"] if message["role"] == "user")


@pytest.mark.parametrize("between", [True, False], ids=["imported before and after", "imported once"])
def test_a_reverted_thread_goes_on_from_where_it_was_reverted_to(between, world, folder, take):
    """What was said after a revert had the line numbers of what was taken back, and was left out for that."""
    page(folder, "r1", "t", "one two three")
    if between:
        take()

    page(folder, "r2", "t", "four", ("r1", before_turn(3)))
    report = take()

    assert (report.exit_code, report.skipped, [line for file in report.files for line in file.lines()]) == (0, 0, [])
    assert said(world, "t") == "one two four"
    assert world.session("ada", "agent:ada:t").found("three") == []
    assert take(again=True).total("added") == 0


def test_a_revert_alone_takes_back_what_it_takes_back(world, folder, take):
    page(folder, "r1", "t", "one two")
    page(folder, "r2", "t", "", ("r1", before_turn(1)))

    take()

    assert said(world, "t") == ""


def test_a_thread_reverted_again_and_again_is_followed_through_all_its_rollouts(world, folder, take):
    packed = page(folder, "r1", "t", "one two three")
    page(folder, "r2", "t", "four five", ("r1", before_turn(3)))
    page(folder, "r3", "t", "six", ("r2", before_turn(3) + 1 + 4))
    packed.with_name(packed.name + ".zst").write_bytes(zstandard.ZstdCompressor().compress(packed.read_bytes()))
    packed.unlink()

    take()

    assert said(world, "t") == "one two four six"
    assert take(again=True).total("added") == 0


def test_a_fork_by_reference_holds_its_own_words_all_of_them(world, folder, take):
    page(folder, "r1", "t", "one two")
    page(folder, "r2", "f", "two three", ("r1", before_turn(2)), forked_from_id="t")

    report = take()

    assert [line for file in report.files for line in file.lines()] == []
    assert said(world, "t") == "one two"
    assert said(world, "f") == "two three"


def test_a_rollout_whose_first_is_nowhere_is_told_and_loses_nothing(world, folder, take):
    page(folder, "r2", "t", "four", ("r1", 9))

    report = take()

    assert (report.exit_code, report.total("added")) == (0, 2)
    assert any("'r1' is not there" in line for file in report.files for line in file.lines())
    assert said(world, "t") == "four"


def test_rollouts_that_claim_to_go_on_from_each_other_are_read_to_their_ends(world, folder, take):
    page(folder, "r1", "t", "one", ("r2", 99))
    page(folder, "r2", "t", "two", ("r1", 199))

    assert take().exit_code == 0
    assert "two" in said(world, "t")


def test_the_first_rollout_is_found_in_another_days_folder_and_in_the_archive(world, tmp_path):
    days = [tmp_path / "archived_sessions", tmp_path / "sessions" / "2026" / "01" / "02"]
    for day in days:
        day.mkdir(parents=True)
    page(days[0], "r1", "t", "one two")
    page(days[1], "r2", "t", "three", ("r1", before_turn(2)))

    import_paths(world.store, "codex", days, agent="ada", now_ms=NOW_MS)

    assert said(world, "t") == "one three"
