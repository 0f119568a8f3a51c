"""The HTTP reference as Markdown, from the table of operations that feeds the routes and /openapi.json."""

from collections.abc import Iterable, Iterator

from web.documents import Entry, Field, fields_of, reference
from web.errors import BY_STATUS, KINDS
from web.openapi import build
from web.operations import OPERATIONS

_ABOUT = """# HTTP reference

Printed from the code by `python -m docs`; the same is at `/docs` of a running service, and as OpenAPI 3.1 at `/openapi.json`.

A credential stands in `Authorization: Bearer …`. A POST takes JSON, and fields that are not named here are refused by name. Where GET is
named beside POST, the same fields are query parameters, with `callerAgent`, `callerSession` and `sandboxed` for `caller`. Times go in as
milliseconds since 1970 or as ISO 8601 and come out as ISO 8601 in UTC. [By example](by-example.md) shows requests and answers.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_ABOUT, *_groups(), *_errors()]) + "\n"


def _groups() -> Iterator[str]:
    described = build(OPERATIONS, "")["paths"]
    for name, entries in reference():
        yield f"## {name}\n"
        for entry in entries:
            statuses = described[entry.operation.path][entry.operation.methods[0].lower()]["responses"]
            yield from _operation(entry, [status for status in statuses if status >= "4"])


def _operation(entry: Entry, statuses: Iterable[str]) -> Iterator[str]:
    operation = entry.operation
    yield f"### `{' or '.join(operation.methods)} {operation.path}`\n"
    yield f"{operation.summary}. {_who(entry.kinds)}{_beside(operation)}\n"
    if entry.fields:
        yield from _table("field", entry.fields)
    if entry.answer:
        yield f"Answers {operation.status} with\n"
        yield from _table("answer", entry.answer)
    else:
        yield f"Answers {operation.status} with `{operation.media.split(';')[0]}`.\n"
    if operation.compatible:
        yield "With `compat=openclaw`, which a POST takes in its address too, it answers `results` and, where they are true, `indexing` and"
        yield "`truncated`. A hit is then\n"
        yield from _table("answer", fields_of(operation.compatible.__annotations__["results"].__args__[0]))
    yield f"Errors: {', '.join(statuses)}.\n"


def _who(kinds: tuple[str, ...]) -> str:
    return f"For tokens of the kind {' or '.join(f'`{kind}`' for kind in kinds)}." if kinds else "For everybody."


def _beside(operation: object) -> str:
    return " Takes an `Idempotency-Key`." if getattr(operation, "idempotent", False) else ""


def _table(head: str, fields: Iterable[Field]) -> Iterator[str]:
    yield f"| {head} | what it is | |"
    yield "| --- | --- | --- |"
    for field in fields:
        needed = "required" if field.required and head == "field" else f"default `{field.default}`" if field.default else ""
        about = "; ".join(text for text in (field.about, needed) if text)
        yield f"| `{field.name}` | {_cell(field.form)} | {_cell(about)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _errors() -> Iterator[str]:
    yield "## Errors\n"
    yield "Every error is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail` and, where one is at fault, `field`.\n"
    yield "| status | type ends in | title |"
    yield "| --- | --- | --- |"
    for kind in sorted({*KINDS.values(), *BY_STATUS.values()}, key=lambda kind: (kind.status, kind.name)):
        yield f"| {kind.status} | `{kind.name}` | {kind.title} |"
    yield ""
