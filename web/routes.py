"""The table of operations as routes: admit, check the credential's kind, read the fields, call the verb, answer in JSON."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
from flask import Flask, Response, g, request
from werkzeug.routing import BaseConverter

from shared.errors import BadForm, Unauthorised
from shared.store.turns import waiting_once
from shared.tokens import Credential
from web.auth import NEEDED, check_kind
from web.call import Call, Reply
from web.operations import OPERATIONS, Operation
from web.reading import read_body, read_query
from web.services import services

MAX_IDEMPOTENCY_KEY_BYTES = 128


class IdConverter(BaseConverter):
    """An id in a path: anything short, except the words that are paths of their own."""

    regex = r"(?!(?:retry|cancel)(?:/|\Z))[^/]{1,64}"


def install(app: Flask) -> None:
    """Every operation of the table is a route, and no other path is."""
    app.url_map.converters["id"] = IdConverter
    for operation in OPERATIONS:
        app.add_url_rule(
            re.sub(r"\{(\w+)\}", r"<id:\1>", operation.path),
            endpoint=operation.name,
            view_func=_view(operation),
            methods=operation.methods,
            provide_automatic_options=False,
        )


def _view(operation: Operation) -> Callable[..., Response]:
    def view(**path: str) -> Response:
        credential: Credential | None = g.get("credential")
        if operation.kinds:
            if credential is None:
                raise Unauthorised(NEEDED)
            check_kind(credential, operation.kinds, operation.acts)
        read: Callable[..., Any] = read_body if request.method == "POST" else read_query
        here = services()
        call = Call(here, credential, read(operation.body), here.now_ms(), path, _idempotency_key(operation))
        with waiting_once():
            reply = operation.verb(call)
        return answered(reply, operation.media)

    return view


def answered(reply: Reply, media: str = "application/json") -> Response:
    """A verb's reply as the answer on the wire."""
    data = reply.body if isinstance(reply.body, bytes) else msgspec.json.encode(reply.body)
    return Response(data, reply.status, reply.headers, content_type=media)


def _idempotency_key(operation: Operation) -> str | None:
    """The Idempotency-Key of a request; raises BadForm for one that is empty, too long or not printable ASCII."""
    keys = request.headers.getlist("Idempotency-Key") if operation.idempotent else []
    if not keys:
        return None
    if len(keys) > 1:
        raise BadForm("Idempotency-Key is given more than once", "Idempotency-Key")
    if not re.fullmatch(rf"[\x21-\x7e]{{1,{MAX_IDEMPOTENCY_KEY_BYTES}}}", keys[0]):
        raise BadForm(f"Idempotency-Key must have 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes of printable ASCII", "Idempotency-Key")
    return keys[0]
