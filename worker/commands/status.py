"""session-search status and jobs: what is owed, whether it gets done, and acting on it."""

from typing import Any

import click

from shared import jobs
from shared.clock import now_ms
from shared.errors import BadRequest
from shared.jobs import JobFilter
from worker.commands.common import json_option, opened, say, say_json, time_option


@click.command("status")
@json_option
def status_command(as_json: bool) -> None:
    """Show what is owed and whether it gets done; the exit code is 1 when jobs wait and no worker makes progress."""
    from shared.overview import agents_overview
    from worker.cli import DONE, FAILED, exit_with

    with opened() as (_, store, queue):
        at_ms = now_ms()
        found = jobs.queue_overview(queue, at_ms)
        ready = jobs.readiness(queue, at_ms)
        agents = agents_overview(store)
        periodic = jobs.schedules(queue, at_ms)
    if as_json:
        say_json({"ready": ready.ready, "reasons": list(ready.reasons), "queue": found, "agents": agents, "schedules": periodic})
    else:
        _say_status(found, agents, ready)
    exit_with(DONE if ready.ready else FAILED)


def _say_status(found: dict[str, Any], agents: list[dict[str, Any]], ready: jobs.Readiness) -> None:
    say(f"queue: {', '.join(f'{count} {state}' for state, count in found['depth'].items())}{', paused' if found['paused'] else ''}")
    say(f"oldest wait: {found['oldestWaitMs'] / 1000:.1f} s; {found['throughput']} jobs done a minute")
    for worker in found["workers"]:
        job = f", job {worker['job']}" if worker["job"] else ""
        say(f"worker {worker['id']}: {worker['state']}, heartbeat {worker['heartbeatAt']}, progress {worker['progressAt']}{job}")
    if not found["workers"]:
        say("no worker runs")
    for row in agents:
        parts = ", ".join(f"{row[name]} {name}" for name in ("sessions", "indexed", "pending", "failed"))
        say(f"agent {row['agentId']}: {parts}, index {row['indexBytes']} bytes")
    for reason in ready.reasons:
        say(f"not ready: {reason}")


@click.command("jobs")
@click.argument("job_id", metavar="[ID]", required=False)
@click.option("--state", metavar="STATE", help=", ".join(jobs.STATES))
@click.option("--task", metavar="NAME", help="reconcile, drain or erase.")
@click.option("--agent", metavar="ID", help="Of this agent.")
@click.option("--session", metavar="KEY", help="Of this session.")
@click.option("--batch", metavar="ID", help="Of this order to reindex.")
@click.option("--text", metavar="TEXT", help="Part of the error.")
@click.option("--since", metavar="TIME", help="Ordered since then.")
@click.option("--until", metavar="TIME", help="Ordered before then.")
@click.option("--limit", type=int, default=50, show_default=True)
@click.option("--cursor", metavar="TEXT", help="Go on where a list stopped.")
@click.option("--retry", is_flag=True, help="Queue the job, or all that the filter selects, again.")
@click.option("--cancel", is_flag=True, help="Cancel the job, or all that the filter selects.")
@click.option("--pause", is_flag=True, help="Let workers take nothing more.")
@click.option("--resume", is_flag=True, help="Let workers take jobs again.")
@json_option
def jobs_command(job_id: str | None, limit: int, cursor: str | None, as_json: bool, **asked: Any) -> None:
    """Show jobs, newest first, or the one of this ID; retry or cancel them; pause the queue or resume it."""
    actions = [name for name in ("retry", "cancel", "pause", "resume") if asked[name]]
    if len(actions) > 1:
        raise BadRequest("one of --retry, --cancel, --pause and --resume at a time", actions[1])
    wanted = JobFilter(
        state=asked["state"],
        task=asked["task"],
        agent_id=asked["agent"],
        session_key=asked["session"],
        batch_id=asked["batch"],
        q=asked["text"],
        since_ms=time_option(asked["since"], "--since"),
        until_ms=time_option(asked["until"], "--until"),
    )
    with opened() as (_, store, queue):
        if actions in (["pause"], ["resume"]):
            (jobs.pause_queue if asked["pause"] else jobs.resume_queue)(queue, now_ms())
            _tell({"paused": jobs.queue_paused(queue)}, as_json)
        elif job_id is not None:
            act = {
                "retry": lambda: jobs.retry_job(store, queue, job_id, now_ms()),
                "cancel": lambda: jobs.cancel_job(queue, job_id, now_ms()),
            }
            _tell(act[actions[0]]() if actions else jobs.job_detail(queue, job_id, now_ms()), as_json)
        elif actions:
            count = jobs.retry_jobs(store, queue, wanted, now_ms()) if asked["retry"] else jobs.cancel_jobs(queue, wanted, now_ms())
            _tell({"jobs": count}, as_json)
        else:
            _list(jobs.list_jobs(queue, wanted, now_ms(), cursor=cursor, limit=limit), as_json)


def _tell(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(answer)
        return
    for name, value in answer.items():
        if name != "timeline" and value is not None:
            say(f"{name}: {value}")
    for event in answer.get("timeline", ()):
        say("    " + " ".join(str(part) for part in event.values() if part is not None))


def _list(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(answer)
        return
    for row in answer["jobs"]:
        what = " ".join(str(row[name]) for name in ("id", "state", "task", "agentId", "sessionKey") if row[name] is not None)
        say(f"{what} {row['queuedAt']}{': ' + row['error'] if row['error'] else ''}")
    if answer["nextCursor"]:
        say(f"more: --cursor {answer['nextCursor']}")
