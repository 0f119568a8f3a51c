"""Text without the differences that a search ignores: case, width, ligatures, accents, vowel marks, invisible characters.

Invariant: folding a text equals folding its segments one by one and joining them, so that what is folded fast and as
a whole for the index can be traced back character by character (`origins`) for an excerpt.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from shared.scripts import BREAK, FLAG_END, Kind, char_set

# Dropped as if never typed: invisible characters, and the Arabic stretching stroke with the isolated forms of vowel marks.
_DROPPED_NEAR, _DROPPED_FAR = char_set(
    r"[\p{Default_Ignorable_Code_Point}\u0640\ufc5e-\ufc63\ufcf2-\ufcf4\ufe70-\ufe72\ufe74\ufe76-\ufe7f]"
)
# Accents that stand alone decompose to a space and a mark and would split a word; each becomes a sign instead.
_CARETS = (
    "\u00a8\u00af\u00b8\u02d8\u02d9\u02db\u02dd\u037a\u0384\u0385\u1fc0\u1fc1\u1fcd\u1fce\u1fcf\u1fdd\u1fde\u1fdf\u1fed\u1fee\u1ffe"
    "\u203e\ufe49\ufe4a\ufe4b\ufe4c\uffe3"
)
_SIGNS = dict.fromkeys("\u00b4\u1fbd\u1fbf\u1ffd", "'") | {"\u02da": "°", "\u02dc": "~", "\u2017": "_"}
_VOICED = {"\u309b": "\u3099", "\u309c": "\u309a"}  # kana's voiced sound marks join the kana before them
_NARROW_HANGUL = {c: chr(int(found[-4:], 16)) for c in map(chr, range(0xFFA1, 0xFFDD)) if (found := unicodedata.decomposition(c))}
_REPLACED = dict.fromkeys(_CARETS, "^") | _SIGNS | _VOICED | _NARROW_HANGUL | {BREAK: "\ufffd"}
_SPECIAL = re.compile(f"[{''.join(_REPLACED)}{_DROPPED_NEAR}{_DROPPED_FAR}\ud800-\udfff]")

# What compatibility normalisation would read as something else and must not: emoji that stand for letters or signs (Ⓜ ℹ ™ ‼ ㊗ 🈁 ...),
# and Hangul letters written one by one, for ㅋㅋㅠㅠ would become ㅋ큐ㅠ.
_KEPT = re.compile("([‼⁉™ℹⓂ㊗㊙🈁🈂🈚🈯🈲-🈺🉐🉑\u3131-\u318e]+)")

# Marks that are accents or vowel points. Madda and hamza make other letters of an alef and stay; so does the stroke of ≠ (U+0338).
_ACCENT = re.compile(
    "[\u0300-\u0337\u0339-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652"
    "\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20ff\u2de0-\u2dff\ua66f-\ua672\ua674-\ua67d\ua69e\ua69f\ufb1e\ufe20-\ufe2f]+"
)
# Where such marks, or letters made with them, can stand; anything else needs no decomposing.
_ACCENTED = re.compile(
    "[\u00c0-\u024f\u0300-\u052f\u0591-\u05c7\u0610-\u06ed\u0898-\u08ff\u1ab0-\u1aff\u1dc0-\u1fff\u20d0-\u20ff"
    "\u2de0-\u2dff\ua66f-\ua69f\ufb1e\ufe20-\ufe2f]"
)

# Letters whose stroke or missing dot has no decomposition; apostrophes as they are typed and typeset.
_ALIKE = {"đ": "d", "ł": "l", "ø": "o", "ħ": "h", "ŧ": "t", "ı": "i"} | dict.fromkeys("’‘ʼʻ‛", "'")
_UNLIKE = re.compile(f"[{''.join(_ALIKE)}]")

_REGIONAL = "\U0001f1e6-\U0001f1ff"
_TONES = "\U0001f3fb-\U0001f3ff"
_PICTURE = "".join(char_set(r"\p{Extended_Pictographic}"))
_TONED = re.compile(f"([{_PICTURE}])[{_TONES}]+")
_COLOURED = re.compile(f"[{_REGIONAL}{_TONES}]")

# What can melt into the character before it: marks, dropped characters, skin tones, Hangul vowels and finals.
_MELTING_NEAR, _MELTING_FAR = char_set(r"[\p{M}\p{Hangul_Syllable_Type=V}\p{Hangul_Syllable_Type=T}\p{Default_Ignorable_Code_Point}]")
_MELTING = Kind(_MELTING_NEAR + _DROPPED_NEAR + "\u309b\u309c\uff9e\uff9f", _MELTING_FAR + _TONES).one
_FLAG = f"[{_REGIONAL}]{_MELTING}*+(?:[{_REGIONAL}]{_MELTING}*+)?+"
_SEGMENT = re.compile(f"{_FLAG}|(?s:.){_MELTING}*+")
_PAIR = re.compile(f"[{_REGIONAL}]{_MELTING}*+[{_REGIONAL}]")
_MELTED = re.compile(f"{_MELTING}|[{_REGIONAL}]")
_BLOCK = re.compile(f"[^{_REGIONAL}]{{1,512}}{_MELTING}*+|(?:{_FLAG}){{1,256}}+")
_TRACED_LENGTH = 16  # a longer segment (stacked marks, a row of flags) is one place


def fold(text: str) -> str:
    """The text with everything removed that a search does not tell apart; what is left is compared character by character.

    The result holds no BREAK, no lone surrogate and no invisible character, but for FLAG_END after each flag (two regional letters).
    """
    if text.isascii():
        return text.lower()
    if _SPECIAL.search(text):
        text = _SPECIAL.sub(_replaced, text)
    normal = unicodedata.normalize("NFKC", text)
    if normal != text and _KEPT.search(text):
        kept = enumerate(_KEPT.split(text))
        text = "".join(part if at % 2 else _fold_letters(unicodedata.normalize("NFKC", part)) for at, part in kept)
    else:
        text = _fold_letters(normal)
    if _COLOURED.search(text):
        text = _PAIR.sub(_flag, _TONED.sub(r"\1", text))
    return text


def blocks(text: str) -> list[str]:
    """The text in parts of some 512 characters that can be folded on their own."""
    return _BLOCK.findall(text)


def origins(block: str) -> list[tuple[int, int]]:
    """For each character of the folded block, the start and end in the block of the smallest part that it is the fold of.

    A part that folds to nothing (an accent, a variation selector) belongs to the one before it.
    """
    if not _MELTED.search(block):
        if all(len(_fold_one(character)) == 1 for character in set(block)):
            return list(pairwise(range(len(block) + 1)))
        return [(at, at + 1) for at, character in enumerate(block) for _ in _fold_one(character)]
    found: list[tuple[int, int, int]] = []  # start, end, how many folded characters
    for segment in _SEGMENT.finditer(block):
        at = segment.start()
        for part in _parts(segment[0]):
            size = len(_fold_one(part))
            if size or not found:
                found.append((at, at + len(part), size))
            else:
                found[-1] = (found[-1][0], at + len(part), found[-1][2])
            at += len(part)
    return [(start, end) for start, end, size in found for _ in range(size)]


@lru_cache(maxsize=20_000)
def _fold_one(part: str) -> str:
    return fold(part)


def _flag(found: re.Match[str]) -> str:
    return found[0] + FLAG_END if len(found[0]) == 2 else found[0]


def _replaced(found: re.Match[str]) -> str:
    return _REPLACED.get(found[0], "\ufffd" if "\ud800" <= found[0] <= "\udfff" else "")


def _parts(segment: str) -> list[str]:
    """The segment cut wherever its halves fold to the same as the whole."""
    parts = []
    while 1 < len(segment) <= _TRACED_LENGTH:
        whole = _fold_one(segment)
        cut = next((n for n in range(1, len(segment)) if _fold_one(segment[:n]) + _fold_one(segment[n:]) == whole), len(segment))
        parts.append(segment[:cut])
        segment = segment[cut:]
    return [*parts, segment] if segment else parts


def _fold_letters(text: str) -> str:
    """Case, accents and strokes removed from normalised text."""
    if _ACCENTED.search(text):
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    text = text.casefold()
    return _UNLIKE.sub(lambda found: _ALIKE[found[0]], text)
