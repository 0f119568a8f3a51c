"""A query as expressions for the full-text index: what all of its words, or any of them, must match. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shared.analysis import Analysed
from shared.query import Group, Query, Term
from shared.query import parse as parse_query

Mode = Literal["all", "any"]

__all__ = ["Matcher", "Mode", "Source", "matcher", "parse_query"]


@dataclass(frozen=True, slots=True)
class Source:
    """One expression that brings candidates, and the terms it stands for."""

    match: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Matcher:
    """A query under one mode. sources: for `all` the whole query at once, for `any` one a word; whole: everything that matches.

    terms: what is ranked and highlighted.
    """

    mode: Mode
    query: Query
    sources: tuple[Source, ...]
    whole: str
    terms: tuple[Term, ...]

    def holds(self, analysed: Analysed) -> bool:
        """Whether a text matches, by the text itself."""
        if self.mode == "all":
            return self.query.holds(analysed)
        return any(_group_holds(group, analysed) for group in self.query.groups)


def matcher(query: Query, mode: Mode) -> Matcher:
    """The query under a mode. A query none of whose words may be searched for has no sources."""
    if mode == "all":
        match = query.match_all()
        return Matcher(mode, query, (Source(match, query.terms),), match, query.terms)
    sources = tuple(source for group in query.groups for source in _any_of(group))
    terms = tuple(dict.fromkeys(term for source in sources for term in source.terms))
    return Matcher(mode, query, sources, " OR ".join(f"({s.match})" for s in sources), terms)


def loosens(query: Query) -> bool:
    """Whether `any` asks for less than `all`: some group has two words of which one need not be there."""
    return any(sum(not term.quoted for term in group.required) > 1 for group in query.groups)


def _words(group: Group) -> list[Term]:
    """The words of a group that need not all be there, without the sentence's punctuation; secrets count as words nobody wrote."""
    return list(dict.fromkeys(term.loose() for term in group.required if not term.quoted and not term.nowhere))


def _any_of(group: Group) -> list[Source]:
    """For each word of a group: it, with the group's phrases and without what is excluded."""
    phrases = [term for term in group.required if term.quoted]
    if any(term.nowhere for term in phrases):
        return []
    words: Sequence[Term | None] = _words(group) or ([None] if phrases else [])
    return [Source(_expression(word, phrases, group.excluded), (*([word] if word else []), *phrases)) for word in words]


def _expression(word: Term | None, phrases: Sequence[Term], excluded: Sequence[Term]) -> str:
    wanted = " AND ".join(f"({term.match})" for term in [*([word] if word else []), *phrases])
    unwanted = " OR ".join(f"({term.match})" for term in excluded if not (term.nowhere or term.checked))  # holds() decides those
    return f"({wanted}) NOT ({unwanted})" if unwanted else wanted


def _group_holds(group: Group, analysed: Analysed) -> bool:
    phrases = [term for term in group.required if term.quoted]
    words = _words(group)
    return (
        all(term.stands_in(analysed) for term in phrases)
        and not any(term.stands_in(analysed) for term in group.excluded)
        and (any(term.stands_in(analysed) for term in words) if words else bool(phrases))
    )
