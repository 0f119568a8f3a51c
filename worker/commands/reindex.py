"""session-search reindex: order the reconciliation of sessions, and follow it."""

from typing import Any

import click

from shared.clock import now_ms
from worker.commands.common import for_people, json_option, opened, say, say_json, time_option


@click.command("reindex")
@click.option("--all", "all_agents", is_flag=True, help="Every agent (the default).")
@click.option("--agent", metavar="ID", help="One agent.")
@click.option("--session", metavar="KEY", help="One session.")
@click.option("--since", metavar="TIME", help="Only sessions used since then.")
@click.option("--force", is_flag=True, help="Also what is not pending; its rows serve on meanwhile.")
@click.option("--wait", is_flag=True, help="Until the batch has ended; 1 when a job of it failed.")
@json_option
def reindex_command(
    *, all_agents: bool, agent: str | None, session: str | None, since: str | None, force: bool, wait: bool, as_json: bool
) -> None:
    """Order the reconciliation of what is pending. Safe under cron: a run of the same kind that is not over is not doubled.

    Then --wait follows the run that is going on; without it the exit code is 75.
    """
    from shared.reindex import order_reindex
    from worker.cli import DONE, FAILED, HELD, exit_with
    from worker.reindex import bar, follow, lines, silence

    everything = all_agents or (agent is None and session is None)
    since_ms = time_option(since, "--since")
    with opened() as (_, store, queue):
        order = order_reindex(
            store, queue, agent_id=agent, session_key=session, all_agents=everything, since_ms=since_ms, force=force, now_ms=now_ms()
        )
        if not as_json:
            state = "already runs" if order.joined else "enqueued"
            say(f"batch {order.batch_id}: {order.sessions} sessions {state}")
        if not wait:
            if as_json:
                say_json({"batchId": order.batch_id, "sessions": order.sessions, "joined": order.joined})
            exit_with(HELD if order.joined else DONE)
        with silence() if as_json else bar() if for_people() else lines(say) as show:
            ended = follow(queue, order.batch_id, show)
    _tell(ended, as_json)
    exit_with(FAILED if ended["failed"] else DONE)


def _tell(ended: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(ended)
    else:
        counts = ", ".join(f"{ended[name]} {name}" for name in ("done", "failed", "cancelled") if ended[name] or name == "done")
        say(f"batch {ended['batchId']}: {counts}")
