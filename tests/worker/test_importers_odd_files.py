"""Paths that are no plain files, and names that no terminal and no JSON should get as they are."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from shared.errors import BadRequest
from worker.importers import FORMATS
from worker.importing import import_paths, render_report
from worker.places import watched

COMMAND = str(Path(sysconfig.get_path("scripts")) / "session-search")
NOW_MS = 1_790_000_000_000
SESSION = b'{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z"}\n'
MESSAGE = b'{"type": "message", "id": "a", "parentId": null, "message": {"role": "user", "content": "alpha"}}\n'


def session_search(data: Path, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "SESSION_SEARCH_DATA": str(data)}
    return subprocess.run([COMMAND, *arguments], env=env, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("name", FORMATS)
def test_a_pipe_or_a_device_is_refused_by_name_and_never_waited_for(name, world, tmp_path):
    """A pipe that nobody writes to kept the import waiting, and /dev/zero kept it reading, for ever."""
    os.mkfifo(pipe := tmp_path / "pipe.jsonl")

    report = import_paths(world.store, name, [pipe, Path("/dev/zero")], now_ms=NOW_MS)

    assert report.exit_code == 1
    assert render_report(report).count("neither a file nor a folder") == 2


def test_links_that_lead_nowhere_or_in_a_circle_keep_no_file_from_being_imported(world, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(SESSION + MESSAGE)
    (folder / "circle.jsonl").symlink_to("circle.jsonl")
    (folder / "nowhere.jsonl").symlink_to("/nowhere/at/all")
    (folder / "again").symlink_to(".")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")

    report = import_paths(world.store, "openclaw", [folder], now_ms=NOW_MS)

    assert (report.exit_code, report.total("added"), len(report.files)) == (0, 1, 1)


def test_names_that_are_no_utf_8_or_hold_line_ends_are_told_on_one_line_in_text_and_json(tmp_path):
    folder = os.fsencode(tmp_path / "in")
    os.mkdir(folder)
    for name, data in {b"good\xff.jsonl": SESSION + MESSAGE, b"bad\xff\n1 file, all imported\x1b[2J.jsonl": b"{nope\n"}.items():
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(data)

    told = session_search(tmp_path / "data", "import", "openclaw", folder)
    again = session_search(tmp_path / "data", "import", "openclaw", folder, "--json")

    assert told.returncode == again.returncode == 1
    lines = told.stdout.decode("utf-8").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("2 files, 1 session: 1 event added")
    assert "\x1b" not in lines[1]
    [failed] = json.loads(again.stdout.decode("utf-8"))["failedFiles"]
    assert "bad\N{REPLACEMENT CHARACTER}\n1 file" in failed["path"]


def test_an_empty_path_is_a_wrong_call_and_not_the_folder_one_stands_in(tmp_path):
    """`import claude-code "$UNSET"` imported whatever lay below the current folder."""
    ended = session_search(tmp_path / "data", "import", "openclaw", "")

    assert ended.returncode == 2
    assert b"a path is empty" in ended.stderr
    with pytest.raises(BadRequest, match="a path is empty"):
        watched(["openclaw", ""])
