"""session-search verify, prune, backup: checks and upkeep by hand."""

from pathlib import Path
from typing import Any, TextIO

import click

from shared.clock import now_ms
from shared.errors import NotFound, StoreUnavailable
from worker.commands.common import for_people, json_option, opened, say, say_json


@click.command("verify")
@click.option("--repair", is_flag=True, help="Make what differs pending, so that it is mended.")
@click.option("--agent", metavar="ID", help="Only this agent.")
@click.option(
    "--erased",
    type=click.File("r", encoding="utf-8"),
    metavar="WORD-FILE",
    help="Instead: prove that these words, one a line, are in no file.",
)
@json_option
def verify_command(repair: bool, agent: str | None, erased: TextIO | None, as_json: bool) -> None:
    """Compare every index with a fresh computation from the transcripts; the exit code is 1 when a difference is found."""
    from worker.cli import DONE, FAILED, exit_with
    from worker.verify import verify_agent

    if erased is not None:
        exit_with(_verify_erased(erased, as_json=as_json))
    found: list[dict[str, Any]] = []
    with opened() as (_, store, _queue):
        if agent is not None and not store.has_agent(agent):
            raise NotFound("no agent has this id")
        agents = store.agent_ids() if agent is None else [agent]
        for agent_id in agents:
            try:
                found += [_difference(one) for one in verify_agent(store, agent_id, repair=repair, now_ms=now_ms())]
            except StoreUnavailable as e:
                found.append({"agentId": agent_id, "sessionKey": None, "sessionId": None, "what": f"{e} ({e.path})"})
    if as_json:
        say_json({"agents": len(agents), "differences": found, "repaired": repair and bool(found)})
    else:
        for one in found:
            say(" ".join(str(part) for part in one.values() if part is not None))
        say(f"{len(agents)} agents, {len(found)} differences" + (", made pending" if repair and found else ""))
    exit_with(FAILED if found else DONE)


def _verify_erased(words: TextIO, *, as_json: bool) -> int:
    """Tells where any of the words still stands; the exit code. The words themselves are not repeated."""
    from shared.config import read_settings
    from worker.cli import DONE, FAILED
    from worker.erased import find_traces

    traces = find_traces(read_settings(), [line.rstrip("\n") for line in words])
    if as_json:
        say_json({"traces": [{"line": t.line, "path": t.path, "where": t.where} for t in traces]})
    else:
        for trace in traces:
            say(f"word {trace.line} is still in {trace.where}: {trace.path}")
        say(f"{len(traces)} traces")
    return FAILED if traces else DONE


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
