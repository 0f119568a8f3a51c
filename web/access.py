"""One log line and one count a request, at its end: what kind of request, how it went, how long it took. Never what was asked.

Every line that is logged while a request is answered carries the request's id, whoever logs it.
"""

import logging
import secrets
import time

from flask import Flask, Response, g, has_app_context, request

from web.services import services

log = logging.getLogger("web.access")

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})


def install(app: Flask) -> None:
    """Every request has an id, in its answer and in its log line."""
    app.before_request(_begin)
    app.after_request(_end)


class WithRequestId(logging.Filter):
    """For a handler: adds the id of the request that is being answered."""

    def filter(self, record: logging.LogRecord) -> bool:
        if has_app_context() and "request_id" in g:
            record.request_id = g.request_id
        return True


def _begin() -> None:
    g.began = time.perf_counter()
    g.request_id = secrets.token_hex(8)


def _end(answer: Response) -> Response:
    answer.headers["X-Request-Id"] = g.request_id
    together = services().together
    together.figures.add(together.requests, _counted_as(), f"{answer.status_code // 100}xx")
    log.info(
        "request answered",
        extra={
            "method": request.method if request.method in METHODS else "other",
            "route": request.url_rule.rule if request.url_rule else "unknown",
            "status": answer.status_code,
            "duration_ms": round((time.perf_counter() - g.began) * 1000, 1),
            "request_id": g.request_id,
        },
    )
    return answer


def _counted_as() -> str:
    """The operation's name, or what kind of other thing was asked for: as many words as there are operations, whatever people send."""
    endpoint = request.endpoint
    if endpoint in services().together.operations:
        return str(endpoint)
    return "static" if endpoint == "static" else "page" if endpoint else "unknown"
