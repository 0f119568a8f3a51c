"""What commands share: settings, store and queue, the --json option, output that cannot be mistaken for the terminal's own codes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from shared import jsontext
from shared.config import Settings, read_settings
from shared.errors import BadRequest
from shared.queue import Queue
from shared.store import Store, open_store
from shared.transcript import time_of

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Adds --json, passed to the command as as_json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


@contextmanager
def opened() -> Iterator[tuple[Settings, Store, Queue]]:
    """The settings of the environment, with the data folder they name opened."""
    settings = read_settings()
    store, queue = open_store(settings), Queue(settings)
    try:
        yield settings, store, queue
    finally:
        queue.close()
        store.close()


def say(line: str = "") -> None:
    """One line on standard output, its control characters made visible."""
    click.echo(plain(line))


def say_json(value: Any) -> None:
    """One JSON value on standard output, on one line; what of a file's name is no UTF-8 becomes U+FFFD."""
    click.echo(jsontext.clean(json.dumps(value, ensure_ascii=False)))


def plain(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would obey; lone surrogates become U+FFFD."""
    text = " ".join(text.split("\n"))
    text = "".join(
        c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" if ord(c) < 256 else "\ufffd" if 0xD800 <= ord(c) < 0xE000 else c
        for c in text
    )
    return text


def for_people() -> bool:
    """Whether somebody looks at the output: then progress is drawn."""
    return sys.stdout.isatty()


def time_option(text: str | None, name: str) -> int | None:
    """A time given as ISO 8601 or as ms since 1970. raises: BadRequest."""
    if text is None:
        return None
    found = int(text) if text.isascii() and text.isdigit() and len(text) > 8 else time_of(text)
    if found is None:
        raise BadRequest(f"{name} must be an ISO 8601 time or milliseconds since 1970", name)
    return found
