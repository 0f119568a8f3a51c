"""How gunicorn serves this door: `gunicorn -c python:web.serving`. Everything comes from the settings.

Threads, so that a slow reader does not hold up others; HUP reloads, TERM drains; no access log of gunicorn's own, for it
would hold what was asked. A request too malformed to reach the application is answered in the same form as every other error.
"""

import logging
import socket
from typing import Any

from flask import Flask
from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from shared.config import read_settings
from shared.garbage import settle_garbage
from shared.logs import configure_logs
from shared.store.turns import let_wait
from web import OPERATION_NAMES, create_app
from web.access import WithRequestId
from web.together import Together

log = logging.getLogger("web.serving")
_settings = read_settings()
_together = Together(_settings, OPERATION_NAMES)  # before the fork, so that all processes share it


class CleanWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn is not typed
    """Threads whose answers to malformed requests are problem documents, and whose log quotes nothing of them."""

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        status, name, title = _refusal(exc)
        if status < 500:
            log.info("request refused", extra={"status": status, "error": type(exc).__name__})
        else:
            log.error("request failed", exc_info=exc)
        body = f'{{"type":"urn:session-search:problem:{name}","title":"{title}","status":{status},"detail":"{title}."}}'
        head = (f"HTTP/1.1 {status} {title}", "Connection: close", "Content-Type: application/problem+json", f"Content-Length: {len(body)}")
        try:
            util.write_nonblock(client, ("\r\n".join(head) + "\r\n\r\n" + body).encode("ascii"))
        except OSError:
            log.debug("client was gone before its refusal")


def _refusal(exc: BaseException) -> tuple[int, str, str]:
    if isinstance(exc, LimitRequestLine):
        return 414, "address-too-long", "The address is too long"
    if isinstance(exc, LimitRequestHeaders):
        return 431, "headers-too-large", "The headers are too large"
    if isinstance(exc, ParseException):
        return 400, "bad-request", "The request is not well-formed HTTP"
    return 500, "internal", "Something went wrong here"


class OurLogger(Logger):  # type: ignore[misc]  # gunicorn is not typed
    """gunicorn's own records go where all others go, as JSON lines."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def on_starting(server: Any) -> None:
    """Logs are set up before the first line."""
    configure_logs()
    for handler in logging.getLogger().handlers:
        handler.addFilter(WithRequestId())


def pre_fork(server: Any, worker: Any) -> None:
    """The process about to begin has a seat of its own to count in."""
    worker.seat = _together.take_seat()


def post_fork(server: Any, worker: Any) -> None:
    """The process that begins counts there."""
    _together.figures.sit(worker.seat)


def child_exit(server: Any, worker: Any) -> None:
    """A process has ended, in whatever way; its seat, with what it counted, is the next one's."""
    _together.leave_seat(worker.seat)


def application() -> Flask:
    """The application of one process. A quarter of its threads never wait for a turn to write, so that readers find one free."""
    let_wait(max(1, _settings.web_threads * 3 // 4))
    app = create_app(_settings, _together)
    settle_garbage()
    return app


wsgi_app = "web.serving:application()"
bind = f"{_settings.host}:{_settings.port}" if ":" not in _settings.host else f"[{_settings.host}]:{_settings.port}"
workers = _settings.web_processes
threads = _settings.web_threads
worker_class = CleanWorker
logger_class = OurLogger
control_socket_disable = True
accesslog = None
loglevel = "warning"
keepalive = 30
timeout = 120
graceful_timeout = 25
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 8190
