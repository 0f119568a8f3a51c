"""The operators' page: true, escaped, closed to others, the same by itself and in parts, and no text of a transcript on it."""

import re
from html import unescape

import pytest
from flask import Flask

from shared.jobs import STATES
from shared.queue import LOST_AFTER_MS, TASKS, Queue
from shared.store import workers
from tests.web.conftest import ADA, Visitor, message, say, services_of, visitor
from tests.web.test_pages import Outline
from web.charts import HEIGHT, charts
from web.kept import Kept
from web.standing import standing
from web.views import field_time
from web.watching import PARTS

MINUTE_MS = 60_000
WORKER = "host-1-ab/interactive-1"


@pytest.fixture
def queue(app: Flask) -> Queue:
    return services_of(app).queue


@pytest.fixture
def owed(platform: Visitor) -> Visitor:
    """One session of ada's owes work, and has a job."""
    say(platform, message("a", "alpha"), message("b", "beta"))
    platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})
    return platform


def work(queue: Queue, now_ms: int) -> None:
    with queue.transaction() as conn:
        workers.add_worker(conn, WORKER, "interactive", now_ms)


def page_of(who: Visitor, **named: str) -> str:
    answer = who.get("/ops", **named)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


def section(page: str, name: str) -> str:
    """A part of the page as people read it: no markup, single spaces."""
    found = re.findall(rf'<div id="live-{name}".*?>(.*?)(?=<div id="live-|<section|</main>)', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", found[0]).split())


@pytest.mark.usefixtures("owed")
def test_the_page_says_what_is_owed_and_how_long_the_oldest_has_waited(operator: Visitor):
    page = page_of(operator)

    assert re.search(r"Sessions owed 1 the oldest for \d", section(page, "totals"))
    assert re.search(r"Jobs waiting 1 the oldest for \d", section(page, "totals"))
    assert "Work is owed, and no worker is there to do it." in section(page, "standing")
    assert "queued 1 jobs queued" in section(page, "queue")


def test_every_part_stands_on_the_page_and_comes_alone_when_asked_for(operator: Visitor, owed: Visitor):
    whole, parts = page_of(operator), operator.get("/ops/live")

    for part in PARTS:
        assert f'id="live-{part}"' in whole
        assert f'<div id="live-{part}" hx-swap-oob="innerHTML">' in parts.text
    assert "<html" not in parts.text
    assert 'class="chart' in operator.get("/ops/charts").text


def test_the_page_asks_for_its_parts_with_the_filter_of_its_address(operator: Visitor):
    page = page_of(operator, state="failed", q="event at")

    (asked,) = re.findall(r'hx-get="(/ops/live[^"]*)"', page)
    assert asked == "/ops/live?state=failed&q=event+at"
    assert operator.ask("GET", asked).status_code == 200


@pytest.mark.parametrize("path", ["/ops", "/ops/live", "/ops/charts", "/ops/jobs/none", "/ops/do/pause"])
def test_the_operators_pages_are_closed_to_others(app: Flask, ada: Visitor, platform: Visitor, path: str):
    assert ada.get(path).status_code == platform.get(path).status_code == 403
    assert visitor(app).get(path).status_code == 303


def test_workers_show_heartbeat_and_progress_apart(app: Flask, operator: Visitor, owed: Visitor, queue: Queue):
    now_ms = services_of(app).now_ms()
    work(queue, now_ms - 5 * MINUTE_MS)
    queue.take("interactive", WORKER, TASKS, now_ms - 5 * MINUTE_MS)
    with queue.transaction() as conn:
        workers.beat(conn, {WORKER: 0}, now_ms)

    stuck = page_of(operator)
    with queue.transaction() as conn:
        conn.execute("UPDATE workers SET heartbeat_at_ms = ?", (now_ms - LOST_AFTER_MS - 1_000,))
    lost = page_of(operator)

    assert re.search(r"stuck (now|\d+ m?s ago|\d\.\d s ago) 5 min ago", section(stuck, "workers"))
    assert "1 worker is stuck: alive, and getting nowhere." in section(stuck, "standing")
    assert " stale " in section(lost, "workers")
    assert re.search(r"retrying reconcile .* worker lost", section(lost, "jobs"))
    assert "running 0 jobs running" in section(lost, "queue")


def test_a_parked_session_stands_there_with_the_position_and_the_reason(app: Flask, operator: Visitor, platform: Visitor):
    from worker.reconcile import UnreadableEvent, reconcile_session

    say(platform, message("a", "alpha secret words"))
    here = services_of(app)
    with here.store.writer("ada") as conn:
        conn.execute("""UPDATE events SET payload = '{"text": "alpha secret'""")
    with pytest.raises(UnreadableEvent):
        reconcile_session(here.store, "ada", "agent:ada:main", "w", here.now_ms, lambda: None)

    page = page_of(operator)

    assert "agent:ada:main ada the event at position 1 cannot be read 1 Try again" in section(page, "parked")
    assert "1 session is parked and needs an operator." in section(page, "standing")
    assert "alpha" not in page


def test_a_key_is_text_whatever_is_in_it(operator: Visitor, platform: Visitor):
    key = """agent:ada:<img src=x onerror="alert(1)">'&amp;\u202e\n"""
    say(platform, message("a", "alpha"), key=key)
    platform.post("/v1/sessions/rewind", {"agentId": "ada", "sessionKey": key, "toEventId": None})
    operator.post("/v1/ops/reindex", {"agentId": "ada", "force": True})
    job = operator.get("/v1/ops/jobs").get_json()["jobs"][0]["id"]

    for path in ("/ops", "/ops/live", f"/ops/jobs/{job}", f"/ops/do/park?job={job}"):
        answer = operator.get(path) if "?" not in path else operator.ask("GET", path)
        outline = Outline(answer.text)
        assert answer.status_code == 200
        assert all(image["src"] == "/static/icon.svg" for image in outline.named("img"))
        assert "&lt;img src=x" in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    (link,) = [row["href"] for row in Outline(operator.get(f"/ops/jobs/{job}").text).named("a") if row.get("id") == "of-session"]
    assert operator.ask("GET", str(link).partition("#")[0]).text.count('id="job-') == 1


def test_a_job_whose_details_are_lost_breaks_no_page(operator: Visitor, owed: Visitor, queue: Queue):
    with queue.transaction() as conn:
        conn.execute("INSERT INTO task (queue, data) VALUES ('bulk', x'7b6e6f206a736f6e')")
        conn.execute("DELETE FROM jobs")
    queue.take("bulk", WORKER, TASKS, 1)
    (job,) = operator.get("/v1/ops/jobs").get_json()["jobs"]

    page, one = page_of(operator), operator.get(f"/ops/jobs/{job['id']}")

    assert "details lost" in section(page, "jobs")
    assert one.status_code == 200
    assert f'id="retry-{job["id"]}"' not in page


def test_a_database_that_cannot_be_read_is_named_and_hides_nothing_else(app: Flask, operator: Visitor, owed: Visitor):
    say(owed, message("g", "gamma"), agent="grete", key="agent:grete:main")
    here = services_of(app)
    here.store.close()
    here.store.agent_path("grete").write_bytes(b"no database" * 999)

    page = page_of(operator)

    assert "The database of agent grete cannot be read" in section(page, "standing")
    assert "ada" in section(page, "agents")


@pytest.mark.parametrize(
    ("named", "status"),
    [
        ({"task": "no such task"}, 200),
        ({"since": "1760000000000", "until": "2026-11-30T10:15"}, 200),
        ({"agentId": "ada", "state": "done", "sessionKey": "k", "q": "x", "batchId": "y"}, 200),
        ({"limit": "3"}, 200),
        ({"since": "soon"}, 422),
        ({"cursor": "x"}, 422),
        ({"agentId": "no/agent"}, 400),
    ],
)
def test_every_filter_works_or_is_refused_by_name(operator: Visitor, named: dict[str, str], status: int):
    answers = [operator.get(path, **named) for path in ("/ops", "/ops/live")]

    assert [answer.status_code for answer in answers] == [status, status]
    if status == 200:
        assert all(
            unescape(str(value)) in unescape(answers[0].text) for name, value in named.items() if name not in ("since", "until", "limit")
        )


def test_pages_of_jobs_lead_to_older_ones_and_back(operator: Visitor, owed: Visitor):
    for n in range(5):
        say(owed, message("a", "alpha"), key=f"agent:ada:{n}")
    operator.post("/v1/ops/reindex", {"all": True, "force": True})
    first = page_of(operator, limit="4", state="queued")

    (older,) = re.findall(r'id="older" href="([^"#]*)#jobs"', first)
    second = unescape(operator.ask("GET", older).text)
    (newest,) = re.findall(r'id="newest" href="([^"#]*)#jobs"', second)

    assert first.count('id="job-') == 4
    assert second.count('id="job-') == 2
    assert not set(re.findall(r'id="(job-\w+)"', first)) & set(re.findall(r'id="(job-\w+)"', second))
    assert newest == "/ops?limit=4&state=queued"


def test_a_bulk_run_shows_how_far_it_is_and_how_long_it_may_take(app: Flask, operator: Visitor, owed: Visitor, queue: Queue):
    for n in range(3):
        say(owed, message("a", "alpha"), key=f"agent:ada:{n}")
    operator.post("/v1/ops/reindex", {"agentId": "ada", "force": True, "since": 1_000})
    now_ms = services_of(app).now_ms()
    work(queue, now_ms)
    with queue.transaction() as conn:
        conn.execute("UPDATE batches SET created_at_ms = created_at_ms - 60000")
        (job,) = conn.execute("SELECT id FROM jobs LIMIT 1").fetchone()
        conn.execute("UPDATE jobs SET state = 'done', ended_at_ms = queued_at_ms WHERE id = ?", (job,))

    shown = section(page_of(operator), "batches")

    assert "agent ada used since 1970-01-01 00:00 UTC forced running 1 of 4 0 about 3 min left" in shown


def test_schedules_show_their_zone_last_result_and_next_run(operator: Visitor, queue: Queue):
    with queue.transaction() as conn:
        workers.know_schedule(conn, "reindex", "30 3 * * * Europe/Lisbon", 1_784_082_600_000)
        workers.know_schedule(conn, "sweep", "every 10 s", 1_784_082_600_000)
        workers.claim_run(conn, "sweep", "p", next_at_ms=1 << 42, alive_since_ms=0, now_ms=1_784_082_600_000)
        workers.end_run(conn, "sweep", "p", started_at_ms=1_784_082_600_000, result="3 sessions enqueued", now_ms=1_784_082_600_080)

    shown = section(page_of(operator), "schedules")

    assert "reindex 30 3 * * * Europe/Lisbon – – 2026-07-15 02:30" in shown
    assert "2026-07-15 03:30 there" in shown
    assert re.search(r"sweep every 10 s \S+ 2026-07-15 02:30 took 80 ms 3 sessions enqueued", shown)


def test_a_read_only_token_is_shown_no_way_to_act(app: Flask, operator: Visitor, owed: Visitor):
    onlooker = visitor(app, "operator", read_only=True)
    job = operator.get("/v1/ops/jobs").get_json()["jobs"][0]["id"]

    for path in ("/ops", "/ops/live", f"/ops/jobs/{job}"):
        assert "/ops/do/" in operator.get(path).text
        assert "/ops/do/" not in onlooker.get(path).text
    assert "read-only" in onlooker.get("/ops").text


@pytest.mark.parametrize("path", ["/ops", "/ops?state=failed", "/ops/jobs/JOB", "/ops/do/retry?job=JOB", "/ops/do/reindex"])
def test_the_operators_pages_can_be_read_by_a_screen_reader_and_hold_no_script_of_their_own(operator: Visitor, owed: Visitor, path: str):
    job = operator.get("/v1/ops/jobs").get_json()["jobs"][0]["id"]
    outline = Outline(operator.ask("GET", path.replace("JOB", job)).text)

    assert len(outline.named("main")) == len(outline.named("h1")) == len(outline.named("title")) == 1
    labels = {label["for"] for label in outline.named("label")}
    assert all(field.get("id") in labels for tag in ("input", "select") for field in outline.named(tag) if field.get("type") != "hidden")
    ids = [attributes["id"] for _, attributes in outline.attributes if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(outline.named("table")) == len(outline.named("caption"))
    assert all("scope" in head for head in outline.named("th"))
    assert all(row.get("aria-label") for row in outline.named("progress") + outline.named("svg"))
    assert all(re.match(r"/static/", row.get("src") or "") for row in outline.named("script"))
    assert not any(name == "style" or name.startswith("on") for _, attributes in outline.attributes for name in attributes)


def test_what_is_swapped_in_can_keep_the_focus(operator: Visitor, owed: Visitor):
    """The browser finds the focused element again by its id."""
    outline = Outline(operator.get("/ops/live").text)

    assert all("id" in row for tag in ("a", "button", "input", "select") for row in outline.named(tag))


def test_vendored_script_comes_with_its_licence(nobody: Visitor):
    for name in ("htmx.min.js", "htmx.LICENSE.txt"):
        assert nobody.ask("GET", f"/static/vendor/{name}", buffered=True).status_code == 200


# ---- words and bars


QUIET = {"workers": [], "paused": False, "depth": dict.fromkeys(STATES, 0)}
HEALTHY = {**QUIET, "workers": [{"state": "healthy"}]}
OWED = [{"agentId": "ada", "pending": 1, "failed": 0}]
PARKED = [{"agentId": "ada", "pending": 0, "failed": 2}]


@pytest.mark.parametrize(
    ("queue", "agents", "ready", "tone", "words"),
    [
        (HEALTHY, [], True, "good", "Nothing is owed: every session is indexed."),
        (HEALTHY, OWED, True, "busy", "Work is under way."),
        (HEALTHY, OWED, False, "bad", "Work stands still"),
        (QUIET, OWED, True, "bad", "no worker is there"),
        (QUIET, [], True, "warn", "no worker is running"),
        (HEALTHY, PARKED, True, "warn", "Nothing is owed but what is parked."),
        ({**HEALTHY, "paused": True}, OWED, True, "warn", "paused"),
        ({**HEALTHY, "depth": {**QUIET["depth"], "retrying": 1}}, [], True, "busy", "Work is under way."),
        ({**HEALTHY, "workers": [{"state": "healthy"}, {"state": "stuck"}]}, [], True, "warn", "Nothing is owed"),
    ],
)
def test_the_page_says_in_words_how_things_stand(queue: dict, agents: list, ready: bool, tone: str, words: str):
    found = standing(queue, agents, ready=ready)

    assert (found.tone, words in found.text) == (tone, True)


def stretch(done: int, failed: int, wait: int | None = None, high: int | None = None) -> dict[str, object]:
    times = {"waitP50": wait, "waitP95": high, "runP50": wait, "runP95": high}
    return {"at": "2026-11-30T10:15:00.000Z", "done": done, "failed": failed, **times}


@pytest.mark.parametrize(
    "series",
    [
        [],
        [stretch(0, 0)],
        [stretch(1, 0, 0, 0)],
        [stretch(0, 3, 5, 5), stretch(0, 0), stretch(9, 1, 2, 9_000_000)],
        [stretch(100_000, 100_000, 1, 2)] * 96,
    ],
)
def test_a_bar_never_leaves_its_chart_and_nothing_draws_nothing(series: list[dict[str, object]]):
    ended = sum(1 for row in series if row["done"] or row["failed"])

    for chart in charts(series, "hour"):
        assert len(chart.bars) == ended
        assert all(0 <= bar.high_y <= bar.low_y <= HEIGHT and bar.x + bar.width <= 240 for bar in chart.bars)
        assert chart.words.endswith(".")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), ("", ""), ("soon", ""), ("1760000000000", "2025-10-09T08:53"), ("2026-11-30T10:15", "2026-11-30T10:15"), ("9" * 17, "")],
)
def test_a_time_of_the_address_stands_in_its_field(value: str | None, shown: str):
    assert field_time(value) == shown


def test_however_often_it_is_asked_for_a_thing_is_made_for_a_twentieth_of_the_time(monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    made: list[float] = []

    def make() -> float:
        made.append(clock[0])
        clock[0] += 0.5
        return made[-1]

    monkeypatch.setattr("web.kept.time.monotonic", lambda: clock[0])
    kept = Kept[float]()

    for _ in range(100):
        kept.get(make)
        clock[0] += 1

    assert len(made) * 0.5 <= (clock[0] - 100) / 20 + 0.5
    assert kept.get(make, fresh=True) == clock[0] - 0.5 == kept.get(make)


def test_a_cheap_thing_serves_for_the_least_time(monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    monkeypatch.setattr("web.kept.time.monotonic", lambda: clock[0])
    kept = Kept[float](10)

    assert kept.get(lambda: 1.0) == kept.get(lambda: 2.0) == 1.0
    clock[0] += 10
    assert kept.get(lambda: 3.0) == 3.0
