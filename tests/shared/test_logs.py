"""Log lines: JSON, one a record, whatever stands in them."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from shared.logs import configure_logs


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    configure_logs(stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_record_is_one_json_line_with_its_keys(lines):
    logging.getLogger("worker.tasks").info("session reconciled", extra={"agent_id": "ada", "entries": 41, "duration_ms": 12, "error": None})

    told = json.loads(lines.getvalue())

    assert told.pop("time").endswith("Z")
    assert told == {
        "level": "info",
        "logger": "worker.tasks",
        "message": "session reconciled",
        "agent_id": "ada",
        "entries": 41,
        "duration_ms": 12,
    }


def test_control_characters_and_line_separators_cannot_break_a_line(lines):
    logging.getLogger("x").warning("odd", extra={"session_key": "a\nb\r\u2028\x1b[31m\x00"})

    text = lines.getvalue()

    assert text.count("\n") == 1
    assert text.isascii()
    assert not any(ord(c) < 32 for c in text.rstrip("\n"))


def test_an_unexpected_error_is_told_by_type_and_place_and_never_by_its_words(lines):
    def parse(text: str) -> None:
        raise ValueError(f"cannot parse {text}")

    try:
        parse("what the user said")
    except ValueError:
        logging.getLogger("x").exception("work failed")

    told = json.loads(lines.getvalue())
    assert told["raised"].startswith("ValueError at ")
    assert "shared/test_logs.py:" in told["raised"]
    assert "user said" not in lines.getvalue()
