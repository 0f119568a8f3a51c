"""session-search token: credentials made, listed and revoked."""

import click

from shared.clock import now_ms, when
from shared.config import read_settings
from shared.store import open_store
from shared.tokens import Issued, Kind, issue_token, list_tokens, revoke_token, ttl_ms
from worker.commands.common import json_option, say, say_json


@click.group("token")
def token_command() -> None:
    """Make, list and revoke credentials. A new token is printed once, on one line; only its hash is kept."""


def _issue(
    kind: Kind,
    as_json: bool,
    *,
    ttl: str | None,
    label: str,
    agent: str | None = None,
    session: str | None = None,
    sandboxed: bool = False,
    read_only: bool = False,
) -> None:
    store = open_store(read_settings())
    try:
        lasts_ms = None if ttl is None else ttl_ms(ttl)
        made = issue_token(
            store,
            kind,
            now_ms(),
            agent_id=agent,
            session_key=session,
            sandboxed=sandboxed,
            read_only=read_only,
            ttl_ms=lasts_ms,
            label=label,
        )
    finally:
        store.close()
    _print(made, as_json)


def _print(made: Issued, as_json: bool) -> None:
    if as_json:
        say_json({"token": made.text, "id": made.token_id, "expiresAt": when(made.expires_at_ms)})
    else:
        say(made.text)


ttl_option = click.option("--ttl", metavar="TIME", help="How long it is good for, such as 30m, 1h or 7d; for ever without it.")
label_option = click.option("--label", default="", metavar="TEXT", help="A name for the list.")


@token_command.command("platform")
@ttl_option
@label_option
@json_option
def platform_command(ttl: str | None, label: str, as_json: bool) -> None:
    """A token that writes transcripts, and reads as any caller it names."""
    _issue("platform", as_json, ttl=ttl, label=label)


@token_command.command("agent")
@click.option("--agent", required=True, metavar="ID", help="The agent.")
@click.option("--session", required=True, metavar="KEY", help="The session it reads as.")
@click.option("--sandboxed", is_flag=True, help="It sees what it spawned, and no more.")
@ttl_option
@label_option
@json_option
def agent_command(*, agent: str, session: str, sandboxed: bool, ttl: str | None, label: str, as_json: bool) -> None:
    """A token that reads as the one caller sealed in it."""
    _issue("agent", as_json, ttl=ttl, label=label, agent=agent, session=session, sandboxed=sandboxed)


@token_command.command("operator")
@click.option("--read-only", is_flag=True, help="It looks and does not act.")
@ttl_option
@label_option
@json_option
def operator_command(read_only: bool, ttl: str | None, label: str, as_json: bool) -> None:
    """A token for the operators' routes and pages; it reads no transcript."""
    _issue("operator", as_json, ttl=ttl, label=label, read_only=read_only)


@token_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Every token by its id; the tokens themselves are not kept."""
    store = open_store(read_settings())
    try:
        found = list_tokens(store)
    finally:
        store.close()
    if as_json:
        say_json({"tokens": found})
        return
    for row in found:
        sealed = f" {row['agentId']} {row['sessionKey']}" if row["agentId"] else ""
        flags = "".join(f" {word}" for word, on in (("sandboxed", row["sandboxed"]), ("read-only", row["readOnly"])) if on)
        ended = f" revoked {row['revokedAt']}" if row["revokedAt"] else f" expires {row['expiresAt']}" if row["expiresAt"] else ""
        say(f"{row['id']} {row['kind']}{sealed}{flags} made {row['createdAt']}{ended} {row['label']}".rstrip())


@token_command.command("revoke")
@click.argument("token_id", metavar="ID")
@json_option
def revoke_command(token_id: str, as_json: bool) -> None:
    """Refuse a token from now on, in every process."""
    store = open_store(read_settings())
    try:
        revoke_token(store, token_id, now_ms())
    finally:
        store.close()
    if as_json:
        say_json({"id": token_id, "revoked": True})
