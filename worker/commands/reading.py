"""session-search search, history, list, explain: reading as a caller, or as the owner of the data folder."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from shared.clock import now_ms
from shared.config import MODES
from shared.errors import BadRequest
from shared.store import Store, registry
from shared.visibility import OWNER, Caller
from worker.commands.common import json_option, opened, say, say_json, time_option

F = TypeVar("F", bound=Callable[..., Any])


def caller_options(command: F) -> F:
    """Adds --as and what belongs to it."""
    command = click.option("--as", "as_key", metavar="CALLER", help="The session that asks, by its key; else the owner, who sees all.")(
        command
    )
    command = click.option("--as-agent", metavar="ID", help="Its agent, when neither the store nor its key (agent:ID:…) tells.")(command)
    return click.option("--sandboxed", is_flag=True, help="The session that asks is sandboxed.")(command)


def caller_of(store: Store, as_key: str | None, as_agent: str | None, sandboxed: bool) -> Caller:
    """Who asks. raises: BadRequest when the agent of a session key cannot be told."""
    if as_key is None:
        if as_agent is not None or sandboxed:
            raise BadRequest("--as-agent and --sandboxed need --as", "as")
        return OWNER
    with store.registry_reader() as conn:
        claim = registry.latest_claim(conn, as_key)
    agent_id = as_agent or (claim.agent_id if claim and not claim.deleted else None) or _agent_in(as_key)
    if agent_id is None:
        raise BadRequest(f"whose session {as_key!r} is cannot be told: add --as-agent ID", "as")
    return Caller(agent_id, as_key, sandboxed=sandboxed)


def _agent_in(key: str) -> str | None:
    parts = key.split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" and parts[1] else None


scope_option = click.option("--scope", type=click.Choice(MODES), help="See less than the caller may.")
cursor_option = click.option("--cursor", metavar="TEXT", help="Go on where an answer stopped (its nextCursor).")


@click.command("search")
@click.argument("query")
@caller_options
@click.option("--session", metavar="KEY", help="Only this session.")
@click.option("--role", type=click.Choice(["user", "assistant"]), help="Only what this role said.")
@click.option("--after", metavar="TIME", help="Not older than this.")
@click.option("--before", metavar="TIME", help="Older than this.")
@click.option("--match", type=click.Choice(["auto", "all", "any"]), default="auto", show_default=True)
@click.option("--order", type=click.Choice(["relevance", "recent"]), default="relevance", show_default=True)
@click.option("--group", type=click.Choice(["message", "session"]), default="message", show_default=True)
@click.option("--limit", type=int, default=10, show_default=True)
@scope_option
@cursor_option
@json_option
def search_command(
    query: str,
    *,
    as_key: str | None,
    as_agent: str | None,
    sandboxed: bool,
    session: str | None,
    after: str | None,
    before: str | None,
    cursor: str | None,
    as_json: bool,
    **rest: Any,
) -> None:
    """Find messages. Every word is wanted; "a phrase", word*, OR and NOT have meaning, all else is literal."""
    from shared.search import SearchRequest, search_sessions

    request = SearchRequest(
        query, session_key=session, after_ms=time_option(after, "--after"), before_ms=time_option(before, "--before"), cursor=cursor, **rest
    )
    with opened() as (_, store, queue):
        answer = search_sessions(store, caller_of(store, as_key, as_agent, sandboxed), request, now_ms())
        queue.enqueue_reconcile(answer.owed, now_ms())
        for agent_id in answer.drain:
            queue.enqueue_drain(agent_id, now_ms())
    if as_json:
        say_json(answer.body)
        return
    for hit in answer.body["results"]:
        _say_hit(hit)
    if not answer.body["results"]:
        say("nothing found")
    if answer.body.get("warning"):
        say(answer.body["warning"])
    if answer.body["nextCursor"]:
        say(f"more: --cursor {answer.body['nextCursor']}")


def _say_hit(hit: dict[str, Any]) -> None:
    title = f" “{hit['title']}”" if hit.get("title") else ""
    more = f" ({hit['matches']}{'+' if hit.get('matchesMore') else ''} matches)" if "matches" in hit else ""
    say(f"{hit['timestamp']} {hit['role']} {hit['sessionKey']}{title} {hit['messageId']}{more}")
    say(f"    {hit['excerpt']}")


@click.command("history")
@click.argument("key")
@caller_options
@click.option("--message", metavar="ID", help="The messages around this one.")
@click.option("--session-id", metavar="ID", help="An older transcript of the session.")
@click.option("--limit", type=int, default=20, show_default=True)
@click.option("--before", metavar="CURSOR", help="Older ones (an answer's `before`).")
@click.option("--after", metavar="CURSOR", help="Newer ones (an answer's `after`).")
@click.option("--tools", is_flag=True, help="Tool calls and results too.")
@json_option
def history_command(
    key: str,
    *,
    as_key: str | None,
    as_agent: str | None,
    sandboxed: bool,
    message: str | None,
    session_id: str | None,
    limit: int,
    before: str | None,
    after: str | None,
    tools: bool,
    as_json: bool,
) -> None:
    """Show the messages of a session, the newest by default."""
    from shared.history import HistoryRequest, read_history

    request = HistoryRequest(key, message_id=message, session_id=session_id, limit=limit, before=before, after=after, include_tools=tools)
    with opened() as (_, store, _queue):
        answer = read_history(store, caller_of(store, as_key, as_agent, sandboxed), request)
    if as_json:
        say_json(answer)
        return
    for shown in answer["messages"]:
        say(f"{shown.get('timestamp')} {shown['role']} {shown['id']}")
        for line in str(shown.get("text", "")).split("\n"):
            say(f"    {line}")
    for name in ("before", "after"):
        if answer[name]:
            say(f"{'older' if name == 'before' else 'newer'}: --{name} {answer[name]}")


@click.command("list")
@caller_options
@click.option("--limit", type=int, default=20, show_default=True)
@scope_option
@cursor_option
@json_option
def list_command(
    *, as_key: str | None, as_agent: str | None, sandboxed: bool, limit: int, scope: str | None, cursor: str | None, as_json: bool
) -> None:
    """List sessions, most recently used first."""
    from shared.listing import ListRequest, list_sessions

    with opened() as (_, store, _queue):
        answer = list_sessions(store, caller_of(store, as_key, as_agent, sandboxed), ListRequest(limit, cursor, scope))
    if as_json:
        say_json(answer)
        return
    for row in answer["sessions"]:
        title = f" “{row['title']}”" if row["title"] else ""
        pending = " pending" if row["pending"] else ""
        say(f"{row['updatedAt']} {row['sessionKey']}{title} {row['messages']} messages{pending}")
    if answer["nextCursor"]:
        say(f"more: --cursor {answer['nextCursor']}")


@click.command("explain")
@click.argument("key")
@caller_options
@scope_option
@json_option
def explain_command(key: str, *, as_key: str | None, as_agent: str | None, sandboxed: bool, scope: str | None, as_json: bool) -> None:
    """Say whether a caller sees a session, and why. For the owner of the data folder: it tells what callers are not told."""
    from worker.explaining import explain

    with opened() as (_, store, _queue):
        told = explain(store, caller_of(store, as_key, as_agent, sandboxed), key, scope)
    if as_json:
        say_json(told)
        return
    say(f"{'seen' if told['seen'] else 'not seen'}: {told['why']}")
    for line in told["facts"]:
        say(f"    {line}")
