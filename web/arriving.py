"""A request's body as it arrives: what the server finds wrong with its framing is a 400 like any other bad body.

The server checks chunks only while they are read, that is inside the application, and raises errors of its own there.
"""

from collections.abc import Iterable
from wsgiref.types import InputStream, StartResponse, WSGIApplication, WSGIEnvironment


class Arriving:
    """A body whose every failure is an OSError, which Werkzeug takes for a client that went away and answers with a 400."""

    def __init__(self, body: InputStream) -> None:
        self._body = body

    def read(self, size: int = -1) -> bytes:
        try:
            return self._body.read(size)
        except Exception as e:  # the kinds are the server's own, and this application knows no server
            raise OSError("the body is not framed as HTTP has it") from e


def arriving(application: WSGIApplication) -> WSGIApplication:
    """The application, given its requests' bodies as `Arriving`."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["wsgi.input"] = Arriving(environ["wsgi.input"])
        return application(environ, start_response)

    return wrapped
