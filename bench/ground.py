"""What the rows are measured on: the corpora as files, raw SQLite's index of the same rows, and a service built by import and worker.

Each is made when a row first needs it and used by all that do. Everything is under one folder, which the caller removes.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench import queries
from bench.corpus import Corpus, jsonl, searchable
from bench.raw import Raw, Watch
from bench.service import Service

AGENT = "bench"
SETS = {"1": 2, "10": 1, "1,000": 0}  # sessions a caller sees, and where it stands in the shuffled order below
SETTLE_S = 7_200.0
FORM = 1  # raised when the same seed gives other bytes, so that a cached corpus of before is not used


@dataclass(frozen=True)
class Options:
    """How much is measured. messages: of the main corpus; samples: distinct queries a class."""

    messages: int = 100_000
    samples: int = 40
    seed: int = 1
    long_session: int = 100_000
    agents: int = 1_000
    repeats: int = 100  # of single appends; rewinds are a fifth
    searches: int = 10_000  # before the memory of the web process is read
    load_s: float = 20.0
    peer_python: str = ""  # the interpreter that has other programs installed; empty: they are left out
    only: frozenset[str] = frozenset()
    questions: Path | None = None
    planted: bool = False
    cache: Path | None = None

    @property
    def full(self) -> bool:
        """Whether the corpus has the size for which the targets are set."""
        return self.messages >= 1_000_000


@dataclass
class Built:
    """What was seen while a service was built. seconds: from the worker's start until nothing was owed."""

    import_s: float
    seconds: float
    events: int
    rows: int
    jsonl_bytes: int
    worker_peak_mb: float
    data_files: dict[str, int]  # bytes by file of the data folder


def say(text: str) -> None:
    """Progress, apart from the table."""
    print(time.strftime("%H:%M:%S ") + text, file=sys.stderr, flush=True)


