"""Secrets that show by their own form: provider prefixes, other fixed shapes, private-key blocks, card numbers.

Every rule is looked for from one rare character outwards, with bounded or possessive repetition, so that the time is
that of one pass over the text.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from shared.redaction_rules import BASE64, CARD_ISSUERS, DOTTED, FAMILIES, SHAPES, Family
from shared.redaction_view import ragged


class Found(NamedTuple):
    """A half-open span to mask. Of spans that overlap the longest names the mask, then the one of higher rank."""

    start: int
    end: int
    rank: int
    label: str


EXACT, FORM, HEADER, ASSIGNED = 4, 3, 2, 1  # ranks

_FAMILY_OF = {prefix: family for family in FAMILIES for prefix in family.prefixes.split()}
_BY_LENGTH = sorted(_FAMILY_OF, key=len, reverse=True)
_OPENING = re.compile("|".join(map(re.escape, _BY_LENGTH)))
_WORD = r"[A-Za-z0-9_\-]"
_BODIES = {
    "word": re.compile(rf"{_WORD}*+"),
    DOTTED: re.compile(rf"{_WORD}*+(?:\.{_WORD}{{4,}}+)*+"),
    BASE64: re.compile(r"[A-Za-z0-9_\-+/]*+(?:\.[A-Za-z0-9_\-+/]{4,}+)*+={0,2}"),
}
_STAND_IN = re.compile(r"(?i:your[_\-]?|[_\-]here|x{6,}|placeholder|redacted|change[_\-]?me|<|\.{3}|\*{3})")
_SEPARATORS = re.compile(r"[_\-.+/=~]")
_MAX_CHECKED = 512  # characters of a token that are looked at to decide; an accepted token is masked to its end


def _key(prefix: str) -> str:
    """A prefix up to its last separator, which is where it is looked for."""
    return prefix[: max(prefix.rfind(c) for c in "-_.~") + 1]


_KEYS = {_key(prefix) for prefix in _FAMILY_OF}
_KEY_LENGTHS = sorted({len(key) for key in _KEYS}, reverse=True)
_WEAK_KEYS = {key for key in _KEYS if all(f.bounded for p, f in _FAMILY_OF.items() if _key(p) == key)}


def _sought(separator: str) -> re.Pattern[str]:
    """The pattern that finds the anchor of every prefix whose last separator is this one.

    A token's rest holds a capital or a digit soon; a name in lower case is none. The engine skips to the separator, and
    what stands before it is compared by its last character first.
    """
    keys = sorted((key for key in _KEYS if key[-1] == separator), key=lambda key: key[-2])
    groups = groupby(keys, key=lambda key: key[-2])
    before = "|".join(f"(?<={re.escape(last)}.)(?:{'|'.join(_lookbehind(key) for key in members)})" for last, members in groups)
    return re.compile(rf"{re.escape(separator)}(?=[A-Za-z0-9]{_WORD}{{7}})(?=[a-z_\-]{{0,48}}+[A-Z0-9])(?:{before})")


def _lookbehind(key: str) -> str:
    bound = f"(?<![A-Za-z0-9]{re.escape(key)})" if key in _WEAK_KEYS else ""
    return f"(?<={re.escape(key)}){bound}"


_ANCHORS = tuple((separator, _sought(separator)) for separator in "-_.~")
# Each alternative begins with a plain character, which lets the engine skip to it, and ends with an empty group that tells which it was.
_SHAPE = re.compile("|".join(f"{pattern}()" for _, pattern in SHAPES))
_LONG = b"a" * 16  # every shape holds a run of letters and digits of this length, or one of:
_TELLING = ("eyJ", "AIza", ":AA", "Q~")
_CLASSES = bytes(ord("a") if chr(b).isalnum() and b < 128 else b for b in range(256))
_ALNUM = re.compile(r"[A-Za-z0-9]*+")


def tokens(text: str) -> Iterator[Found]:
    """Tokens with a provider's prefix and other fixed shapes."""
    for separator, sought in _ANCHORS:
        if separator in text:
            yield from _prefixes(text, sought)
    for start, end in _windows(text):
        for shape in _SHAPE.finditer(text, start, end):
            if not is_stand_in(shape.group()):
                stop = _WORDS.match(text, shape.end()).end() if shape.end() == end else shape.end()  # type: ignore[union-attr]
                yield Found(reach_back(text, shape.start()), stop, FORM, SHAPES[(shape.lastindex or 1) - 1][0])


_WORDS = re.compile(r"[A-Za-z0-9_\-.+/=]*+")


def _windows(text: str) -> list[tuple[int, int]]:
    """Where a shape may be: around long runs of letters and digits and around what tells of one; ascending and apart."""
    classes = text.encode("latin-1", "replace").translate(_CLASSES)
    spots = []
    at = classes.find(_LONG)
    while at >= 0:
        end = _ALNUM.match(text, at).end()  # type: ignore[union-attr]
        spots.append((at, end))
        at = classes.find(_LONG, end)
    for telling in _TELLING:
        at = text.find(telling)
        while at >= 0:
            spots.append((at, at + len(telling)))
            at = text.find(telling, at + len(telling))
    return _apart(sorted(spots))


def _apart(spots: list[tuple[int, int]]) -> list[tuple[int, int]]:
    windows: list[tuple[int, int]] = []
    for start, end in spots:
        if windows and start - 24 <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(windows[-1][1], end + 120)
        else:
            windows.append((max(0, start - 24), end + 120))
    return windows


def _prefixes(text: str, sought: re.Pattern[str]) -> Iterator[Found]:
    at = 0
    while anchor := sought.search(text, at):
        at = anchor.end()
        if found := _prefixed(text, anchor.start()):
            at = found.end
            yield found


