"""Cursors: where a next page begins, signed, sealed from reading, and bound to the caller and the request they were made for.

A cursor in other hands, or put into another request, is not a cursor. What it holds, scores and row numbers among it, is for us alone.
"""

import base64
import binascii
import hashlib
import hmac
import zlib
from collections.abc import Sequence
from typing import Any

from shared import jsontext
from shared.errors import BadCursor

MAX_CURSOR_CHARS = 16_384
_MAX_BODY_BYTES = 1 << 20
_TAG_BYTES = 16


def seal(key: bytes, bound_to: Sequence[Any], content: Any) -> str:
    """The content as opaque text. bound_to: everything that must be the same when the cursor comes back."""
    body = zlib.compress(jsontext.dumps(content).encode(), 6)
    tag = _tag(key, bound_to, body)
    return base64.urlsafe_b64encode(tag + _veiled(key, tag, body)).rstrip(b"=").decode()


def unseal(key: bytes, bound_to: Sequence[Any], cursor: str) -> Any:
    """What was sealed. raises: BadCursor for anything this service did not make for this caller and request."""
    if not isinstance(cursor, str) or not 1 <= len(cursor) <= MAX_CURSOR_CHARS or not cursor.isascii():
        raise BadCursor
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise BadCursor from None
    tag = raw[:_TAG_BYTES]
    body = _veiled(key, tag, raw[_TAG_BYTES:])
    if not hmac.compare_digest(tag, _tag(key, bound_to, body)):
        raise BadCursor
    return jsontext.loads(zlib.decompressobj().decompress(body, _MAX_BODY_BYTES))


def _veiled(key: bytes, tag: bytes, body: bytes) -> bytes:
    """The body in cipher, or a cipher's body: under a stream that its tag, and so all of its content, decides."""
    stream = hashlib.shake_256(b"cursor" + key + tag).digest(len(body))
    return bytes(a ^ b for a, b in zip(body, stream, strict=True))


def _tag(key: bytes, bound_to: Sequence[Any], body: bytes) -> bytes:
    bound = jsontext.dumps(list(bound_to)).encode()
    return hmac.digest(key, hashlib.sha256(bound).digest() + body, "sha256")[:_TAG_BYTES]
