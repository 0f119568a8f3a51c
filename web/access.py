"""One log line a request, at its end: what kind of request, how it went, how long it took. Never what was asked."""

import logging
import secrets
import time

from flask import Flask, Response, g, request

log = logging.getLogger("web.access")

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})


def install(app: Flask) -> None:
    """Every request has an id, in its answer and in its log line."""
    app.before_request(_begin)
    app.after_request(_end)


def _begin() -> None:
    g.began = time.perf_counter()
    g.request_id = secrets.token_hex(8)


def _end(answer: Response) -> Response:
    answer.headers["X-Request-Id"] = g.request_id
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
