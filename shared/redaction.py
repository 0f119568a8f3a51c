"""Text to masked text: every secret in it becomes a label such as [redacted:github-token].

Masking a text that was masked before changes nothing: labels are never masked, and the result is masked again until it
stays as it is. Clean text costs one pass of plain searches; the whole is linear in the length of the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.redaction_context import by_context
from shared.redaction_rules import CATALOGUE_VERSION
from shared.redaction_tokens import EXACT, INVISIBLE_MARK, Found, by_form, reading
from shared.redaction_view import View, bare, disguise, visible

__all__ = ["CATALOGUE_VERSION", "Masked", "labels", "mask"]

_LABEL = re.compile(r"\[redacted:[a-z0-9\-]{1,40}\]")
_SHIELD = "\xa0"  # stands for a label's characters while rules read the text: a space to them, part of no token
_MAX_ROUNDS = 8
Span = tuple[int, int]


@dataclass(frozen=True)
class Masked:
    """Masked text. `masks` are the spans of the labels in `text`, `spans` what each replaced in the original."""

    text: str
    masks: tuple[Span, ...] = ()
    spans: tuple[Span, ...] = ()


def mask(text: str, secrets: Sequence[str] = ()) -> Masked:
    """The text with every secret replaced by its label; spans are half-open, in code points, ascending and apart.

    secrets: exact ones registered by the host, also found percent-encoded, JSON-escaped, with invisible characters or line breaks inside.
    """
    found = _found_in(text, [], secrets)
    if not found:
        return Masked(text)
    for _ in range(_MAX_ROUNDS):
        found = _merged(found)
        masked = _rendered(text, found)
        more = _found_in(masked.text, masked.masks, secrets)
        if not more:
            break
        found += [_in_original(masked, secret) for secret in more]
    return masked


def labels(text: str) -> list[Span]:
    """Where labels stand in a text that was masked before; spans are half-open, in code points, ascending and apart."""
    return [label.span() for label in _LABEL.finditer(text)]


def _found_in(text: str, own: Sequence[Span], secrets: Sequence[str]) -> list[Found]:
    """What there is to mask outside of labels, whether they are our own or were there before."""
    known = labels(text) if own or "[redacted:" in text else []
    if known:
        text = _LABEL.sub(lambda label: _SHIELD * len(label.group()), text)
    read = reading(text)
    found = by_form(read) + by_context(read)
    if (view := disguise(text, INVISIBLE_MARK in read.marks)) is not None:
        read = reading(view.text)
        found += [Found(*view.span(secret.start, secret.end), secret.rank, secret.label) for secret in by_form(read) + by_context(read)]
    if secrets:
        found += _exact(text, view, secrets)
    return [piece for secret in found for piece in _outside(secret, known, text)] if known else found


def _exact(text: str, view: View | None, secrets: Sequence[str]) -> Iterator[Found]:
    """Registered secrets as they are and, without breaks and disguise, as they would read."""
    for secret in secrets:
        for start in _places(text, secret):
            yield Found(start, start + len(secret), EXACT, "registered-secret")
    read_as = (text if "\n" in text else None, visible(text), view.text if view else None)
    copies = [_without_spaces(copy) for copy in read_as if copy is not None]
    plain = {secret: bare(secret).text for secret in secrets} if copies else {}
    suspected = [seen for secret, seen in plain.items() if any(_without_spaces(form) in copy for form in (secret, seen) for copy in copies)]
    whole = bare(text) if suspected else View()
    for plain_secret in suspected:
        for start in _places(whole.text, plain_secret):
            yield Found(*whole.span(start, start + len(plain_secret)), EXACT, "registered-secret")


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def _places(text: str, sought: str) -> Iterator[int]:
    at = text.find(sought) if sought else -1
    while at >= 0:
        yield at
        at = text.find(sought, at + len(sought))


def _outside(found: Found, labels: list[Span], text: str) -> Iterator[Found]:
    """The parts of a span that no label covers and that are more than punctuation."""
    at, label = found.start, max(0, bisect_right(labels, (found.start, 0)) - 1)
    while label < len(labels) and labels[label][0] < found.end:
        start, end = labels[label]
        if start > at and _is_more(text[at:start]):
            yield found._replace(start=at, end=start)
        at, label = max(at, end), label + 1
    if at == found.start or (at < found.end and _is_more(text[at : found.end])):
        yield found._replace(start=at)


def _is_more(text: str) -> bool:
    """Whether what is left beside a label could be a part of a secret."""
    return sum(map(str.isalnum, text)) >= 4


def _in_original(masked: Masked, found: Found) -> Found:
    before = bisect_right(masked.masks, (found.start, found.start)) - 1
    shift = masked.spans[before][1] - masked.masks[before][1] if before >= 0 else 0
    return found._replace(start=found.start + shift, end=found.end + shift)


def _merged(found: list[Found]) -> list[Found]:
    """Spans that overlap as one, named by the longest of them and then by the one of highest rank."""
    merged: list[tuple[Found, tuple[int, int]]] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        weight = (secret.end - secret.start, secret.rank)
        if not merged or secret.start >= merged[-1][0].end:
            merged.append((secret, weight))
            continue
        last, heaviest = merged[-1]
        label = secret.label if weight > heaviest else last.label
        merged[-1] = last._replace(end=max(last.end, secret.end), label=label), max(heaviest, weight)
    return [secret for secret, _ in merged]


def _rendered(text: str, found: list[Found]) -> Masked:
    parts: list[str] = []
    masks: list[Span] = []
    length = at = 0
    for secret in found:
        label = f"[redacted:{secret.label}]"
        parts += text[at : secret.start], label
        length += secret.start - at
        masks.append((length, length + len(label)))
        length += len(label)
        at = secret.end
    parts.append(text[at:])
    return Masked("".join(parts), tuple(masks), tuple((secret.start, secret.end) for secret in found))
