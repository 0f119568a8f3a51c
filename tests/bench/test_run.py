"""The benchmark as it is run: real processes, one table, and nothing left behind. What it measures is no test's business."""

import json
import tempfile

from bench import search
from bench.__main__ import main
from bench.ground import Ground, Options


def test_a_row_is_measured_on_real_processes_and_nothing_is_left_behind(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work"))
    (tmp_path / "work").mkdir()

    code = main(["--quick", "--only", "7", "--no-peers", "--json", str(tmp_path / "figures.json")])

    (row,) = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert (code, row["number"], row["failed"]) == (0, "7", "")
    assert row["detail"]["hits of abandoned text"] == 0
    assert "rewind by 2 in a session of 5,000" in capsys.readouterr().out
    assert list((tmp_path / "work").iterdir()) == []


def test_searches_are_measured_for_every_class_and_every_caller_and_find_what_they_were_drawn_from(tmp_path):
    ground = Ground(Options(messages=1_000, samples=3), tmp_path)
    try:
        rows = search.rows(ground)
    finally:
        ground.close()

    assert {"search, rare", "search, commonest", "search, phrase", "search, two CJK", "search, question"} <= {row.what for row in rows}
    assert all(set(row.detail["sets"]) == {"1", "10", "1,000", "all"} for row in rows)
    assert [note for row in rows for note in row.notes if "found nothing" in note] == []
