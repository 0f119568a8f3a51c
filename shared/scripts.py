"""Which characters are words, which run on without spaces, which are emoji, which are signs: the kinds a folded text is made of.

Every character of a folded text is exactly one of: word character (letter, digit, mark), dense character (of a script written
without spaces between words), picture (emoji), space, BREAK, FLAG_END, or sign (punctuation, symbols and all the rest).
"""

import re
from functools import cache

import regex

BREAK = "\ue000"  # no phrase reaches across it; folding replaces a typed one, so that nobody can put one in
FLAG_END = "\u200b"  # closes a pair of regional letters; folding drops a typed one

SPACE = r"\s\x00-\x1f\x7f-\x9f"
_FAR = "(?=[\U00010000-\U0010ffff])"
_NEAR_CHARS = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x10000))))
_FAR_CHARS = "".join(map(chr, (*range(0x10000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE1000))))
_FAR_HAN = "\U00020000-\U0002f7ff\U0002fa20-\U0003ffff"  # two planes of ideographs and nothing else

_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_DENSE = rf"[[{_SCRIPTS}\u30fc\u3099\u309a]&&[\p{{L}}\p{{M}}\p{{N}}[\p{{Han}}&&\p{{So}}]]]"
_PICTURE = r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]"
_WORD = rf"[[\p{{L}}\p{{N}}\p{{M}}]--{_DENSE}--{_PICTURE}]"

_GRAPHEME = regex.compile(r"\X")
_ALONE = regex.compile(r"\p{Grapheme_Cluster_Break=Other}")  # between two of these a grapheme always ends
_REGIONALS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_LONGEST = 1000


class Kind:
    """One kind of character, as the inside of sets for `re`: `near` up to U+FFFF, `far` beyond.

    `one` and `run` (as many as there are) are patterns that try the two apart: `re` has a bitmap for the near ones, twenty times
    faster than a property lookup, but walks a list for the far ones, and would do so at every space.
    """

    def __init__(self, near: str, far: str) -> None:
        self.near, self.far = near, far
        self.one = f"(?:[{near}]|{_FAR}[{far}])"
        self.run = f"(?:[{near}]++|{_FAR}[{far}]++)++"
        self._match = re.compile(self.one).match

    def holds(self, character: str) -> bool:
        return self._match(character) is not None


def char_set(pattern: str) -> tuple[str, str]:
    """The characters that a set in the syntax of the `regex` package matches, up to U+FFFF and beyond, as insides of sets for `re`."""
    compiled = regex.compile(f"(?V1){pattern}+")
    near, far = ("".join(map(_span, compiled.findall(chars))) for chars in (_NEAR_CHARS, _FAR_CHARS))
    return near, far


def graphemes(text: str) -> list[str]:
    """The text cut into what a reader takes for one character each."""
    return list(_GRAPHEME.findall(text))


def grapheme_at(text: str, at: int) -> tuple[int, int]:
    """The grapheme that `at` is inside of, or (at, at) where one ends and another begins.

    Of a grapheme longer than 1,000 characters (marks heaped on a letter) the parts of that length count as ones.
    """
    if not 0 < at < len(text):
        return at, at
    start = at
    while start and not (_stands_alone(text[start - 1]) and _stands_alone(text[start])):
        start -= 1  # back to where one surely begins
        if at - start == _LONGEST:
            start -= _regionals_before(text, start) % 2
            break
    for found in _GRAPHEME.finditer(text, start):
        if found.end() >= at:
            return (at, at) if found.end() == at or found.start() >= at else found.span()
    return at, at


def _regionals_before(text: str, at: int) -> int:
    """How many regional letters stand there in a row: an odd one is half of a flag that goes on."""
    return at - len(text[:at].rstrip(_REGIONALS)) if text[at] in _REGIONALS else 0


@cache
def _stands_alone(character: str) -> bool:
    return _ALONE.match(character) is not None


def _span(run: str) -> str:
    return re.escape(run[0]) + ("-" + re.escape(run[-1]) if len(run) > 1 else "")


def _kind(pattern: str, more: str = "") -> Kind:
    near, far = char_set(pattern)
    return Kind(near, far + more)


WORD = _kind(_WORD)
DENSE = _kind(_DENSE, _FAR_HAN)
PICTURE = _kind(_PICTURE)
_UNITS = (WORD, DENSE, PICTURE)
UNIT = Kind("".join(kind.near for kind in _UNITS), "".join(kind.far for kind in _UNITS))
_NOT_UNIT = f"^{UNIT.near}\U00010000-\U0010ffff", f"^\x00-\uffff{UNIT.far}"
SIGN = Kind(_NOT_UNIT[0] + SPACE + BREAK + FLAG_END, _NOT_UNIT[1])
BETWEEN = Kind(_NOT_UNIT[0] + BREAK, _NOT_UNIT[1])  # what a phrase passes over
