"""The operators' page and a job's: what is owed, what the queue does, who works, and the jobs that the filter in the address selects.

The page asks again for its parts every two seconds and replaces what changed. Whatever the number of people who look, the agents'
databases are counted for a twentieth of the time at most.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from flask import Flask, Response, current_app, render_template

from shared.clock import zone_of
from shared.errors import StoreUnavailable
from shared.jobs import STATES, job_detail, list_batches, list_jobs, queue_overview, queue_series, readiness, schedules
from shared.overview import agents_overview, oldest_owed_ms, parked_sessions
from shared.queue import RECONCILE, TASKS
from shared.store import Store
from web import acting, bodies
from web.address import credential, filled, link
from web.call import given
from web.charts import charts
from web.kept import Kept
from web.ops import filter_of
from web.reading import read_query
from web.services import Services, services
from web.standing import standing
from web.views import local, since, time_ms

PARTS = ("standing", "totals", "queue", "workers", "agents", "parked", "batches", "jobs", "schedules")
JOBS_SHOWN = 25
BATCHES_SHOWN = 5
PARKED_SHOWN = 10  # of an agent
WINDOWS = (("hour", 3_600_000, 60), ("day", 86_400_000, 96))
CHARTS_S = 10.0  # charts of minutes are no older
GLANCES = "session_search_glances"

Row = dict[str, Any]


@dataclass(frozen=True)
class Glances:
    """What the page remembers between two looks."""

    agents: Kept[list[Row]] = field(default_factory=Kept)
    charts: Kept[list[Row]] = field(default_factory=lambda: Kept(CHARTS_S))


def install(app: Flask) -> None:
    """The application has the page's memory."""
    app.extensions[GLANCES] = Glances()


def _glances() -> Glances:
    return cast(Glances, current_app.extensions[GLANCES])


def _standing_of(store: Store, row: Row) -> Row:
    """An agent's row with since when it owes work, and what of it is parked."""
    agent_id = row["agentId"]
    try:
        oldest = oldest_owed_ms(store, agent_id) if row["pending"] else None
        parked = parked_sessions(store, agent_id, limit=PARKED_SHOWN) if row["failed"] else []
    except StoreUnavailable as e:
        return {**row, "oldestMs": None, "parked": [], "error": str(e)}
    return {**row, "oldestMs": oldest, "parked": parked}


def ops_page() -> Response:
    """The whole page, with a word about what was done if somebody comes from there."""
    asked = filled()
    told = acting.told(asked.pop("did", ""), asked.pop("count", ""))
    seen = _seen(asked, fresh=True)
    return Response(
        render_template(
            "ops.html",
            **seen,
            told=told,
            charts=_charts(),
            state_options=_options(STATES, asked.get("state")),
            task_options=_options(sorted(TASKS), asked.get("task")),
        )
    )


def _options(names: Sequence[str], asked: str | None) -> list[tuple[str, str]]:
    """What a field of the filter offers; what the address asks for is among it."""
    further = [asked] if asked and asked not in names else []
    return [("", "any"), *((name, name) for name in [*names, *further])]


def live_parts() -> Response:
    """The parts of the page that change, to be put in the place of the old ones."""
    return Response(render_template("ops/live.html", **_seen(filled(), fresh=False), live=True))


def charts_part() -> Response:
    """The charts alone, which change more slowly and cost more."""
    return Response(render_template("ops/charts.html", charts=_charts()))


