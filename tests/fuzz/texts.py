"""Targets that need no file: JSON, events, times, cursors, queries."""

from shared import jsontext
from shared.analysis import analyse
from shared.cursors import seal, unseal
from shared.errors import BadCursor, BadQuery, BadRequest
from shared.excerpt import cut
from shared.matching import matcher
from shared.query import parse
from shared.searchable import message_items, message_text
from shared.transcript import MAX_TIME_MS, iso, read_event, time_of
from tests.shared.text_index import TextIndex

_KEY, _BOUND = b"k" * 32, ("ada", "agent:ada:main")


def json(data: bytes) -> None:
    """A JSON text is read or refused; what was read is written and read again as the same, in UTF-8."""
    try:
        value = jsontext.loads(data)
    except jsontext.BadJson as e:
        assert str(e)
        return
    written = jsontext.dumps(value)
    written.encode()
    assert jsontext.loads(written) == value


def event(data: bytes) -> None:
    """An object is an event or is refused by the name of a field; its text and its pieces can be stored and shown."""
    try:
        payload = jsontext.loads(data)
    except jsontext.BadJson:
        return
    if not isinstance(payload, dict):
        return
    try:
        read = read_event(payload, "events[0]")
    except BadRequest as e:
        assert e.field and e.field.startswith("events[0]")
        return
    assert read.time_ms is None or -MAX_TIME_MS - 1 <= read.time_ms <= MAX_TIME_MS
    assert read_event(jsontext.loads(jsontext.dumps(payload))) == read
    text, items = message_text(payload), message_items(payload)
    text.encode()
    "".join(item.text for item in items.items).encode()
    assert "\0" not in text
    if text:
        assert text == "\n".join(item.text for item in items.items if item.kind == "text")


def time(data: bytes) -> None:
    """Text or a number is a time that is shown and read again as itself, or no time."""
    text = data.decode("utf-8", "replace")
    for value in (text, _number(text)):
        time_ms = time_of(value)
        if time_ms is not None:
            assert -MAX_TIME_MS - 1 <= time_ms <= MAX_TIME_MS
            assert time_of(iso(time_ms)) == time_ms


def _number(text: str) -> object:
    try:
        return jsontext.loads(text)
    except jsontext.BadJson:
        return None


def cursor(data: bytes) -> None:
    """Nobody's bytes are a cursor; what was sealed comes back, and with any sign changed it does not."""
    text = data.decode("utf-8", "replace")
    try:
        unseal(_KEY, _BOUND, text)
        raise AssertionError("a cursor that nobody made")
    except BadCursor:
        pass
    sealed = seal(_KEY, _BOUND, [text])
    assert unseal(_KEY, _BOUND, sealed) == [text]
    place = len(data) % len(sealed)
    changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
    try:
        assert unseal(_KEY, _BOUND, changed) == [text]  # the last sign holds bits that stand for nothing
        assert place == len(sealed) - 1
    except BadCursor:
        pass


_index = TextIndex()


def query(data: bytes) -> None:
    """A line that is typed is a query or a BadQuery; FTS5 takes every expression, and finds the text below it when its words are there."""
    typed, _, text = data.decode("utf-8", "replace").partition("\n")
    try:
        asked = parse(typed)
    except BadQuery as e:
        assert str(e)
        return
    assert asked.interpreted and asked.terms
    analysed = analyse(text)
    _index.only(text)
    for mode in ("all", "any"):
        wanted = matcher(asked, mode)
        for source in wanted.sources:
            _index.found(source.match)
        if not wanted.sources:
            continue
        found = bool(_index.found(wanted.whole))
        assert found or not wanted.holds(analysed), (typed, text, mode)
        assert asked.checked or found == wanted.holds(analysed), (typed, text, mode)
        _excerpt(text, wanted.terms)


def _excerpt(text: str, terms: object) -> None:
    for limit in (60, 300):
        piece = cut(text, terms, (), limit)  # type: ignore[arg-type]
        assert len(piece.text) <= limit
        edges = [0, *(edge for span in piece.highlights for edge in span), len(piece.text)]
        assert edges == sorted(edges)
        assert all(start < end for start, end in piece.highlights)
