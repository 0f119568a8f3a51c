"""Admits a request or refuses it, before any verb runs: host and origin first, then the credential, then how often it asks.

Closed by default: what is not named in `OPEN` needs a credential, paths that do not exist included.
"""

from urllib.parse import urlencode

from flask import Flask, Response, g, request
from werkzeug.exceptions import RequestURITooLarge

from shared.config import Settings
from shared.errors import Unauthorised
from shared.tokens import Credential
from web import limiting, signin
from web.auth import NEEDED, bearer_credential
from web.errors import for_programs
from web.gate import refuse_foreign
from web.services import services

OPEN = frozenset({"healthz", "login", "static"})  # endpoints that hold nothing secret
MAX_ADDRESS_BYTES = 8190


def install(app: Flask, settings: Settings) -> None:
    """Every request passes here first; `g.credential` is what it may act with."""

    @app.before_request
    def admit() -> Response | None:
        if (refused := refuse_foreign(settings)) is not None:
            return refused
        if len(request.environ.get("RAW_URI") or request.full_path) > MAX_ADDRESS_BYTES:
            raise RequestURITooLarge
        if request.endpoint in OPEN:
            return None
        credential = _credential()
        if credential is None:
            return _ask_for_one()
        g.credential = credential
        limiting.spend(services(), credential)
        return None


def _credential() -> Credential | None:
    """From the Authorization header, or on pages from the sign-in cookie."""
    here = services()
    credential = bearer_credential(here)
    if credential is None and not for_programs(request.path):
        return signin.credential(here)
    return credential


def _ask_for_one() -> Response:
    """A person looking at a page is sent to sign in; everything else is a 401."""
    if for_programs(request.path) or request.method not in ("GET", "HEAD"):
        raise Unauthorised(NEEDED)
    there = request.full_path.rstrip("?")
    target = "/login" if there == "/" else "/login?" + urlencode({"next": there})
    return Response(status=303, headers={"Location": target})
