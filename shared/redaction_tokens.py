"""Secrets that show by their own form: provider prefixes, other fixed shapes, private-key blocks, card numbers.

Every rule is looked for from one rare character outwards, with bounded or possessive repetition, so that the time is
that of one pass over the text.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from shared.redaction_rules import BASE64, CARD_ISSUERS, DOTTED, FAMILIES, NEARBY_WORDS, SHAPES, Family
from shared.redaction_values import DIGEST, PARTS, UUID, random_looking
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
    return re.compile(rf"{re.escape(separator)}(?={_WORD}{{8}})(?=[a-z_\-]{{0,48}}+[A-Z0-9])(?:{before})")


def _lookbehind(key: str) -> str:
    bound = f"(?<![A-Za-z0-9]{re.escape(key)})" if key in _WEAK_KEYS else ""
    return f"(?<={re.escape(key)}){bound}"


_ANCHORS = tuple((separator, _sought(separator)) for separator in "-_.~")
# Each alternative begins with a plain character, which lets the engine skip to it, and ends with an empty group that tells which it was.
_SHAPE = re.compile("|".join(f"{pattern}()" for _, pattern in SHAPES))
_RUN_LENGTH = 15  # every family and shape holds that many letters, digits, _ and - in a row
_LONG = b"a" * _RUN_LENGTH
_RUN = re.compile(rf"{_WORD}*+")
_NO_TOKEN = re.compile(r"(?:[A-Za-z_\-]*+|[0-9a-f\-]*+)\Z")  # names, uuids, hashes, rulers
# Those that may have no digit all the same.
_ALL_LETTERS = re.compile(r"(?:hf_|gh[pousr]_|npm_|gsk_|sk-|xox[a-z]-|glpat-|eyJ|AIza)[A-Za-z_\-]{12}|A[KS]IA[A-Z]{12}")
_TOKEN = re.compile(r"[A-Za-z0-9_\-.+/=~]*+")
_WRITTEN_ON = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/~"
_REACH = 64  # how far before a long run its token may begin


INVISIBLE_MARK = b"\x01"
_MARKS = bytes(
    ord("a") if (chr(b).isalpha() and b < 128) or b == ord("_") else ord("0") if 48 <= b < 58
    else ord("-") if b == ord("-") else 1 if (b < 32 and b not in b"\t\n\r") or 127 <= b < 160 or b == 0xAD else ord(" ")
    for b in range(256)
)  # fmt: skip


class Reading(NamedTuple):
    """A text with the two copies that searches run on, every character at its place.

    marks: a byte for each character: a letter or _ as "a", a digit as "0", a dash as itself, an invisible one as 1, all else a space.
    low: A to Z in lower case; in text beyond ASCII what is not Latin-1 shows as a question mark.
    """

    text: str
    marks: bytes
    low: str


def reading(text: str) -> Reading:
    raw = text.encode("latin-1", "replace")
    return Reading(text, raw.translate(_MARKS), text.lower() if text.isascii() else raw.lower().decode("latin-1"))


def by_form(read: Reading) -> list[Found]:
    """Everything in the text that shows by its own form; spans may overlap."""
    found: list[Found] = []
    runs = read.marks.replace(b"0", b"a").replace(b"-", b"a")
    if _LONG in runs:
        found += _tokens(read.text, runs)
        if "PRIVATE KEY" in read.text:
            found += _private_keys(read.text)
    if b"0000" in read.marks:
        found += _cards(read.text, read.marks)
    return found


def _tokens(text: str, runs: bytes) -> list[Found]:
    """Tokens with a provider's prefix, other fixed shapes, and random runs that are called secrets."""
    found: list[Found] = []
    for run, start, end in _windows(text, runs):
        before = len(found)
        for separator, sought in _ANCHORS:
            found += _prefixes(text, start, end, separator, sought)
        for shape in _SHAPE.finditer(text, start, end):
            if not is_stand_in(shape.group()):
                label = SHAPES[(shape.lastindex or 1) - 1][0]
                found.append(Found(reach_back(text, shape.start()), shape.end(), FORM, label))
                if label in _ACCOMPANIED and (other := _COMPANION.match(text, shape.end())):
                    found.append(Found(*other.span(1), FORM, label.replace("-sid", "-key")))
        if len(found) == before and (secret := _pointed_at(text, run, end)):
            found.append(secret)
    return found


_ACCOMPANIED = ("aws-access-key", "twilio-sid", "twilio-key")  # ids that are written with the secret that goes with them
_COMPANION = re.compile(r"[^A-Za-z0-9]{1,8}(?:[A-Za-z_]{1,30}+[^A-Za-z0-9]{1,8})?([A-Za-z0-9/+]{40}|[0-9a-f]{32})(?![A-Za-z0-9/+])")
_NEARBY = frozenset(NEARBY_WORDS)
_FILLING = frozenset(("is", "was", "to", "key", "token", "secret", "value", "set", "string", "code", "hash"))  # between one and the value


