"""Who may knock: the Host header names this service, and what changes something comes from its own pages.

A web site whose name is pointed at 127.0.0.1 (DNS rebinding) sends its own Host; a form on a foreign site sends its own
Origin, or null. Both are refused before a credential is looked at.
"""

import re

from flask import Response, request

from shared.config import Settings
from web.errors import KINDS, problem

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?", re.ASCII)
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#]*)", re.ASCII | re.IGNORECASE)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def refuse_foreign(settings: Settings) -> Response | None:
    """The refusal of a request for a foreign host or from a foreign page; None lets it through."""
    host = request.environ.get("HTTP_HOST", "").lower()
    if not _is_ours(host, settings) or not _same_target(host):
        return problem(KINDS["wrong-host"], "The Host header must be 127.0.0.1, localhost, [::1] or one of SESSION_SEARCH_HOSTS.")
    if request.method not in SAFE_METHODS and _is_foreign(request.headers.get("Origin"), host):
        return problem(KINDS["forbidden"], "The Origin header names another site; what changes something is taken from this one only.")
    return None


def _is_ours(host: str, settings: Settings) -> bool:
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    further = {name.lower() for name in settings.hosts}
    return found[1] in LOCAL_NAMES or found[1] in further or host in further


def _same_target(host: str) -> bool:
    """Whether a request line in absolute form (as to a proxy) names the same host as the Host header."""
    found = _ABSOLUTE.match(request.environ.get("RAW_URI", ""))
    return found is None or found[1].lower() == host


def _is_foreign(origin: str | None, host: str) -> bool:
    """Whether an Origin is another site's: its host and port must be those of Host; `null` is nobody's."""
    if origin is None:
        return request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
    found = _ABSOLUTE.fullmatch(origin)
    return found is None or found[1].lower() != host
