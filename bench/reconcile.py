"""Rows 6, 8, 9 and 10: how fast imported sessions are indexed, what that holds up, what memory it takes, and what lies on the disk."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench import append
from bench.corpus import Corpus
from bench.figures import Row, ms, percentile, short, summary
from bench.ground import AGENT, Ground, key_of, say
from bench.raw import Watch, agent_file
from bench.service import Service

RATE, SHARE, TWO_WORKERS = 20_000.0, 0.4, 1.6
LOCK_MS, APPEND_MS = 50.0, 100.0
WORKER_MB, WEB_MB = 150.0, 120.0
WEB_S = 900.0  # searches end then, however few they were
AGENTS = 8
PAUSE_S = 0.02  # between two appends beside a reconcile


def rows(ground: Ground) -> list[Row]:
    """Row 6: the main corpus by one worker process, and eight agents' sessions by one and by two."""
    built, (raw_rows, raw_s) = ground.build, ground.raw_rate
    rate, share = built.events / built.seconds, (built.rows / built.seconds) / (raw_rows / raw_s)
    row = Row("6", f"reconcile of {built.events:,} imported messages, one worker", f"{RATE:,.0f} messages/s, {SHARE} of raw")
    row.ours = f"{rate:,.0f} messages/s ({built.rows / built.seconds:,.0f} rows/s)"
    row.beside, row.ratio, row.reached = f"raw {raw_rows / raw_s:,.0f} rows/s", short(share), rate >= RATE and share >= SHARE
    row.detail = {"seconds": built.seconds, "events": built.events, "rows": built.rows, "raw seconds": raw_s}
    row.detail["import seconds"] = built.import_s
    return [row, _two_workers(ground)]


def _two_workers(ground: Ground) -> Row:
    """Copies of one folder in which eight agents' sessions are owed, so that both begin alike."""
    seconds: dict[int, float] = {}
    each = max(1_000, ground.options.messages // AGENTS // 2)
    files = [ground.files(Corpus(each, ground.options.seed + n, name="e"), f"agent-{n}") for n in range(AGENTS)]
    with Service(ground.folder / "eight") as service:
        service.import_folder(*(one / "transcripts" for one in files))
        for workers in (1, 2):
            with Service(ground.folder / f"eight-{workers}") as copy:
                shutil.copytree(service.data, copy.data)
                seconds[workers] = ground.reconcile(copy, files[0], workers=workers).seconds
            shutil.rmtree(ground.folder / f"eight-{workers}")
    ratio = seconds[1] / seconds[2]
    row = Row("6", f"the same, sessions of {AGENTS} agents, two workers", f"{TWO_WORKERS} x one", f"{seconds[2]:.1f} s")
    row.beside, row.ratio, row.reached = f"one: {seconds[1]:.1f} s", short(ratio), ratio >= TWO_WORKERS
    return row


# -- rows 8 and 9: one very long session


def long_rows(ground: Ground) -> list[Row]:
    """Row 8 and half of row 9: a very long session is reconciled while the write lock is watched and appends go on beside it."""
    length = ground.options.long_session
    service, files = ground.long, ground.long_files
    say(f"importing one session of {length:,}")
    service.import_folder(files / "transcripts")
    service.serve()
    sent = append.messages(3_000, ground.options.seed + 5, "beside")
    taken: list[float] = []
    beside = key_of(AGENT, "beside")
    with service.client() as client, _probe(agent_file(service.data, AGENT)) as probe:
        client.post(append.PATH, {"agentId": AGENT, "sessionKey": beside, "events": [sent[0][0]]})
        watch = Watch(service.data)
        service.run("reindex", "--all")
        say("reconciling it")
        begun = service.work()
        for event, _ in sent[1:]:
            if not watch.owes():
                break
            client.post(append.PATH, {"agentId": AGENT, "sessionKey": beside, "events": [event]})
            taken.append(client.ms)
            time.sleep(PAUSE_S)
        seconds = watch.until_settled(3_600) - begun
        longest, asked = (float(word) for word in probe.communicate()[0].split())
    peak, own = service.peak_mb("worker")
    lock = Row("8", f"write lock held while a session of {length:,} is reconciled")
    lock.target = f"{LOCK_MS:.0f} ms; appends p99 {APPEND_MS:.0f} ms"
    lock.ours = f"longest {short(longest)} ms; appends {ms(taken)}, p99 {short(percentile(taken, 0.99))} ms"
    lock.beside, lock.reached = f"asked for {asked:,.0f} times", longest <= LOCK_MS and percentile(taken, 0.99) <= APPEND_MS
    lock.detail = {"seconds": seconds, "longest wait ms": longest, "appends": summary(taken)}
    memory = Row("9", f"memory of the worker that reconciled a session of {length:,}", f"{WORKER_MB:.0f} MB")
    memory.ours = f"{short(peak)} MB at its peak"
    memory.beside, memory.ratio, memory.reached = f"{short(own)} MB of it no file", short(peak / WORKER_MB), peak <= WORKER_MB
    memory.detail = {"peak MB": peak, "anonymous MB": own}
    return [row for row in (lock, memory) if ground.wanted(row.number)]


def _probe(path: Path) -> "subprocess.Popen[str]":
    """A process of its own that asks for the write lock of this file until its input is closed, and prints what it saw."""
    return subprocess.Popen([sys.executable, "-m", "bench.probe", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def web_rows(ground: Ground) -> list[Row]:
    """The other half of row 9: a web process of its own after very many searches."""
    service = ground.main
    service.end("serve")
    service.serve()  # a process that has answered nothing yet
    with service.client() as client:
        asked = [(one.text, caller) for found in ground.queries.values() for one in found for caller in ground.callers.values()]
        say(f"{ground.options.searches:,} searches")
        done, end = 0, time.monotonic() + WEB_S
        while done < ground.options.searches and time.monotonic() < end:
            query, caller = asked[done % len(asked)]
            client.post("/v1/sessions/search", {"query": query, "caller": caller})
            done += 1
        peak, own = service.peak_mb("serve")
    row = Row("9", f"memory of a web process after {done:,} searches", f"{WEB_MB:.0f} MB")
    row.ours = f"{short(peak)} MB at its peak"
    row.beside, row.ratio, row.reached = f"{short(own)} MB of it no file", short(peak / WEB_MB), peak <= WEB_MB
    row.detail = {"peak MB": peak, "anonymous MB": own}
    return [row]


# -- row 10


def size_rows(ground: Ground) -> list[Row]:
    """Row 10: every file of the data folder once all is indexed and the worker has ended, against the files that were imported."""
    built = ground.build
    total = sum(built.data_files.values())
    ratio = total / built.jsonl_bytes
    row = Row("10", "size on disk against the JSONL put in", "2 x, 1.5 x aimed at", f"{total / 1e6:,.1f} MB")
    row.beside, row.ratio, row.reached = f"JSONL {built.jsonl_bytes / 1e6:,.1f} MB", short(ratio), ratio <= 2
    row.detail = {"bytes": total, "JSONL bytes": built.jsonl_bytes, "files": built.data_files}
    return [row]
