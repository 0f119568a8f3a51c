"""A transcript file that has not changed is not read again; whatever may have changed is."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shared.sessions import delete_session, put_session, rewind_session
from tests.worker.test_importers_into_store import message, session, write
from worker.import_report import ImportReport
from worker.importers import FORMATS
from worker.importing import Importing, report_json

NOW_MS = 1_790_000_000_000
KEY = "agent:openclaw:s1"


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


class Reader:
    """Imports, and counts how many files were opened by the reader and how many events it gave."""

    def __init__(self, world, format_name="openclaw"):
        self.world, self.format_name = world, format_name

    def __call__(self, *paths, settle=True, **options) -> tuple[int, int]:
        """The files and events read."""
        if settle:
            time.sleep(0.06)  # a file that changed in this tick of the clock may change again unseen
        self.files = self.events = 0
        format_ = FORMATS[self.format_name]

        def read(path, problems):
            self.files += 1
            return format_.read(path, problems)

        work = Importing(self.world.store, replace(format_, read=read, forks=False), None, NOW_MS, beat=self.beat, **options)
        found = [file for path in paths for file in (format_.below(path) if path.is_dir() else [path])]
        self.report: ImportReport = work.take(found)
        return self.files, self.events

    def beat(self) -> None:
        self.events += 1


@pytest.fixture
def take(world):
    return Reader(world)


def test_an_unchanged_file_is_not_read_again_and_the_report_says_what_it_would_after_a_reading(take, files):
    path = write(files / "f.jsonl", session(), message("A", None), message("B", "A"))
    assert take(path) == (1, 2)
    assert take(path, again=True) == (1, 2)
    told = report_json(take.report)

    assert take(path) == (0, 0)
    assert report_json(take.report) == told
    assert told["known"] == 2


def test_what_was_read_is_known_to_the_next_process_too(take, files, world):
    path = write(files / "f.jsonl", session(), message("A", None))
    take(path)

    world.reopen()

    assert take(path) == (0, 0)


def test_a_grown_file_a_shortened_one_and_another_under_its_name_are_read(take, files, world):
    path = write(files / "f.jsonl", session(), message("A", None, "abcd"))
    take(path)

    write(path, session(), message("A", None, "abcd"), message("B", "A"))
    assert take(path) == (1, 2)
    write(path, session(), message("A", None, "abcd"))
    assert take(path) == (1, 1)
    other = write(files / "other", session(), message("X", None, "efgh"))
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    shutil.copy2(other, path)  # the same inode, size and time
    assert take(path) == (1, 1)
    other.replace(path)
    assert take(path) == (1, 1)
    assert take(path) == (0, 0)


def test_a_file_that_changed_just_now_is_read_once_more_for_its_time_may_not_tell_the_next_change(take, files):
    path = write(files / "f.jsonl", session(), message("A", None))
    take(path, settle=False)

    assert take(path) == (1, 1)
    assert take(path) == (0, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: rewind_session(world.store, "openclaw", KEY, "A", NOW_MS),
        lambda world: put_session(world.store, "openclaw", KEY, {"title": "Another"}, NOW_MS),
        lambda world: delete_session(world.store, "openclaw", KEY, NOW_MS),
    ],
    ids=["rewound", "named", "deleted"],
)
def test_a_file_whose_session_was_changed_here_is_read_as_ever(take, files, world, change):
    path = write(files / "f.jsonl", session(), message("A", None), message("B", "A"))
    take(path)

    change(world)

    assert take(path)[0] == 1


def test_an_agents_database_that_was_lost_or_put_back_from_a_copy_gets_everything_again(take, files, world):
    path = write(files / "f.jsonl", session(), message("A", None))
    take(path)
    database = world.store.agent_path("openclaw")
    world.store.close()
    copy = Path(shutil.copy(database, files / "copy"))
    world.reopen()
    write(path, session(), message("A", None), message("B", "A"))
    take(path)

    for replaced in (True, False):
        world.store.close()
        for file in database.parent.glob(database.name + "*"):
            file.unlink()
        if replaced:
            shutil.copy(copy, database)
        world.reopen()

        assert take(path)[0] == 1
        assert world.session("openclaw", KEY).found("word") == [] and take.report.total("added") == (1 if replaced else 2)


def test_a_file_with_something_to_remark_is_read_each_time_and_the_remark_told(take, files):
    path = write(files / "f.jsonl", session(), message("A", None))
    path.write_text(path.read_text() + "{ not json\n")
    take(path)

    assert take(path)[0] == 1
    assert take.report.skipped == 1


def test_a_name_that_openclaw_gives_a_session_arrives_though_its_transcript_has_not_changed(take, files, world):
    folder = files / "agents" / "skipper" / "sessions"
    for name in ("s1", "s2"):
        write(folder / f"{name}.jsonl", session(name), message(f"{name}-A", None))
    index = {f"agent:skipper:{name}": {"sessionId": name, "updatedAt": 1} for name in ("s1", "s2")}
    (folder / "sessions.json").write_text(json.dumps(index))
    take(folder)

    index["agent:skipper:s1"]["updatedAt"] = 2
    (folder / "sessions.json").write_text(json.dumps(index))
    assert take(folder) == (0, 0)  # it is written with every message
    index["agent:skipper:s2"]["displayName"] = "Harbour plans"
    (folder / "sessions.json").write_text(json.dumps(index))
    assert take(folder) == (1, 1)
    assert world.session("skipper", "agent:skipper:s2").listed()["title"] == "Harbour plans"


def test_of_a_database_of_many_transcripts_the_changed_ones_alone_are_read(world, files):
    take = Reader(world)
    path = files / "agents" / "skipper" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)

    def sql(statement: str, *rows: tuple) -> None:
        with closing(sqlite3.connect(path)) as conn, conn:
            conn.executemany(statement, rows or [()])

    sql(
        """
        CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, chat_type TEXT, spawned_by TEXT, display_name TEXT,
                                      created_at INTEGER, transcript_updated_at INTEGER)
        """
    )
    sql("CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, PRIMARY KEY (session_id, seq))")
    windows = [(f"s{n}", f"agent:skipper:{n}", None, None, None, n, 100) for n in range(5)]
    sql("INSERT INTO session_windows VALUES (?, ?, ?, ?, ?, ?, ?)", *windows)
    add = "INSERT INTO transcript_events VALUES (?, ?, ?, ?)"
    sql(add, *((f"s{n}", 0, json.dumps(session(f"s{n}")), 1) for n in range(5)))
    sql(add, *((f"s{n}", 1, json.dumps(message("A", None)), 1) for n in range(5)))
    assert take(path) == (1, 5)
    assert take(path) == (0, 0)

    sql(add, ("s3", 2, json.dumps(message("B", "A")), 2))
    sql("UPDATE session_windows SET transcript_updated_at = 101 WHERE session_id = 's3'")

    assert take(path) == (1, 2)
    assert (take.report.total("sessions"), take.report.total("added"), take.report.total("known")) == (5, 1, 5)
    sql("UPDATE transcript_events SET event_json = ? WHERE session_id = 's4' AND seq = 1", (json.dumps(message("A2", None)),))
    sql("UPDATE session_windows SET transcript_updated_at = 101 WHERE session_id = 's4'")
    assert take(path) == (1, 1)
    assert world.session("skipper", "agent:skipper:s4").found("word") == []
    world.session("skipper", "agent:skipper:s4").reconcile()
    assert world.session("skipper", "agent:skipper:s4").found("word") == ["A2"]


def test_a_file_is_read_for_another_agent_and_as_another_format_by_itself(world, files):
    path = write(files / "f.jsonl", session(), message("A", None))
    Reader(world)(path)
    time.sleep(0.06)

    report = Importing(world.store, FORMATS["openclaw"], "other", NOW_MS).take([path])

    assert report.total("added") == 1
    assert sorted(world.store.agent_ids()) == ["openclaw", "other"]
