"""The table of the benchmark, its options, and what its exit code tells."""

import pytest

from bench.__main__ import parse
from bench.figures import Row, guarded, ms, percentile
from bench.table import exit_code, render


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([1.0], 0.95, 1.0), ([1.0, 2.0], 0.5, 1.0), ([float(n) for n in range(1, 101)], 0.95, 95.0), ([3.0, 1.0, 2.0], 1.0, 3.0)],
)
def test_a_percentile_is_a_value_that_was_measured(values, share, expected):
    assert percentile(values, share) == expected


def test_times_are_shown_with_the_digits_that_matter():
    assert ms([0.1234, 0.1234]) == "0.12 / 0.12 ms"
    assert ms([1234.5]) == "1,234 / 1,234 ms"


def test_the_columns_of_the_table_stand_under_each_other_in_every_script():
    lines = render([Row("1", "search 渡轮", ours="1 ms", reached=True), Row("10", "size", ours="2 ms", reached=False)]).split("\n")

    assert len(lines) == 4
    assert lines[2].endswith("| yes     |") and lines[3].endswith("| MISSED  |")
    assert len({line.count("|") for line in lines}) == 1
    assert len(lines[0]) == len(lines[1]) == len(lines[3]) == len(lines[2]) + 2


def test_a_row_that_could_not_be_measured_is_told_and_fails_the_run():
    def broken() -> list[Row]:
        raise RuntimeError("no port")

    rows = guarded("7", "rewind", broken)

    assert "did not run: RuntimeError: no port" in render(rows)
    assert exit_code(rows) == 1


def test_a_missed_target_is_printed_and_is_no_failure():
    row = Row("1", "search", reached=False, notes=["by half a millisecond"])

    assert "MISSED" in render([row]) and render([row]).endswith("1: by half a millisecond")
    assert exit_code([row]) == 0


def test_quick_is_small_and_full_has_the_size_of_the_targets(tmp_path):
    quick, _ = parse(["--quick"])
    usual, _ = parse([])
    full, where = parse(["--full", "--json", str(tmp_path / "figures.json"), "--seed", "4"])

    assert (quick.messages, usual.messages, full.messages) == (10_000, 100_000, 1_000_000)
    assert full.full and not usual.full
    assert (full.seed, where) == (4, tmp_path / "figures.json")


def test_some_rows_can_be_asked_for():
    options, _ = parse(["--quick", "--only", "1, 4,r"])

    assert options.only == {"1", "4", "R"}


@pytest.mark.parametrize("arguments", [["--only", "14"], ["--only", ""], ["--quick", "--full"], ["--messages", "10"]])
def test_what_cannot_be_measured_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(arguments)

    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err
