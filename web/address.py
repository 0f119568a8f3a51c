"""What the address of a page asks for, and addresses made from it."""

from typing import TypeVar
from urllib.parse import urlencode

from flask import g

from shared.errors import BadRequest, Unauthorised
from shared.forms import Body
from shared.tokens import Credential
from web.auth import NEEDED
from web.call import Call
from web.reading import query_pairs
from web.services import services

B = TypeVar("B", bound=Body)


def filled() -> dict[str, str]:
    """The address's parameters without those that a form left empty; an empty query is a query."""
    pairs = [(name, value) for name, value in query_pairs() if value or name == "query"]
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise BadRequest(f"query parameter {name} is given more than once", name)
    return dict(pairs)


def link(path: str, parameters: dict[str, str], **changes: str | None) -> str:
    """An address with some parameters changed; None takes one out."""
    left = {name: value for name, value in {**parameters, **changes}.items() if value is not None}
    return path + ("?" + urlencode(left) if left else "")


def credential() -> Credential:
    """What this request may act with. raises: Unauthorised without a credential."""
    found: Credential | None = g.get("credential")
    if found is None:
        raise Unauthorised(NEEDED)
    return found


def call_of(body: B) -> Call[B]:
    """The call that a page makes in the name of who looks at it."""
    here = services()
    return Call(here, credential(), body, here.now_ms())
