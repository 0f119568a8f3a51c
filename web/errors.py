"""Which error is which HTTP status: one table, one form of answer, and never a traceback in it.

400 is a request that does not fit the schema of its operation (not JSON, a field unknown, missing, or of another type or size); 422 is one
that fits it and still cannot be done (a query with nothing to search for, an unknown scope, a cursor of another request, a session that
spawned itself). A hidden session and a missing one are one error with one constant detail.
"""

import logging
from dataclasses import dataclass

import msgspec
from flask import Flask, Response, g, render_template, request
from werkzeug.exceptions import ClientDisconnected, HTTPException

from shared.config import Settings
from shared.errors import (
    BadCursor,
    BadForm,
    BadQuery,
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    SessionSearchError,
    StoreDamaged,
    StoreFull,
    StoreUnavailable,
    TooManyRequests,
    Unauthorised,
    UnreadableEvent,
)
from shared.logs import where_raised
from shared.suspects import note_suspect

log = logging.getLogger("web.errors")

RETRY_AFTER_S = 5
MACHINE_PATHS = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json", "/mcp"})


@dataclass(frozen=True)
class Kind:
    """One kind of problem: the last word of its `type`, its status and title."""

    name: str
    status: int
    title: str

    @property
    def uri(self) -> str:
        return "urn:session-search:problem:" + self.name


_KINDS = (
    Kind("bad-request", 400, "The request does not fit the schema"),
    Kind("unauthorised", 401, "A credential is needed"),
    Kind("forbidden", 403, "This credential may not do that"),
    Kind("not-found", 404, "Not found"),
    Kind("method-not-allowed", 405, "This path does not take that method"),
    Kind("not-acceptable", 406, "The answer would be of a type that the request does not take"),
    Kind("conflict", 409, "The request contradicts what is stored"),
    Kind("too-large", 413, "The body is too large"),
    Kind("address-too-long", 414, "The address is too long"),
    Kind("not-json", 415, "The body must be JSON"),
    Kind("wrong-host", 421, "This host is not served here"),
    Kind("bad-value", 422, "A value cannot be used"),
    Kind("too-many-requests", 429, "Too many requests"),
    Kind("headers-too-large", 431, "The headers are too large"),
    Kind("internal", 500, "Something went wrong here"),
    Kind("unavailable", 503, "The store cannot answer now"),
    Kind("disk-full", 507, "The disk is full"),
)
KINDS = {kind.name: kind for kind in _KINDS}
BY_STATUS = {kind.status: kind for kind in _KINDS}
BAD_QUERY = Kind("bad-query", 422, "The query cannot be searched for")
BAD_CURSOR = Kind("bad-cursor", 422, "The cursor is not one of this request's")

BY_ERROR: dict[type[SessionSearchError], Kind] = {
    BadForm: KINDS["bad-request"],
    BadQuery: BAD_QUERY,
    BadCursor: BAD_CURSOR,
    BadRequest: KINDS["bad-value"],
    Unauthorised: KINDS["unauthorised"],
    Forbidden: KINDS["forbidden"],
    NotFound: KINDS["not-found"],
    Conflict: KINDS["conflict"],
    TooManyRequests: KINDS["too-many-requests"],
    StoreFull: KINDS["disk-full"],
    StoreUnavailable: KINDS["unavailable"],
    UnreadableEvent: KINDS["unavailable"],
}

CONSTANT_DETAILS = {  # these say the same whatever the reason was: it would tell about what the caller may not see, or about our files
    404: "There is nothing of that name, or nothing that this caller may see.",
    405: "See /openapi.json for the methods of each path.",
    413: "A body has at most 4,194,304 bytes (4 MiB).",
    414: "An address has at most 8,190 bytes.",
    500: "The error was logged under the request id of this answer.",
    503: "The database cannot be read or written now; nothing was changed. Try again.",
    507: "There is no space left to store this; nothing was changed.",
}


def kind_of(error: BaseException) -> Kind:
    """The kind of problem that an error is to a caller; what nobody foresaw is `internal`."""
    if isinstance(error, SessionSearchError):
        return next((BY_ERROR[base] for base in type(error).__mro__ if base in BY_ERROR), KINDS["internal"])
    if isinstance(error, HTTPException) and error.code is not None:
        return BY_STATUS.get(error.code, KINDS["bad-request"] if error.code < 500 else KINDS["internal"])
    return KINDS["internal"]


def detail_of(kind: Kind, error: BaseException) -> str:
    """What a caller is told: the error's own words, except where these would vary with what is hidden."""
    if kind.status in CONSTANT_DETAILS:
        return CONSTANT_DETAILS[kind.status]
    if isinstance(error, ClientDisconnected):
        return "The body did not arrive whole, or is not framed as HTTP has it."
    if isinstance(error, HTTPException):
        return error.description or kind.title
    return str(error) or kind.title


def problem(kind: Kind, detail: str, field: str | None = None) -> Response:
    """The answer to a request that failed: problem+json for programs, a page for people."""
    if for_programs(request.path):
        body: dict[str, object] = {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": detail}
        if field is not None:
            body["field"] = field
        return _with_headers(Response(msgspec.json.encode(body), kind.status, mimetype="application/problem+json"))
    told = {"name": kind.name, "title": kind.title, "status": kind.status, "detail": detail}
    page = render_template("error.html", **told, credential=g.get("credential"))
    return _with_headers(Response(page, kind.status))


def for_programs(path: str) -> bool:
    """Whether a path is answered in JSON rather than with a page."""
    return path.startswith(("/v1/", "/.well-known/")) or path == "/v1" or path in MACHINE_PATHS


def met(settings: Settings, error: Exception) -> Kind:
    """The kind of an error that reached the door, logged once where an operator should know of it; damage is remembered for /readyz."""
    kind = kind_of(error)
    if kind.status == 500:
        log.error("request failed", extra={"request_id": g.get("request_id"), "raised": where_raised(error)})
    elif kind.status >= 500:
        extra = {"request_id": g.get("request_id"), "error": str(error), "path": getattr(error, "path", None)}
        log.warning("store unavailable", extra=extra)
    if isinstance(error, StoreDamaged) and error.path:
        note_suspect(settings, error.path)
    return kind


def answer_for(kind: Kind, error: Exception) -> Response:
    """The answer to an error of this kind."""
    answer = problem(kind, detail_of(kind, error), getattr(error, "field", None))
    if isinstance(error, TooManyRequests):
        answer.headers["Retry-After"] = str(error.retry_after_s)
    if kind.status == 405 and isinstance(error, HTTPException):
        answer.headers.extend((name, value) for name, value in error.get_headers() if name == "Allow")
    return answer


def install(app: Flask, settings: Settings) -> None:
    """Every error of this application becomes an answer of `answer_for`."""

    def answered(error: Exception) -> Response:
        return answer_for(met(settings, error), error)

    app.register_error_handler(Exception, answered)


def _with_headers(answer: Response) -> Response:
    if answer.status_code == 401:
        tried = "Authorization" in request.headers
        answer.headers["WWW-Authenticate"] = 'Bearer realm="session-search"' + (', error="invalid_token"' if tried else "")
    if answer.status_code == 503:
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer
