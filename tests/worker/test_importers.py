"""What every reader of files that only grow must do alike: lines, bad input, growth, memory."""

import json
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.errors import UnknownFormat
from shared.searchable import message_text
from shared.transcript import read_event
from worker.importers import FORMATS
from worker.importers.base import MAX_LINE_BYTES, Problems, raw_lines, safe_id

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
LINES = {  # a small session of each format: its head, and two lines of talk
    "openclaw": (
        [{"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00Z"}],
        [
            {"type": "message", "id": "e1", "parentId": None, "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "user", "content": "one"}},
            {"type": "message", "id": "e2", "parentId": "e1", "timestamp": "2026-01-01T00:00:02Z", "message": {"role": "assistant", "content": "two"}},
        ],
    ),
    "claude-code": (
        [],
        [
            {"type": "user", "uuid": "e1", "parentUuid": None, "sessionId": "s1", "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "user", "content": "one"}},
            {"type": "assistant", "uuid": "e2", "parentUuid": "e1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:02Z", "message": {"role": "assistant", "content": "two"}},
        ],
    ),
    "codex": (
        [{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s1"}}],
        [
            {"timestamp": "2026-01-01T00:00:01Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}},
            {"timestamp": "2026-01-01T00:00:02Z", "type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]}},
        ],
    ),
}
each_format = pytest.mark.parametrize("name", LINES)


def body(name, extra=(), eol="\n"):
    head, talk = LINES[name]
    return "".join((line if isinstance(line, str) else json.dumps(line)) + eol for line in [*head, *talk, *extra]).encode()


def read(name, path):
    """Every session of the file as (source, events), and what was reported."""
    problems = Problems()
    sessions = [(source, list(source.events)) for source in FORMATS[name].read(path, problems)]
    return sessions, problems


def read_bytes(name, tmp_path, data):
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    return read(name, path)


def reasons(problems):
    return [(problem.line, problem.reason) for problem in problems.found]


@each_format
def test_a_session_is_read_whole(name, tmp_path):
    [(source, events)], problems = read_bytes(name, tmp_path, body(name))

    assert source.session_id == "s1"
    assert [event["message"]["role"] for event in events] == ["user", "assistant"]
    assert reasons(problems) == []


@each_format
def test_every_event_has_an_id_and_is_one_that_the_store_takes(name):
    for path in sorted((FIXTURES / name).rglob("*.jsonl")):
        for _, events in read(name, path)[0]:
            assert all(read_event(event).id for event in events)
            assert len({event["id"] for event in events}) == len(events)


@each_format
def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_text(name, tmp_path):
    plain, _ = read_bytes(name, tmp_path, body(name))

    sessions, problems = read_bytes(name, tmp_path, b"\xef\xbb\xbf" + body(name, eol="\r\n"))

    assert [events for _, events in sessions] == [events for _, events in plain]
    assert reasons(problems) == []


@each_format
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(name, mark, tmp_path):
    data = body(name).decode().replace("one", f"o{mark}ne").encode()

    [(_, events)], problems = read_bytes(name, tmp_path, data)

    assert [message_text(event) for event in events] == [f"o{mark}ne", "two"]
    assert reasons(problems) == []


@each_format
def test_a_torn_last_line_waits_and_is_no_error(name, tmp_path):
    whole = body(name)
    cut = whole[: whole.rindex(b"two") - 1]

    [(_, events)], problems = read_bytes(name, tmp_path, cut)

    assert len(events) == 1
    assert problems.skipped == 0
    assert [problem.text("a.jsonl") for problem in problems.found] == [f"a.jsonl:{cut.count(10) + 1}: line is incomplete and waits for the rest"]


@each_format
def test_a_last_line_without_its_line_feed_counts_when_it_is_whole(name, tmp_path):
    [(_, events)], problems = read_bytes(name, tmp_path, body(name).removesuffix(b"\n"))

    assert len(events) == 2
    assert reasons(problems) == []


@each_format
@pytest.mark.parametrize("line", [b"not json", b'{"type":"\xff\xfe"}', b"[1, 2]", b'"text"', b'{"type": NaN}', b"[" * 100_000, b'{"type":'])
def test_a_bad_line_is_reported_with_its_number_and_passed_over(name, line, tmp_path):
    head, _ = LINES[name]
    whole = body(name)

    [(_, events)], problems = read_bytes(name, tmp_path, whole + line + b"\n" + b"\n")

    assert len(events) == 2
    assert problems.skipped == 1
    assert [number for number, _ in reasons(problems)] == [len(head) + 3]


@each_format
def test_a_grown_file_gives_the_same_events_and_its_new_part(name):
    for path in sorted((FIXTURES / name).rglob("*.jsonl")):
        [(_, whole), *_] = read(name, path)[0]
        lines = path.read_bytes().splitlines(keepends=True)
        for count in range(len(LINES[name][0]) + 2, len(lines)):
            grown = _events_of(name, path, b"".join(lines[:count]))
            assert grown == whole[: len(grown)]


def _events_of(name, path, data):
    """The main session of these bytes under the fixture's name, in a folder like its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, *path.relative_to(FIXTURES).parts)
        place.parent.mkdir(parents=True)
        place.write_bytes(data)
        sessions = read(name, place)[0]
        return sessions[0][1] if sessions else []


@each_format
def test_a_file_of_another_format_is_refused_before_anything_is_read_from_it(name, tmp_path):
    others = [body(other) for other in LINES if other != name]
    foreign = [b'{"role": "user", "content": "x"}\n', b"# a chat\n\n> hello\n", b'[\n  {"role": "user"}\n]\n', b"\xff\xfe\x00", b"\n\n", b'{"type":"\xff"}\n']
    for data in [*others, *foreign]:
        with pytest.raises(UnknownFormat, match=r"a\.jsonl"):
            read_bytes(name, tmp_path, data)


@each_format
def test_a_line_beyond_the_limit_is_passed_over_in_bounded_memory(name, tmp_path):
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(body(name))
        file.write(b'{"type": "message", "text": "' + b"x" * (MAX_LINE_BYTES * 4) + b'"}\n')
        file.write(body(name).splitlines(keepends=True)[-1].replace(b"e2", b"e3").replace(b"e1", b"e2"))
    tracemalloc.start()

    [(_, events)], problems = read(name, path)

    assert tracemalloc.get_traced_memory()[1] < MAX_LINE_BYTES * 3
    tracemalloc.stop()
    assert len(events) == 3
    assert reasons(problems) == [(len(LINES[name][0]) + 3, "line skipped: longer than 16 MiB")]


@each_format
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.lists(st.binary(max_size=40) | st.sampled_from([b"\n", b"{", b'{"type":"message"}', b"null"]), max_size=12))
def test_no_bytes_make_a_reader_fail(name, data, tmp_path):
    for content in (b"".join(data), body(name) + b"\n".join(data)):
        try:
            read_bytes(name, tmp_path, content)
        except UnknownFormat:
            assert not content.startswith(body(name))


fields = st.sampled_from(
    ["type", "id", "parentId", "timestamp", "message", "role", "content", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "payload", "text", "isSidechain", "attachment", "forkedFrom", "source", "call_id", "arguments", "output", "num_turns", "targetId", "summary", "leafUuid", "prompt", "commandMode", "subtype"]
)
words = st.sampled_from(
    ["message", "user", "assistant", "system", "session", "response_item", "event_msg", "session_meta", "function_call", "function_call_output", "reasoning", "thread_rolled_back", "user_message", "leaf", "attachment", "queued_command", "compact_boundary", "summary", "e1", "e2", "s1", "text", "progress", "compacted", ""]
)
values = st.recursive(
    words | st.none() | st.booleans() | st.integers(-2, 10) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=6),
    max_leaves=15,
)


@each_format
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(objects=st.lists(st.dictionaries(fields, values, max_size=8), max_size=6))
def test_no_json_makes_a_reader_fail_or_give_what_the_store_refuses(name, objects, tmp_path):
    sessions, _ = read_bytes(name, tmp_path, body(name, objects))

    for _, events in sessions:
        for event in events:
            assert read_event(event).id
        assert len({event["id"] for event in events}) == len(events)


def test_line_numbers_and_offsets_hold_behind_a_line_too_long_to_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n" + b"x" * 50 + b"\ntwo\n")

    lines = list(raw_lines(path, max_bytes=10))

    assert [(line.number, line.offset, line.data) for line in lines] == [(1, 0, b"one"), (2, 4, None), (3, 55, b"two")]


@pytest.mark.parametrize("value", ["x" * 257, "ü" * 129, "a\nb", "a\0b", "\u202e"])
def test_an_id_that_cannot_be_one_becomes_a_hash_of_itself(value):
    assert safe_id(value) == safe_id(value) != value
    assert len(safe_id(value)) == 41


def test_an_id_within_its_bounds_stays():
    assert safe_id("x" * 256) == "x" * 256
