"""Credentials: made, checked, listed, revoked.

A token is 256 random bits, so its SHA-256 is enough to keep: nobody who reads the file can use what stands there. Each check reads
the row anew, so that a revoked token is refused by every process from its next request on.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any, Literal, cast

from shared.clock import when
from shared.config import AGENT_ID
from shared.errors import BadRequest, NotFound, Unauthorised
from shared.store import Store
from shared.store import tokens as rows
from shared.store.connect import write_transaction
from shared.store.tokens import TokenRow
from shared.visibility import Caller

Kind = Literal["platform", "agent", "operator"]
KINDS: tuple[Kind, ...] = ("platform", "agent", "operator")
PREFIX = "sst_"  # makes a leaked token recognisable
MAX_KEY_BYTES = 512
MAX_LABEL = 100
_TTL = re.compile(r"(\d{1,6})([smhd])", re.ASCII)
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class Credential:
    """Who calls. caller is sealed in an agent's token; read_only is an operator's that looks and does not act."""

    kind: Kind
    caller: Caller | None
    read_only: bool
    token_id: str


@dataclass(frozen=True)
class Issued:
    """A new credential; its text is told this once."""

    text: str
    token_id: str
    expires_at_ms: int | None


def issue_token(
    store: Store,
    kind: Kind,
    now_ms: int,
    *,
    agent_id: str | None = None,
    session_key: str | None = None,
    sandboxed: bool = False,
    read_only: bool = False,
    ttl_ms: int | None = None,
    label: str = "",
) -> Issued:
    """A credential of the kind is stored, hashed. raises: BadRequest for fields that do not belong to the kind."""
    text = PREFIX + secrets.token_urlsafe(32)
    expires_at_ms = None if ttl_ms is None else now_ms + ttl_ms
    row = TokenRow(
        secrets.token_hex(6), _digest(text), kind, agent_id, session_key, sandboxed, read_only, label, now_ms, expires_at_ms, None
    )
    _check_fields(row)
    with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
        rows.add_token(conn, row)
    return Issued(text, row.id, expires_at_ms)


def _check_fields(row: TokenRow) -> None:
    if row.kind not in KINDS:
        raise BadRequest(f"kind must be one of {', '.join(KINDS)}", "kind")
    if row.kind == "agent":
        if not row.agent_id or not AGENT_ID.fullmatch(row.agent_id):
            raise BadRequest("an agent's token needs agentId: 1 to 64 letters, digits, '.', '_' or '-'", "agentId")
        if not row.session_key or len(row.session_key.encode("utf-8", "replace")) > MAX_KEY_BYTES:
            raise BadRequest(f"an agent's token needs sessionKey: 1 to {MAX_KEY_BYTES} bytes", "sessionKey")
    elif row.agent_id is not None or row.session_key is not None or row.sandboxed:
        raise BadRequest("agentId, sessionKey and sandboxed belong to an agent's token", "agentId")
    if row.read_only and row.kind != "operator":
        raise BadRequest("readOnly belongs to an operator's token", "readOnly")
    if len(row.label) > MAX_LABEL:
        raise BadRequest(f"label has at most {MAX_LABEL} characters", "label")


def verify_token(store: Store, text: str, now_ms: int) -> Credential:
    """The credential whose text this is. raises: Unauthorised when it is unknown, expired or revoked, without telling which."""
    digest = _digest(text)
    with store.registry_reader() as conn:
        row = rows.token_by_hash(conn, digest)
    if row is None or not hmac.compare_digest(row.hash, digest) or not _live(row, now_ms):
        raise Unauthorised("the token is not known, has expired or was revoked")
    return _credential(row)


def credential_by_id(store: Store, token_id: str, now_ms: int) -> Credential | None:
    """The credential of an id that this service vouched for itself (a signed cookie); None when it is not live."""
    with store.registry_reader() as conn:
        row = rows.token_by_id(conn, token_id)
    return _credential(row) if row and _live(row, now_ms) else None


def list_tokens(store: Store) -> list[dict[str, Any]]:
    """What may be told of every credential, ready for JSON; oldest first."""
    with store.registry_reader() as conn:
        return [_shown(row) for row in rows.all_tokens(conn)]


def revoke_token(store: Store, token_id: str, now_ms: int) -> None:
    """The credential is refused from now on. raises: NotFound for an id that names none."""
    with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
        if not rows.revoke_token(conn, token_id, now_ms) and rows.token_by_id(conn, token_id) is None:
            raise NotFound("no token has this id")


def ttl_ms(text: str) -> int:
    """How long a text such as 90s, 30m, 1h or 7d lasts. raises: BadRequest."""
    found = _TTL.fullmatch(text)
    if not found or not int(found[1]):
        raise BadRequest("ttl must be a number with s, m, h or d, such as 1h", "ttl")
    return int(found[1]) * _UNIT_MS[found[2]]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _live(row: TokenRow, now_ms: int) -> bool:
    return row.revoked_at_ms is None and (row.expires_at_ms is None or now_ms < row.expires_at_ms)


def _credential(row: TokenRow) -> Credential:
    caller = Caller(row.agent_id, row.session_key, sandboxed=row.sandboxed) if row.agent_id and row.session_key else None
    return Credential(cast(Kind, row.kind), caller, row.read_only, row.id)


def _shown(row: TokenRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "agentId": row.agent_id,
        "sessionKey": row.session_key,
        "sandboxed": row.sandboxed,
        "readOnly": row.read_only,
        "label": row.label,
        "createdAt": when(row.created_at_ms),
        "expiresAt": when(row.expires_at_ms),
        "revokedAt": when(row.revoked_at_ms),
    }