def _seen(asked: dict[str, str], *, fresh: bool) -> Row:
    """What the page's parts show. asked: the filter in the address."""
    here, now_ms = services(), services().now_ms()
    wanted = read_query(bodies.ListJobs, asked.items())
    limit = (wanted.limit or JOBS_SHOWN) if "limit" in asked else JOBS_SHOWN
    found = list_jobs(here.queue, filter_of(wanted), now_ms, limit=limit, **given(wanted, "cursor"))
    queue = queue_overview(here.queue, now_ms)
    agents = _glances().agents.get(lambda: [_standing_of(here.store, row) for row in agents_overview(here.store)], fresh=fresh)
    narrowed = {name: value for name, value in asked.items() if name not in ("cursor", "limit")}
    return {
        "parts": PARTS,
        "asked": asked,
        "narrowed": narrowed,
        "may_act": not credential().read_only,
        "now_ms": now_ms,
        "queue": queue,
        "totals": _totals(agents, now_ms),
        "standing": standing(queue, agents, ready=readiness(here.queue, now_ms).ready),
        "agents": agents,
        "batches": [_batch(row, now_ms) for row in list_batches(here.queue, BATCHES_SHOWN)],
        "jobs": found["jobs"],
        "older": link("/ops", asked, cursor=found["nextCursor"]) + "#jobs" if found["nextCursor"] else None,
        "newest": link("/ops", asked, cursor=None) + "#jobs" if "cursor" in asked else None,
        "schedules": [_schedule(row, here.settings.timezone) for row in schedules(here.queue, now_ms)],
        "states": STATES,
        "act": lambda name, **named: link(f"/ops/do/{name}", {}, **named),
        "act_on_filter": lambda name: link(f"/ops/do/{name}", narrowed),
        "live_path": link("/ops/live", asked),
        "since": lambda iso: since(iso, now_ms),
    }


def job_page(job_id: str) -> Response:
    """One job, what happened to it, and whether its session is parked."""
    asked = filled()
    here, now_ms = services(), services().now_ms()
    job = job_detail(here.queue, job_id, now_ms)
    return Response(
        render_template(
            "job.html",
            job=job,
            parked=_parked(here, job),
            reconciles=job["task"] == RECONCILE and bool(job["sessionKey"]),
            may_act=not credential().read_only,
            act=lambda name, **named: link(f"/ops/do/{name}", {}, **named),
            told=acting.told(asked.get("did", ""), asked.get("count", "")),
        )
    )


def _parked(here: Services, job: Row) -> Row | None:
    agent_id, session_key = job["agentId"], job["sessionKey"]
    if not agent_id or not session_key or not here.store.has_agent(agent_id):
        return None
    try:
        return next(iter(parked_sessions(here.store, agent_id, limit=1, session_key=session_key)), None)
    except StoreUnavailable:
        return None  # the agent's row on the operators' page says so


def _charts() -> list[Row]:
    here = services()

    def drawn() -> list[Row]:
        now_ms = here.now_ms()
        return [
            {"window": name, "charts": charts(queue_series(here.queue, now_ms, window_ms=window_ms, buckets=buckets), name)}
            for name, window_ms, buckets in WINDOWS
        ]

    return _glances().charts.get(drawn)


def _totals(agents: list[Row], now_ms: int) -> Row:
    sums = {name: sum(row[name] for row in agents) for name in ("sessions", "indexed", "pending", "failed", "indexBytes")}
    oldest = min((row["oldestMs"] for row in agents if row["oldestMs"] is not None), default=None)
    return {**sums, "waitedMs": None if oldest is None else max(0, now_ms - oldest)}


def _batch(row: Row, now_ms: int) -> Row:
    """A bulk run with how much of it has ended, and how long the rest may take at the pace so far."""
    ended = row["sessions"] - row["open"]
    begun_ms, ended_ms = time_ms(row["createdAt"]), time_ms(row["endedAt"])
    took_ms = (ended_ms or now_ms) - (begun_ms or now_ms)
    left_ms = took_ms * row["open"] // ended if ended and row["open"] and row["state"] == "running" else None
    scope = row["scope"]
    if not scope.startswith("session "):
        scope = re.sub(r"since (\d{1,15})", lambda found: f"used since {local(int(found[1]), 'UTC')} UTC", scope)
    return {**row, "scope": scope, "ended": ended, "tookMs": took_ms, "leftMs": left_ms}


def _schedule(row: Row, timezone: str) -> Row:
    """A schedule with its zone; the next run of a crontab line is told in that zone's time too."""
    if row["rule"].startswith("every "):
        return {**row, "zone": zone_of(timezone).key, "nextLocal": None}
    rule, _, zone = row["rule"].rpartition(" ")  # a crontab line, told with its zone
    return {**row, "rule": rule, "zone": zone, "nextLocal": local(time_ms(row["nextRunAt"]) or 0, zone)}
