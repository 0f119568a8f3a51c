"""What stands in the headers of every answer: nothing of it may run, be framed, be guessed at or be kept."""

from flask import Flask, Response, request

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def install(app: Flask) -> None:
    """Every answer carries them, errors too."""
    app.after_request(_add)


def _add(answer: Response) -> Response:
    for name, value in _ALWAYS.items():
        answer.headers[name] = value
    # A page under `no-referrer` posts its forms with `Origin: null`, which the gate refuses; `same-origin` tells other sites as little.
    answer.headers["Referrer-Policy"] = "same-origin" if answer.mimetype == "text/html" else "no-referrer"
    if request.endpoint != "static":
        answer.headers["Cache-Control"] = "no-store"
    return answer
