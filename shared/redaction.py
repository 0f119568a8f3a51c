"""Text to masked text: every secret in it becomes a label such as [redacted:github-token].

Masking a text that was masked before changes nothing: labels are never masked, and the result is masked again until it
stays as it is. Clean text costs one pass of plain searches; the whole is linear in the length of the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.redaction_context import contexts
from shared.redaction_rules import CATALOGUE_VERSION
from shared.redaction_tokens import EXACT, Found, cards, private_keys, tokens
from shared.redaction_view import bare, disguise

__all__ = ["CATALOGUE_VERSION", "Masked", "mask"]

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
    found: list[Found] = []
    masked = Masked(text)
    for _ in range(_MAX_ROUNDS):
        more = _found_in(masked, secrets)
        if not more:
            break
        found = _merged(found + more)
        masked = _rendered(text, found)
    return masked


def _found_in(masked: Masked, secrets: Sequence[str]) -> list[Found]:
    """What is left to mask, in positions of the original text."""
    text = masked.text
    labels = [label.span() for label in _LABEL.finditer(text)] if "[redacted:" in text else []
    if labels:
        text = _LABEL.sub(lambda label: _SHIELD * len(label.group()), text)
    found = [*_read(text), *_exact(text, secrets)]
    if (view := disguise(text)) is not None:
        found += [Found(*view.span(secret.start, secret.end), secret.rank, secret.label) for secret in _read(view.text)]
    return [_in_original(masked, piece) for secret in found for piece in _outside(secret, labels, text)]


def _read(text: str) -> Iterator[Found]:
    yield from tokens(text)
    yield from contexts(text)
    yield from cards(text)
    if "PRIVATE KEY" in text:
        yield from private_keys(text)


def _exact(text: str, secrets: Sequence[str]) -> Iterator[Found]:
    """Registered secrets as they are and, in a view without breaks and disguise, as they would read there."""
    if not secrets:
        return
    for secret in secrets:
        for start in _places(text, secret):
            yield Found(start, start + len(secret), EXACT, "registered-secret")
    view = bare(text)
    if view is None:
        return
    for secret in secrets:
        plain = bare(secret)
        sought = secret if plain is None else plain.text
        for start in _places(view.text, sought):
            yield Found(*view.span(start, start + len(sought)), EXACT, "registered-secret")


def _places(text: str, sought: str) -> Iterator[int]:
    at = text.find(sought) if sought else -1
    while at >= 0:
        yield at
        at = text.find(sought, at + len(sought))


def _outside(found: Found, labels: list[Span], text: str) -> Iterator[Found]:
    """The parts of a span that no label covers and that hold a letter or digit."""
    at = found.start
    for start, end in labels[max(0, bisect_right(labels, (found.start, 0)) - 1) :]:
        if start >= found.end:
            break
        if start > at and any(map(str.isalnum, text[at:start])):
            yield found._replace(start=at, end=start)
        at = max(at, end)
    if at < found.end:
        yield found._replace(start=at)


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
