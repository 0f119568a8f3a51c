"""Which credential came with a request, and what it may do; without one nothing is answered.

Programs send `Authorization: Bearer`. A person's browser holds a signed cookie (see signin.py), which counts on pages only:
no route under /v1 looks at it, so that a foreign page cannot make a browser act there.
"""

import re
from collections.abc import Container

from flask import request
from msgspec import UnsetType

from shared.errors import BadRequest, Forbidden, Unauthorised
from shared.forms import CallerName
from shared.tokens import Credential, verify_token
from shared.visibility import Caller
from web import limiting
from web.services import Services

_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]{1,512}=*)", re.ASCII | re.IGNORECASE)
NEEDED = "Send Authorization: Bearer with a token that `session-search token` made."


def bearer_credential(services: Services) -> Credential | None:
    """The credential of this request's Authorization header, or None without the header.

    raises: Unauthorised for a header that is no bearer, and for a token that is unknown, expired or revoked; TooManyRequests for one
    wrong credential after the other.
    """
    header = request.headers.get("Authorization")
    if header is None:
        return None
    found = _BEARER.fullmatch(header.strip())
    with limiting.guess(services, found[1] if found else header):
        if found is None:
            raise Unauthorised(NEEDED)
        return verify_token(services.store, found[1], services.now_ms())


def check_kind(credential: Credential, kinds: Container[str], acts: bool = False) -> None:
    """Passes when a credential of this kind may do this.

    raises: Forbidden for another kind, and for a read-only operator where something is acted upon.
    """
    if credential.kind not in kinds:
        raise Forbidden(f"This is not open to a token of kind {credential.kind}.")
    if acts and credential.read_only:
        raise Forbidden("A read-only operator token may look and not act.")


def caller_of(credential: Credential | None, named: CallerName | UnsetType) -> Caller:
    """In whose name the request reads: the one sealed in an agent's token, or the one a platform names.

    raises: BadRequest when an agent's token names a caller, or a platform's names none; Unauthorised without a credential.
    """
    if credential is None:
        raise Unauthorised(NEEDED)
    if credential.caller is not None:
        if not isinstance(named, UnsetType):
            raise BadRequest("caller is refused with an agent's token: the token is sealed to one caller", "caller")
        return credential.caller
    if isinstance(named, UnsetType):
        raise BadRequest("caller is missing: a platform's token names the agent and session it asks for", "caller")
    return Caller(named.agent_id, named.session_key, named.sandboxed)
