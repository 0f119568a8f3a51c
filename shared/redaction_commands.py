"""Reads the secrets of command lines, and those of files and pipes in which only their place says what they are."""

import re

from shared.redaction_names import ENDS, named, value_span
from shared.redaction_rules import COMMAND_FLAGS
from shared.redaction_tokens import HEADER, Found
from shared.redaction_values import stands_in

_COMMANDS = tuple(
    (re.compile(rf"(?:^|[\s/(`$\\\"'])(?:{name})(?:\.exe)?(?=\s|\Z)"), letter, manner, between)
    for name, letter, manner, between in COMMAND_FLAGS
)
_LETTERS = frozenset(letter for _, letter, _, _ in COMMAND_FLAGS)
_ARGUMENT = re.compile(r"\"([^\"\n]{1,512}+)\"|'([^'\n]{1,512}+)'|([^\s\"'|;&<>]{1,512}+)")
_SECRET_OPTION = re.compile(
    r"(?:[a-z]{1,20}-){0,4}(?:password|passwd|pass|pwd|passphrase|token|secret|apikey|api-key|access-key|secret-key|auth-key|authkey|private-key"
    r"|psk|storepass|keypass|requirepass|masterauth|credentials?|userpass|bearer|pat|license-key|service-key)"
)
_OPTION_NAME = re.compile(r"[A-Za-z][A-Za-z\-_]{1,40}")
_PAIR_OPTION = re.compile(r"(?:proxy-)?user|basic-auth|http-auth|creds|auth")


def flag(text: str, at: int) -> Found | None:
    """Reads the value of a command's short flag; `at` is behind the flag's letter."""
    sought, before = text[at - 1], text[max(0, at - 240) : at - 2]
    if sought not in _LETTERS:
        return None
    command = re.split(r"[\n|;&]", before)[-1] if any(c in before for c in "\n|;&") else before
    for name, letter, manner, between in _COMMANDS:
        if letter == sought and name.search(command):
            return _argument(text, at, manner, between)
    return None


def _argument(text: str, at: int, manner: str, between: str) -> Found | None:
    begin = at
    while text[begin : begin + 1] in (" ", "\t", "=") and manner != "glued":
        begin += 1
    if manner == "apart" and begin == at:
        return None
    argument = _ARGUMENT.match(text, begin)
    if not argument:
        return None
    start, end = argument.span(argument.lastindex or 0)
    if between:
        cut = text.find(between, start, end)
        if cut < 0:
            return None
        start = cut + 1
    elif text[start:end].isdigit() and manner != "glued" and end - start < 6:
        return None  # a port
    return _found(text, start, end) if end - start >= 3 and not stands_in(text[start:end]) else None


def option(text: str, at: int) -> Found | None:
    """Reads the value of a long option; `at` is at its name."""
    name = _OPTION_NAME.match(text, at)
    if not name:
        return None
    if _PAIR_OPTION.fullmatch(name.group()):
        return _argument(text, name.end(), "apart", ":")
    if not _SECRET_OPTION.fullmatch(name.group().lower()):
        return None
    found = _argument(text, name.end(), "apart", "")
    if not found or (text[name.end()] != "=" and text[found.start] == "-"):
        return None  # the next option
    return found if _hides(text, found) else None


def _hides(text: str, found: Found) -> bool:
    """Whether an option's value is no word of a sentence about the option."""
    value = text[found.start : found.end]
    return not value.isalpha() or len(value) > 12 or text[found.start - 1] in "='\"" or ENDS.match(text, found.end) is not None


_NETRC = re.compile(r"(?:machine[ \t]+\S{1,200}+|default)[ \t\n]+login[ \t\n]+\S{1,200}+[ \t\n]+password[ \t\n]+(\S{1,512}+)")
_HTPASSWD = re.compile(r"wd[ \t]+-[A-Za-z]{0,4}b[A-Za-z]{0,4}[ \t]+\S{1,200}+[ \t]+\S{1,200}+[ \t]+[\"']?([^\s\"']{1,200}+)")
_PIPED = re.compile(r"echo[ \t]+(?:-n[ \t]+)?[\"']?(?:[\w.\-]{1,64}:)?([^\s\"'|:]{3,200}+)[\"']?[ \t]*\|[^\n|]{0,120}\Z")
_PASS_VALUE = re.compile(r":([^\s\"'`<>]{4,512}+)")


def password(text: str, at: int) -> Found | None:
    """Reads on from "pass": a name and its value, or one of the places where the value stands elsewhere."""
    rest = text[at : at + 5].lower()
    entry = None
    if rest[:4] == "word" and rest[4:].isspace() and (machine := _before(text, at, "machine", "default")) >= 0:
        entry = _NETRC.match(text, machine)
    elif rest[:2] == "wd" and text[at - 6 : at] == "htpass":
        entry = _HTPASSWD.match(text, at)
    elif rest[:1] == ":" and text[at - 5 : at - 4] in (" ", "=", "'", '"'):
        entry = _PASS_VALUE.match(text, at)
    elif (rest == "word-" or text[at - 6 : at] == "chpass") and (echo := _before(text, at, "echo")) >= 0:
        entry = _PIPED.match(text, echo, at - 6)
    if entry and (found := _found(text, *entry.span(1))):
        return found
    return named(text, at)


def _before(text: str, at: int, *words: str) -> int:
    return max(text.rfind(word, max(0, at - 460), at) for word in words)


def quoted(text: str, at: int) -> Found | None:
    """Reads the quoted value that begins at `at`."""
    span = value_span(text, at)
    return _found(text, span[0], span[1]) if span and span[2] else None


def _found(text: str, start: int, end: int) -> Found | None:
    return Found(start, end, HEADER, "password") if end > start and not stands_in(text[start:end], True) else None