def _pointed_at(text: str, run: int, end: int) -> Found | None:
    """A random run that the words right before it call a secret."""
    before = text[max(0, run - 64) : run]
    token = len(before.rstrip(_WRITTEN_ON))
    pointers = PARTS.findall(before[max(0, token - 48) : token].rpartition("\n")[2].lower())[-3:]
    while pointers and pointers[-1] in _FILLING and pointers[-1] not in _NEARBY:
        pointers.pop()
    if not pointers or not _NEARBY.intersection(pointers[-2:]) or before[token - 1 : token].isalnum():
        return None
    start = run - len(before) + token
    value = text[start:end].rstrip("=.")
    if not random_looking(value, 16) or DIGEST.fullmatch(value) or UUID.fullmatch(value) or is_stand_in(value):
        return None
    return Found(start, end, ASSIGNED, "secret")


def _windows(text: str, runs: bytes) -> Iterator[tuple[int, int, int]]:
    """Long runs that are no names and no hashes: where one begins, where its token may begin, where that ends; ascending."""
    at = runs.find(_LONG)
    while at >= 0:
        end = _RUN.match(text, at).end()  # type: ignore[union-attr]
        if text[at - 1 : at] == "." or not _NO_TOKEN.match(text, at, end) or _ALL_LETTERS.search(text, at, end):
            end = _TOKEN.match(text, end).end()  # type: ignore[union-attr]
            yield at, max(0, at - _REACH), end
        at = runs.find(_LONG, end)


def _prefixes(text: str, at: int, end: int, separator: str, sought: re.Pattern[str]) -> Iterator[Found]:
    barren = 0  # up to here nothing looked random, so that no shorter rest will
    while (at := text.find(separator, at, end)) >= 0 and (anchor := sought.search(text, at, end)):
        at = anchor.end()
        for start, opened, family in _opened(text, anchor.start()):
            if family.bounded and (opened < barren or (start and text[start - 1].isalnum())):
                continue
            body = _BODIES[family.body]
            stop = body.match(text, opened, opened + _MAX_CHECKED).end()  # type: ignore[union-attr]  # it matches nothing too
            if plausible(text[opened:stop], family.least, family.bounded):
                at = body.match(text, opened).end()  # type: ignore[union-attr]
                yield Found(start, at, FORM, family.label)
                break
            if family.bounded:
                barren = stop


def _opened(text: str, anchor: int) -> Iterator[tuple[int, int, Family]]:
    """The prefixes whose last separator is at the anchor: where they begin, where they end, what they open."""
    for length in _KEY_LENGTHS:
        start = anchor + 1 - length
        if start >= 0 and text[start : anchor + 1] in _KEYS and (opening := _OPENING.match(text, start)):
            yield start, opening.end(), _FAMILY_OF[opening.group()]


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
_ARMOUR = rf"(?:[A-Z][A-Za-z\-]{{2,30}}+: [^\n\\]{{0,200}}+{_GAP})*+"  # Proc-Type: and the like
_BLOCK = re.compile(rf"{_GAP}{_ARMOUR}(?:[A-Za-z0-9+/=]{{12,}}+{_GAP})++(?:[A-Za-z0-9+/]{{1,11}}={{0,2}}(?=\s*+\Z))?")
_KEY_LINE = re.compile(r"[ \t>|]*+[A-Za-z0-9+/=]{4,}+[ \t]*+")
_MATERIAL = re.compile(r"[A-Za-z0-9+/]{12}")


def _private_keys(text: str) -> Iterator[Found]:
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
    r"(?<![A-Za-z0-9_.+\-])(?:[0-9]{13,19}+|[0-9]{4}([ \-])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}+|[0-9]{4}([ \-])[0-9]{6}\2[0-9]{4,5}+)"
    r"(?![A-Za-z0-9_]|\.[0-9])"
)
_ISSUERS = tuple((re.compile(digits), frozenset(lengths)) for digits, lengths in CARD_ISSUERS)
_CARD_FORMS = (b"0" * 13, b"0000 0000 0000 0", b"0000-0000-0000-0", b"0000 000000 0000", b"0000-000000-0000")


def _cards(text: str, marks: bytes) -> Iterator[Found]:
    """Card numbers: a known issuer's first digits and length, and a check digit that is right."""
    for form in _CARD_FORMS:
        at = marks.find(form)
        while at >= 0:
            number = _CARD.match(text, at)
            if number and _is_card(number.group().replace(" ", "").replace("-", "")):
                yield Found(number.start(), number.end(), FORM, "card-number")
            at = marks.find(form, number.end() if number else _NUMBER.match(text, at).end())  # type: ignore[union-attr]


_NUMBER = re.compile(r"[0-9]++")


def _is_card(digits: str) -> bool:
    issued = any(first.match(digits) and len(digits) in lengths for first, lengths in _ISSUERS)
    return issued and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: str) -> bool:
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0
