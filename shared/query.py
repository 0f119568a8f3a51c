"""Typed search text to what must be found.

Words are separated by whitespace (NUL and other control characters count as such); a phrase stands in double quotes; `word*` is a
prefix; upper-case OR and NOT between two terms are operators. Every other character is literal. A quote opens a phrase only at the
start of a word, and the next quote after which its word has only signs closes it; a quote that does neither is literal.

Invariant: no text raises anything but BadQuery, and no text reaches FTS5 but inside a quoted string.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.analysis import Analysed
from shared.errors import BadQuery
from shared.scripts import SPACE
from shared.terms import Piece, Term, has_unit, term

__all__ = ["MAX_CHARACTERS", "Group", "Piece", "Query", "Term", "parse"]

MAX_CHARACTERS = 4096
_WORD = re.compile(f"[^{SPACE}]+")
_OPERATORS = ("OR", "NOT")
_SECRET = "[redacted]"  # noqa: S105 -- the label of one


@dataclass(frozen=True)
class Group:
    """Terms that must all be found, and terms of which none may be; `required` is never empty."""

    required: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()

    def holds(self, analysed: Analysed) -> bool:
        """Whether the text has all that is required and nothing that is excluded, exactly."""
        return all(term.stands_in(analysed) for term in self.required) and not any(term.stands_in(analysed) for term in self.excluded)

    @property
    def match(self) -> str:
        """The FTS5 expression that finds what `holds`, or more where a term is checked: such a one excludes nothing here."""
        wanted = " AND ".join(term.match for term in self.required)
        unwanted = " OR ".join(term.match for term in self.excluded if not term.checked)
        return f"({wanted}) NOT ({unwanted})" if unwanted else wanted

    @property
    def single(self) -> bool:
        return len(self.required) + len(self.excluded) == 1

    @property
    def interpreted(self) -> str:
        return " NOT ".join((" AND ".join(map(_shown, self.required)), *map(_shown, self.excluded)))


@dataclass(frozen=True)
class Query:
    """Groups of which one must be matched, as `a b OR c` has (a AND b) and (c)."""

    groups: tuple[Group, ...]

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Every term that is not excluded, once."""
        return _distinct(term for group in self.groups for term in group.required)

    @property
    def words(self) -> int:
        """How many different words and phrases were asked for."""
        return len(self.terms)

    @cached_property
    def checked(self) -> bool:
        """Whether the expressions may find more than asked for, so that every candidate's text must be checked with `holds`."""
        return any(term.checked for group in self.groups for term in (*group.required, *group.excluded))

    @property
    def interpreted(self) -> str:
        """The query as it was understood, operators spelled out; of a secret only that it was one."""
        if len(self.groups) == 1:
            return self.groups[0].interpreted
        return " OR ".join(group.interpreted if group.single else f"({group.interpreted})" for group in self.groups)

    def match_all(self) -> str:
        """The FTS5 expression for texts that have every word: exact unless `checked`, and never missing one."""
        return " OR ".join(f"({group.match})" for group in self.groups)

    def holds(self, analysed: Analysed) -> bool:
        """Whether the text has every word, exactly."""
        return any(group.holds(analysed) for group in self.groups)


def parse(text: str, masks: Sequence[tuple[int, int]] = ()) -> Query:
    """What the typed text asks for.

    text: 1 to MAX_CHARACTERS characters; masks: half-open spans of it that are secrets, a term that touches one is nowhere.
    raises: BadQuery when the text is empty, too long, or has no letter, digit or emoji.
    """
    if len(text) > MAX_CHARACTERS:
        raise BadQuery(f"query has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    if not _WORD.search(text):
        raise BadQuery("query is empty")
    items = list(_items(text, masks))
    if not items:
        raise BadQuery("query holds nothing searchable: no letter, digit or emoji")
    return Query(tuple(_groups(items)))


def _groups(items: list[tuple[str, Term]]) -> Iterator[Group]:
    """The groups of (typed, term). What follows an operator is a term whatever it is, so that an operator stands between two."""
    required: list[Term] = []
    excluded: list[Term] = []
    into = required
    term_next = True
    for number, (typed, found) in enumerate(items, start=1):
        if term_next or typed not in _OPERATORS or number == len(items):
            into.append(found)
            into = required
            term_next = False
            continue
        term_next = True
        if typed == "NOT":
            into = excluded
        else:
            yield Group(_distinct(required), _distinct(excluded))
            required, excluded = [], []
            into = required
    yield Group(_distinct(required), _distinct(excluded))


def _items(text: str, masks: Sequence[tuple[int, int]]) -> Iterator[tuple[str, Term]]:
    """The terms in order, each with what was typed for it; what has no letter, digit or emoji is left out."""
    closing = _closing_quotes(text)
    at = 0
    while word := _WORD.search(text, at):
        start, at = word.span()
        quote = bisect_right(closing, start) if text[start] == '"' else len(closing)
        close = closing[quote] if quote < len(closing) else None
        if close is None:
            typed, inside = word[0], word[0]
        else:
            last = _WORD.search(text, close)
            at = last.end() if last else len(text)
            typed, inside = text[start:at], text[start + 1 : close]
        secret = any(begin < at and start < end for begin, end in masks)
        found = term(inside, quoted=close is not None, nowhere=secret)
        if found:
            yield typed, found


def _closing_quotes(text: str) -> list[int]:
    """The quotes after which their word has only signs."""
    found = []
    for word in _WORD.finditer(text):
        at = word.end()
        while at > word.start() and not has_unit(text[at - 1]):
            at -= 1
            if text[at] == '"':
                found.append(at)
    return sorted(found)


def _distinct(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms in order, each that asks for the same as an earlier one left out."""
    first: dict[object, Term] = {}
    for one in terms:
        first.setdefault(one.key, one)
    return tuple(first.values())


def _shown(term: Term) -> str:
    """A term as typed, from its first letter on; in quotes where it would read as something else without."""
    if term.nowhere:
        return _SECRET
    if term.quoted:
        return '"' + " ".join(_WORD.findall(term.typed)) + '"'
    first = next((at for at, character in enumerate(term.typed) if has_unit(character)), 0)
    shown = term.typed[first:]
    literal = shown in (*_OPERATORS, "AND") or term.sought.endswith("*")
    return f'"{shown}"' if literal else shown
