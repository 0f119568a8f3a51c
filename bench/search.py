"""Rows 1, 2 and 13: searches over HTTP, class by class, as callers who see few, many and all sessions."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.client import Client
from bench.figures import Row, ms, percentile, short, summary
from bench.ground import AGENT, Ground, key_of, say
from bench.queries import Asked
from bench.service import Service

PATH = "/v1/sessions/search"
TARGET_MS = 25.0
WARM = 3
SET_S, FEWEST = 20.0, 5  # a class as one caller takes so long at most, but for so many queries
APART = {"rare phrase"}  # reported, but no part of the target
EMPTY = {"no hit"}

Samples = dict[str, dict[str, list[float]]]  # milliseconds by class and visible set


def rows(ground: Ground) -> list[Row]:
    """Row 1: a line a class, of the visible set in which it is slowest."""
    samples, missing = measure(ground.main, ground.callers, ground.queries)
    raw = {name: [ground.raw.search(one.raw) for one in asked if one.raw] for name, asked in ground.queries.items()}
    lines = [_line(ground, name, found, raw[name], missing.get(name, 0)) for name, found in samples.items()]
    lines[-1].notes.append("worst p95 by visible set: " + _by_set({which: _worst(samples, which) for which in ground.callers}, " ms"))
    ground.searched.update(samples)
    return lines


def _line(ground: Ground, name: str, found: dict[str, list[float]], raw: list[float], missing: int) -> Row:
    worst, slowest = _slowest_set(found)
    row = Row("1", f"search, {name}", f"{TARGET_MS:.0f} ms p95", f"{ms(slowest)} (sees {worst})", "raw " + ms(raw) if raw else "")
    row.reached = percentile(slowest, 0.95) <= TARGET_MS if name not in APART else None
    if raw:
        ratio = percentile(slowest, 0.5) / percentile(raw, 0.5)
        row.ratio = short(ratio)
        if name == "commonest":
            row.target += ", 1/16 of raw"
            row.reached = row.reached and (ratio <= 1 / 16 or not ground.options.full)
            if not ground.options.full:
                row.notes.append("that the commonest term takes 1/16 of raw bm25 is asked for at 1,000,000 messages only")
    row.detail = {"sets": {which: summary(values) for which, values in found.items()}, "raw": summary(raw) if raw else None}
    row.detail["queries"] = len(ground.queries[name])
    if missing:
        row.notes.append(f"{missing} queries of the class {name} found nothing though the caller sees all")
    return row


def _worst(samples: Samples, which: str) -> float:
    """The p95 of the slowest class, of those that the target is for."""
    return max(percentile(found[which], 0.95) for name, found in samples.items() if name not in APART)


def _by_set(figures: Mapping[str, float], unit: str = "") -> str:
    return ", ".join(f"{which}: {short(value)}{unit}" for which, value in figures.items())


def _slowest_set(found: Mapping[str, list[float]]) -> tuple[str, list[float]]:
    return max(found.items(), key=lambda one: percentile(one[1], 0.95))


def measure(service: Service, callers: Mapping[str, dict[str, Any]], asked: Mapping[str, list[Asked]]) -> tuple[Samples, dict[str, int]]:
    """Every query as every caller, one after the other on one connection; and how many found nothing for who sees all."""
    samples, missing = Samples(), dict[str, int]()
    with service.client() as client:
        for name, queries in asked.items():
            if not queries:
                continue
            say(f"searches, {name}")
            for which, caller in callers.items():
                found = _all(client, caller, queries)
                samples.setdefault(name, {})[which] = [taken for taken, _ in found]
                if which == "all" and name not in EMPTY and (nothing := sum(not hits for _, hits in found)):
                    missing[name] = nothing
    return samples, missing


def _all(client: Client, caller: dict[str, Any], queries: list[Asked]) -> list[tuple[float, int]]:
    """Every query once, after the first few to warm up; fewer when they take very long, so that a run comes to an end."""
    for one in queries[:WARM]:
        _search(client, caller, one.text)
    found, end = list[tuple[float, int]](), time.monotonic() + SET_S
    for one in queries:
        found.append(_search(client, caller, one.text))
        if len(found) >= FEWEST and time.monotonic() > end:
            break
    return found


def _search(client: Client, caller: dict[str, Any], query: str) -> tuple[float, int]:
    """Milliseconds, and how many hits there were."""
    answer = client.post(PATH, {"query": query, "caller": caller})
    return client.ms, len(answer["results"])


# -- row 2


def pending_rows(ground: Ground) -> list[Row]:
    """Row 2: the same while very many sessions are owed; nothing works on them meanwhile."""
    before = ground.searched or measure(ground.main, ground.callers, ground.queries)[0]
    count = ground.options.messages // 10
    service = ground.main
    for name in [name for name in service.children if name.startswith("worker")]:
        service.end(name)
    say(f"importing {count:,} sessions that stay pending")
    service.import_folder(_pending_files(ground, count))
    after, _ = measure(service, ground.callers, ground.queries)
    ratios = {
        (name, which): percentile(values, 0.95) / percentile(before[name][which], 0.95)
        for name, found in after.items()
        for which, values in found.items()
    }
    (name, which), ratio = max(ratios.items(), key=lambda one: one[1])
    row = Row("2", f"search while {count:,} sessions are pending, worst: {name}, sees {which}", "1.5 x row 1")
    row.ours, row.beside, row.ratio = ms(after[name][which]), ms(before[name][which]), short(ratio)
    row.reached = ratio <= 1.5
    worst = {which: max(value for (_, seen), value in ratios.items() if seen == which) for which in ground.callers}
    row.notes.append("worst ratio by visible set: " + _by_set(worst))
    row.notes.append(f"who sees all sees the {count:,} pending sessions in addition to the others")
    row.detail = {f"{name}, {which}": round(value, 2) for (name, which), value in ratios.items()}
    return [row]


def _pending_files(ground: Ground, count: int) -> Path:
    folder = ground.folder / "pending" / "agents" / AGENT / "sessions"
    folder.mkdir(parents=True)
    root = ground.corpus.session_id(0)
    index: dict[str, dict[str, str]] = {key_of(AGENT, root): {"sessionId": root}}
    for number in range(count):
        session = f"owed-{number:06d}"
        index[key_of(AGENT, session)] = {"sessionId": session, "spawnedBy": key_of(AGENT, root)}
        lines = (
            {"type": "session", "version": 3, "id": session, "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/"},
            {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": f"what is owed, number {number}"}},
        )
        (folder / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (folder / "sessions.json").write_text(json.dumps(index), "utf-8")
    return folder.parent.parent.parent


# -- row 13


def growth_rows(ground: Ground) -> list[Row]:
    """Row 13: a rare term in a small corpus and in the main one, for callers who see few and all sessions; the worst of them counts."""
    options = replace(ground.options, messages=10_000 if ground.options.messages > 10_000 else 1_000)
    small = Ground(options, ground.folder / "small")
    try:
        before, _ = measure(small.main, small.callers, {"rare": small.queries["rare"]})
    finally:
        small.close()
    after, _ = measure(ground.main, ground.callers, {"rare": ground.queries["rare"]})
    ratios = {which: percentile(values, 0.5) / percentile(before["rare"][which], 0.5) for which, values in after["rare"].items()}
    worst = max(ratios, key=lambda which: ratios[which])
    row = Row("13", f"rare term, from {options.messages:,} to {ground.options.messages:,} messages, sees {worst}", "2 x")
    row.ours, row.beside, row.ratio = ms(after["rare"][worst]), ms(before["rare"][worst]), short(ratios[worst])
    row.reached = ratios[worst] <= 2
    row.notes.append("ratio by visible set: " + _by_set(ratios))
    row.detail = {which: round(value, 2) for which, value in ratios.items()}
    return [row]