class Ground:
    """Everything that rows share; closed at the end."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.corpus = Corpus(options.messages, options.seed)
        self.searched: dict[str, dict[str, list[float]]] = {}  # milliseconds of row 1 by class and visible set, once measured
        self._open = ExitStack()

    def close(self) -> None:
        self._open.close()

    def wanted(self, number: str) -> bool:
        """Whether a row of the table was asked for."""
        return not self.options.only or number in self.options.only

    # -- files

    def files(self, corpus: Corpus, agent: str = AGENT, lineage: "Callable[[Corpus], dict[str, str]] | None" = None) -> Path:
        """The folder with the corpus as files of OpenClaw's, and its rows as lines of rows.jsonl; written once."""
        name = f"corpus-{FORM}-{corpus.name}-{agent}-{corpus.messages}-{corpus.seed}{'-lone' if corpus.lone else ''}"
        folder = (self.options.cache or self.folder) / name
        if (folder / "done").exists():
            return folder
        say(f"writing {corpus.messages:,} messages")
        sessions = folder / "transcripts" / "agents" / agent / "sessions"
        sessions.mkdir(parents=True, exist_ok=True)
        found: dict[str, list[tuple[str, str]]] = {}
        with (folder / "rows.jsonl").open("w", encoding="utf-8") as rows:
            for session in corpus.sessions():
                (sessions / f"{session.id}.jsonl").write_text("".join(line + "\n" for line in jsonl(session)), "utf-8")
                rows.writelines(json.dumps(text) + "\n" for _, text in searchable(session))
                for plant, event_id in session.planted:
                    found.setdefault(plant, []).append((session.id, event_id))
        if lineage is not None:
            (sessions / "sessions.json").write_text(json.dumps(_index(agent, lineage(corpus))), "utf-8")
        (folder / "manifest.json").write_text(json.dumps(found, ensure_ascii=False), "utf-8")
        (folder / "done").touch()
        return folder

    @cached_property
    def main_files(self) -> Path:
        return self.files(self.corpus, lineage=tree)

    # -- raw SQLite

    @cached_property
    def raw(self) -> Raw:
        """Raw FTS5 of the main corpus' rows."""
        raw, _ = self.load_raw("raw", self.main_files)
        return raw

    @cached_property
    def raw_rate(self) -> tuple[int, float]:
        """Rows of the main corpus, and the seconds that raw FTS5 took to insert them."""
        assert self.raw
        return self._raw_rates["raw"]

    def load_raw(self, name: str, files: Path) -> tuple[Raw, tuple[int, float]]:
        """Raw FTS5 of a corpus' rows, with how many they are and the seconds that the inserts took."""
        say(f"raw FTS5 of {files.name}")
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{name}.sqlite"
        path.unlink(missing_ok=True)
        raw = Raw(path)
        self._open.callback(raw.close)
        with (files / "rows.jsonl").open(encoding="utf-8") as lines:
            rate = raw.load(json.loads(line) for line in lines)
        self._raw_rates[name] = rate
        return raw, rate

    @cached_property
    def _raw_rates(self) -> dict[str, tuple[int, float]]:
        return {}

    @cached_property
    def queries(self) -> dict[str, list[queries.Asked]]:
        """Queries of every class, drawn from the main corpus."""
        say("drawing queries")
        return queries.draw(self.raw, self.options.messages, self.options.samples, self.options.seed)

    # -- ours

    @cached_property
    def main(self) -> Service:
        """The service that holds the main corpus: one agent, web and worker up."""
        if self.build.events:
            self._main.serve()
            self._main.work()
        return self._main

    @cached_property
    def build(self) -> Built:
        """Import and reconcile of the main corpus by one worker process, and what was seen of it."""
        self._main = self._open.enter_context(Service(self.folder / "main"))
        return self.fill(self._main, self.main_files)

    def fill(self, service: Service, files: Path, workers: int = 1) -> Built:
        """Imports a corpus and lets worker processes reconcile it; none of them runs afterwards."""
        say(f"importing {files.name}")
        import_s = service.import_folder(files / "transcripts")
        return self.reconcile(service, files, import_s, workers)

    def reconcile(self, service: Service, files: Path, import_s: float = 0.0, workers: int = 1) -> Built:
        """What is owed is ordered, then workers start, and the clock runs from the first one's start until nothing is owed."""
        service.run("reindex", "--all")
        say(f"reconciling with {workers} worker{'s' if workers > 1 else ''}")
        watch = Watch(service.data)
        names = [f"worker {number}" for number in range(workers)]
        began = min(service.work(name) for name in names)
        ended = watch.until_settled(SETTLE_S)
        watch.close()
        peak = max(service.peak_mb(name)[0] for name in names)
        for name in names:
            service.end(name)
        transcripts = list((files / "transcripts").rglob("*.jsonl"))
        return Built(
            import_s=import_s,
            seconds=ended - began,
            events=sum(_lines(path) - 1 for path in transcripts),
            rows=_lines(files / "rows.jsonl"),
            jsonl_bytes=sum(path.stat().st_size for path in transcripts),
            worker_peak_mb=peak,
            data_files=service.files,
        )

    @cached_property
    def long_files(self) -> Path:
        """One very long session."""
        return self.files(Corpus(self.options.long_session, self.options.seed, name="long", lone=True))

    @cached_property
    def long(self) -> Service:
        """The service for the very long session; nothing is in it or started yet."""
        return self._open.enter_context(Service(self.folder / "long"))

    # -- callers

    @cached_property
    def callers(self) -> dict[str, dict[str, Any]]:
        """Callers that see so many sessions of the main corpus by what they spawned."""
        order = shuffled(self.corpus)
        keys = {name: self.corpus.session_id(order[min(at, len(order) - 1)]) for name, at in reversed(SETS.items())}
        keys = dict(sorted(keys.items(), key=lambda found: int(found[0].replace(",", ""))))
        keys["all"] = self.corpus.session_id(0)
        return {name: {"agentId": AGENT, "sessionKey": key_of(AGENT, session)} for name, session in keys.items()}


def key_of(agent: str, session_id: str) -> str:
    """The key of an imported session."""
    return f"agent:{agent}:{session_id}"


def shuffled(corpus: Corpus) -> list[int]:
    """Every session but the first, in an order made by the seed, so that a caller's set is spread over all times."""
    rest = list(range(1, len(corpus.lengths)))
    random.Random(f"{corpus.seed} tree").shuffle(rest)
    return rest or [0]


def tree(corpus: Corpus) -> dict[str, str]:
    """Who spawned whom: the first session everything, one a thousand (itself among them), one of those ten, and one of those none."""
    order = shuffled(corpus)
    parents = {}
    for place, index in enumerate(order):
        if index == 0:
            continue
        above = 0 if place == 0 or place >= 1_000 else order[0] if place == 1 or place > 10 else order[1]
        parents[corpus.session_id(index)] = corpus.session_id(above)
    return parents


def _index(agent: str, parents: dict[str, str]) -> dict[str, dict[str, str]]:
    """OpenClaw's sessions.json: each session's id under its key, and the key of its spawner."""
    index = {key_of(agent, session): {"sessionId": session} for session in {*parents, *parents.values()}}
    for session, parent in parents.items():
        index[key_of(agent, session)]["spawnedBy"] = key_of(agent, parent)
    return index


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def chunks(rows: list[Any], size: int) -> Iterator[list[Any]]:
    return (rows[at : at + size] for at in range(0, len(rows), size))


