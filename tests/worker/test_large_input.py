"""A transcript of 64 MiB, taken in by the real command in bounded memory; `python -m tests.large_input` does it with gigabytes."""

from tests.large_input import check


def test_a_large_file_with_many_branches_is_imported_whole_in_bounded_memory(tmp_path):
    assert list(check(tmp_path, mib=64, branches=2_000)) == []
