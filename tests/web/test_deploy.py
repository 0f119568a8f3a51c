"""deploy/: the dashboard and the alert rules name only what /metrics tells, and everything that it tells is on the dashboard."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from shared.jobs import pause_queue
from shared.store import workers
from tests.web.conftest import Visitor, services_of

FOLDER = Path(__file__).parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text("utf-8"))
RULES: list[dict[str, Any]] = [rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))["groups"] for rule in group["rules"]]
ON_DASHBOARD = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
IN_RULES = [rule["expr"] for rule in RULES]
WATCHED = {  # what must wake somebody, by a word of the rule's name
    "NoProgress": "session_search_worker_progress_age_seconds",
    "OldestWait": "session_search_queue_oldest_wait_seconds",
    "FailedJobs": "session_search_job_outcomes_total",
    "ParkedSessions": "session_search_sessions",
    "ServerErrors": "session_search_requests_total",
    "DiskAlmostFull": "session_search_disk_free_bytes",
    "UnreadableDatabase": "session_search_agents",
}


@pytest.fixture
def told(app: Any, operator: Visitor) -> dict[str, dict[str, set[str]]]:
    """The name of every sample that /metrics tells, with the values of its labels."""
    here = services_of(app)
    with here.queue.transaction() as conn:
        workers.add_worker(conn, "w/1", "interactive", here.now_ms())
    pause_queue(here.queue, here.now_ms())
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(operator.get("/metrics").text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def names(expr: str) -> set[str]:
    return set(re.findall(r"\bsession_search_\w+", expr))


@pytest.mark.parametrize("expr", ON_DASHBOARD + IN_RULES)
def test_an_expression_names_only_metrics_labels_and_values_that_exist(told: dict[str, dict[str, set[str]]], expr: str):
    assert names(expr) and names(expr) <= set(told)
    for name, matchers in re.findall(r"\b(session_search_\w+)\{([^}]*)\}", expr):
        for label, values in re.findall(r'(\w+)(?:=~|!=|!~|=)"([^"]*)"', matchers):
            assert set(values.split("|")) <= told[name][label]
    for labels in re.findall(r"\bby \(([^)]*)\)", expr):
        assert set(labels.split(", ")) <= set().union(*(told[name] for name in names(expr)))


@pytest.mark.parametrize("expr", ON_DASHBOARD + IN_RULES)
def test_an_expression_has_its_brackets_in_order(expr: str):
    open_ones: list[str] = []
    for sign in re.sub(r'"[^"]*"', "", expr):
        if sign in "([{":
            open_ones.append(")]}"["([{".index(sign)])
        elif sign in ")]}":
            assert open_ones and sign == open_ones.pop()
    assert open_ones == []


def test_a_histograms_quantile_is_asked_of_buckets_and_a_rate_of_counters():
    for expr in ON_DASHBOARD + IN_RULES:
        for inner in re.findall(r"(?:rate|increase)\((session_search_\w+)", expr):
            assert inner.endswith(("_total", "_bucket", "_count")), expr
        if "histogram_quantile" in expr:
            assert "_bucket" in expr and "by (le)" in expr


def test_everything_told_is_on_the_dashboard(told: dict[str, dict[str, set[str]]]):
    shown = {re.sub(r"_(bucket|count|sum)$", "", name) for expr in ON_DASHBOARD for name in names(expr)}

    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in told} <= shown


@pytest.mark.parametrize(("word", "metric"), WATCHED.items())
def test_what_must_wake_somebody_has_a_rule(word: str, metric: str):
    (rule,) = [rule for rule in RULES if rule["alert"].endswith(word)]

    assert metric in names(rule["expr"])
    assert rule["labels"]["severity"] in ("page", "warn")
    assert rule["annotations"]["summary"]


def test_panels_have_titles_units_and_places_of_their_own():
    places: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert panel["title"] and panel["fieldConfig"]["defaults"]["unit"]
        place = panel["gridPos"]
        squares = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not squares & places and place["x"] + place["w"] <= 24
        places |= squares
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
