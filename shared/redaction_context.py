"""Secrets that show by what stands around them: names, headers, addresses, commands.

Telling words are looked for as plain text in a lower-cased copy, which is what makes clean text cheap; what follows one
is then read in place. All repetition is bounded or possessive.
"""

import re
from collections.abc import Callable, Iterator

from shared.redaction_commands import flag, option, password, quoted
from shared.redaction_headers import addresses, bearer, hook, parameters
from shared.redaction_names import named
from shared.redaction_tokens import Found, Reading

Reader = Callable[[str, int], Found | None]

# What may stand between a telling word and the value: the rest of the name, closing marks, and one of these.
_BETWEEN = (
    r"(?=[a-z0-9_.\-]{0,40}+[\]\"'`*)}]{0,5}+"
    r"(?:[ \t]{0,8}+(?:=>|[:?|]{0,2}=|:)"  # name = value
    r"|[ \t]{1,4}+(?:is|was|are|to|as)[ \t:](?:[^\n]{0,12}?[\"'`*]|[^\n]{0,40}?[0-9])"  # the name is value
    r"|[ \t]*+,[ \t]*+[\"']"  # 'name', 'value'
    r"|>[^\s<>]"  # <name>value</name>
    r"|[\s,]{1,40}+[\"'\-]?value\b"  # name: NAME, value: value
    r"|[ \t]{1,3}+[\"']"  # PASSWORD 'value'
    r"|[^a-z0-9]{1,12}+(?=\S{8})\S{0,24}?[0-9]))"  # anything that soon has a digit
)
_ENDS_WORD = r"(?![a-z])"
_NOT_BY_NAME = r"(?=word(?:[ \t\n]{1,8}\S{0,24}?[0-9!@#$%^&*]|-stdin)|wd\b)"
_OPTION_WORDS = "(?:pass|token|secret|key|auth|cred|user|psk|pwd)"

# What is looked for in lower case: a piece that words share, the word, the pattern that begins with it, who reads on from its end.
_WATCHED: tuple[tuple[str, tuple[tuple[str, re.Pattern[str], Reader], ...]], ...] = tuple(
    (piece, tuple((word, re.compile(re.escape(word) + around), reader) for word, around, reader in readers))
    for piece, readers in (
        ("ke", (("key", _BETWEEN, named), ("token", _BETWEEN, named))),
        ("cre", (("secret", _BETWEEN, named), ("cred", _BETWEEN, named))),
        ("pass", (("pass", rf"(?:{_BETWEEN}|{_NOT_BY_NAME})", password),)),
        ("pw", (("pw", rf"(?:d|{_ENDS_WORD}){_BETWEEN}", named),)),
        ("auth", (("auth", _BETWEEN, named),)),
        ("ook", (("cookie", _BETWEEN, named), ("hook", r"(?=s?[a-z0-9.\-]{0,40}/)", hook))),
        (" -", ((" -", r"[upawkn](?=[ \t=]?[\"']?[^\s\-])", flag),)),
        ("--", (("--", rf"(?<![^\s\"'`(\[,]--)(?=[a-z\-]{{0,24}}{_OPTION_WORDS})", option),)),
        ("bearer ", (("bearer ", r"(?=[ \t]{0,2}[^\s])", bearer),)),
        ("identified by ", (("identified by ", r"(?:password )?(?=['\"])", quoted),)),
    )
)


def by_context(read: Reading) -> list[Found]:
    """Secrets that their surroundings name; spans may overlap."""
    text, low = read.text, read.low
    found: list[Found] = []
    for piece, readers in _WATCHED:
        if piece in low:
            for word, anchor, reader in readers:
                if word in low:
                    found += _read(text, low, anchor, reader)
    if "@" in text and "://" in text:
        found += addresses(text)
    if "=" in text and ("?" in text or "&" in text):
        found += parameters(text, low)
    return found


def _read(text: str, low: str, anchor: re.Pattern[str], reader: Reader) -> Iterator[Found]:
    done = 0
    for spot in anchor.finditer(low):
        if spot.start() >= done and (found := reader(text, spot.end())):
            done = found.end
            yield found