def _prefixed(text: str, anchor: int) -> Found | None:
    for length in _KEY_LENGTHS:
        start = anchor + 1 - length
        if start < 0 or text[start : anchor + 1] not in _KEYS:
            continue
        opening = _OPENING.match(text, start)
        if opening and (found := _judged(text, start, opening.end(), _FAMILY_OF[opening.group()])):
            return found
    return None


def _judged(text: str, start: int, body_start: int, family: Family) -> Found | None:
    if family.bounded and start and text[start - 1].isalnum():
        return None
    body = _BODIES[family.body]
    end = body.match(text, body_start, body_start + _MAX_CHECKED).end()  # type: ignore[union-attr]  # it matches nothing too
    if not plausible(text[body_start:end], family.least, family.bounded):
        return None
    return Found(start, body.match(text, body_start).end(), FORM, family.label)  # type: ignore[union-attr]


def plausible(body: str, least: int, bounded: bool) -> bool:
    """Whether what follows a prefix is a token's rest and neither a word nor a placeholder."""
    if len(body) < least or is_stand_in(body):
        return False
    if not bounded:
        return any(c.isdigit() for c in body) or (body.lower() != body and body.upper() != body)
    return any(len(part) >= 8 and ragged(part) for part in _SEPARATORS.split(body))


def is_stand_in(token: str) -> bool:
    return len(set(_SEPARATORS.sub("", token))) < 4 or _STAND_IN.search(token) is not None


def reach_back(text: str, at: int) -> int:
    """Where the token around `at` begins, at most 48 characters before; dots belong to it when a token's part is before them."""
    least = max(0, at - 48)
    while at > least and (text[at - 1].isalnum() or text[at - 1] in "_-" or (text[at] == "." and text[at - 1].isalnum())):
        at -= 1
    return at


_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_GAP = r"(?:\s|\\+[nrt]|[\"'+,>|])*+"
_BLOCK = re.compile(rf"{_GAP}(?:[A-Z][A-Za-z\-]{{2,30}}+: [^\n\\]{{0,200}}+{_GAP})*+(?:[A-Za-z0-9+/=]{{12,}}+{_GAP})++(?:[A-Za-z0-9+/]{{1,11}}={{0,2}}(?=\s*+\Z))?")
_KEY_LINE = re.compile(r"[ \t>|]*+[A-Za-z0-9+/=]{4,}+[ \t]*+")
_MATERIAL = re.compile(r"[A-Za-z0-9+/]{12}")


def private_keys(text: str) -> Iterator[Found]:
    """PEM, OpenSSH and PGP blocks, also without their last or first line."""
    at, closing = 0, _END.search(text)
    while opening := _BEGIN.search(text, at):
        while closing and closing.start() < opening.end():
            yield from _headless(text, at, closing)
            at = max(at, closing.end())
            closing = _END.search(text, closing.end())
        following = _BEGIN.search(text, opening.end())
        end = _block_end(text, opening, closing if closing and not (following and following.start() < closing.start()) else None)
        at = opening.end()
        if end:
            yield Found(opening.start(), end, FORM, "private-key")
            at = end
    while closing:
        yield from _headless(text, at, closing)
        at = max(at, closing.end())
        closing = _END.search(text, closing.end())


def _block_end(text: str, opening: re.Match[str], closing: re.Match[str] | None) -> int | None:
    if closing and closing.start() - opening.end() < 65536:
        return closing.end() if _MATERIAL.search(text, opening.end(), closing.start()) else None
    block = _BLOCK.match(text, opening.end())
    return opening.end() + len(block.group().rstrip(" \t\r\n\"'\\,")) if block else None


def _headless(text: str, least: int, closing: re.Match[str]) -> Iterator[Found]:
    """The lines of key material above an END line that has no BEGIN line."""
    start = closing.start()
    while start > least:
        line = text.rfind("\n", least, start - 1) + 1 or least
        if not _KEY_LINE.fullmatch(text[line : start].rstrip("\r\n")):
            break
        start = line
    if _MATERIAL.search(text, start, closing.start()):
        yield Found(start, closing.end(), FORM, "private-key")


_CARD = re.compile(
    r"(?<![A-Za-z0-9_.+\-])(?:[0-9]{13,19}+|[0-9]{4}([ \-])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}+|[0-9]{4}([ \-])[0-9]{6}\2[0-9]{4,5}+)(?![A-Za-z0-9_]|\.[0-9])"
)
_ISSUERS = tuple((re.compile(digits), frozenset(lengths)) for digits, lengths in CARD_ISSUERS)
_DIGITS = bytes(ord("0") if 48 <= b < 58 else ord(" ") if b in b" -" else ord("x") for b in range(256))
_CARD_FORMS = (b"0" * 13, b"0000 0000 0000 0", b"0000 000000 0000")


def cards(text: str) -> Iterator[Found]:
    """Card numbers: a known issuer's first digits and length, and a check digit that is right."""
    digits = text.encode("latin-1", "replace").translate(_DIGITS)
    for form in _CARD_FORMS:
        at = digits.find(form)
        while at >= 0:
            number = _CARD.match(text, at)
            if number and _is_card(number.group().replace(" ", "").replace("-", "")):
                yield Found(number.start(), number.end(), FORM, "card-number")
            at = digits.find(form, number.end() if number else _NUMBER.match(text, at).end())  # type: ignore[union-attr]


_NUMBER = re.compile(r"[0-9]++")


def _is_card(digits: str) -> bool:
    issued = any(first.match(digits) and len(digits) in lengths for first, lengths in _ISSUERS)
    return issued and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: str) -> bool:
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0
