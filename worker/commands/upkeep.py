"""session-search verify, prune, backup: checks and upkeep by hand."""

from pathlib import Path
from typing import Any

import click

from shared.errors import StoreUnavailable
from worker.commands.common import for_people, json_option, opened, say, say_json


@click.command("verify")
@click.option("--repair", is_flag=True, help="Make what differs pending, so that it is mended.")
@click.option("--agent", metavar="ID", help="Only this agent.")
@json_option
def verify_command(repair: bool, agent: str | None, as_json: bool) -> None:
    """Compare every index with a fresh computation from the transcripts; the exit code is 1 when a difference is found."""
    from worker.cli import DONE, FAILED, exit_with
    from worker.verify import verify_agent

    found: list[dict[str, Any]] = []
    with opened() as (_, store, _queue):
        agents = store.agent_ids() if agent is None else [agent]
        for agent_id in agents:
            try:
                found += [_difference(one) for one in verify_agent(store, agent_id, repair)]
            except StoreUnavailable as e:
                found.append({"agentId": agent_id, "sessionKey": None, "sessionId": None, "what": f"{e} ({e.path})"})
    if as_json:
        say_json({"agents": len(agents), "differences": found, "repaired": repair and bool(found)})
    else:
        for one in found:
            say(" ".join(str(part) for part in one.values() if part is not None))
        say(f"{len(agents)} agents, {len(found)} differences" + (", made pending" if repair and found else ""))
    exit_with(FAILED if found else DONE)


def _difference(found: Any) -> dict[str, Any]:
    return {"agentId": found.agent_id, "sessionKey": found.session_key, "sessionId": found.session_id, "what": found.what}


@click.command("prune")
@json_option
def prune_command(as_json: bool) -> None:
    """Forget ended jobs beyond what is kept: done ones 7 days, failed ones 30, and the newest only of very many."""
    from worker.maintenance import prune

    with opened() as (_, _store, queue):
        result = prune(queue)
    if as_json:
        say_json({"result": result})
    else:
        say(result)


@click.command("backup")
@click.argument("path", type=click.Path(path_type=Path))
@json_option
def backup_command(path: Path, as_json: bool) -> None:
    """Copy the data folder to a new folder while it is in use. To restore, let SESSION_SEARCH_DATA name the copy."""
    from worker.backup import backup

    with opened() as (_, store, _queue):
        if for_people() and not as_json:
            from rich.progress import Progress

            with Progress(transient=True) as bar:
                task = bar.add_task("databases")
                copied = backup(store, path, lambda done, total: bar.update(task, completed=done, total=total))
        else:
            copied = backup(store, path)
    if as_json:
        say_json({"path": str(path), "databases": copied})
    else:
        say(f"{copied} databases copied to {path}")
