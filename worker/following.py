"""Following: folders of transcripts are looked at again and again, and what changed is imported.

Of what changed nothing is known here but that it did: it is imported as ever (importing.py), which also remembers what was read, so
that a follower may be killed at any moment and several may watch one folder. A line that is not written to its end waits for the look
after it is. After a look its sessions are handed to the worker.

What it costs is bounded by pauses: listing takes a twentieth of the time at most, and reading one file again and again a tenth. Listing
10,000 files takes a quarter of a second, so that new ones are found within five; files in use are looked at every time.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from heapq import nlargest
from pathlib import Path

from shared.clock import now_ms
from shared.errors import StoreUnavailable
from shared.queue import Queue
from shared.store import Store
from worker.import_report import FileReport
from worker.importing import Importing
from worker.places import Watched
from worker.readings import Look, look_at, stat_of

log = logging.getLogger(__name__)

LOOKS_SHARE = 1 / 20  # of the time, at most, goes into listing
IN_USE_NS = 900 * 1_000_000_000  # a file that changed within the last quarter of an hour is in use …
MANY_IN_USE = 500  # … if it is among the last so many
READ_SHARE = 1 / 10  # and into reading one file that keeps growing
FAILED_S = 60.0  # a file that could not be imported is tried again so much later, unless it changes
HAND_OVER_S = 1.0  # how long sessions that are ready wait, at most, while further files are imported
MANY = 50  # sessions of one agent that are owed together are drained by one job

Tell = Callable[[Watched, FileReport], None]
Beat = Callable[[], None]  # what it raises ends a look, also in the middle of a file


@dataclass
class Done:
    """What was done so far. files: those read; failed: those that could not be imported."""

    files: int = 0
    added: int = 0
    failed: int = 0


class Follower:
    """One format's paths, watched. tell: called with every file that brought something or failed."""

    def __init__(self, store: Store, queue: Queue, watched: Watched, tell: Tell, beat: Beat = lambda: None) -> None:
        self.watched, self.done = watched, Done()
        self._queue, self._tell = queue, tell
        self._importing = Importing(store, watched.format, watched.agent, now_ms(), beat=beat)
        self._files: dict[Path, _Known] = {}
        self._in_use: list[Path] = []
        self._list_at = 0.0
        self._missing: set[Path] = set()

    def look(self) -> None:
        """What changed since the last look is imported. raises: StoreUnavailable.

        Where listing and comparing all files takes long, most looks are at those in use alone.
        """
        begun = time.monotonic()
        if begun < self._list_at:
            self._take(self._changed(path for path in self._in_use if path.exists()))
            return
        there = list(self._there())
        changed = self._changed(there)
        self._list_at = begun + (time.monotonic() - begun) / LOOKS_SHARE
        self._take(changed)
        since_ns = time.time_ns() - IN_USE_NS
        self._files = {path: known for path in there if (known := self._files.get(path))}
        in_use = [path for path, known in self._files.items() if known.changed_ns > since_ns]
        self._in_use = nlargest(MANY_IN_USE, in_use, key=lambda path: self._files[path].changed_ns)

    def _changed(self, there: Iterable[Path]) -> dict[Path, Look | None]:
        """Those of these files that are not as they were when they were read, and may be read again by now."""
        stat = cache(stat_of)  # many files have one index beside them
        at, changed = time.monotonic(), {}
        for path in there:
            look, known = look_at(self.watched.format, path, stat), self._files.get(path)
            if known is None or known.is_due(look, at):
                changed[path] = look
        return changed

    def _there(self) -> Iterable[Path]:
        """The transcripts that are there now; a path that is not there is waited for."""
        for path in self.watched.paths:
            if not path.exists():
                if path not in self._missing:
                    log.info("waits for a path that is not there", extra={"format": self.watched.name, "path": str(path)})
                self._missing.add(path)
            elif path.is_dir():
                yield from self.watched.format.below(path)
            else:
                yield path

    def _take(self, changed: dict[Path, Look | None]) -> None:
        if not changed:
            return
        owed, read = _Owed(self._queue), set[Path]()
        last = time.monotonic()

        def after(_done: int, _total: int, file: FileReport) -> None:
            nonlocal last
            read.add(file.path)
            self._note(file, changed[file.path], time.monotonic() - last)
            owed.add(file)
            last = time.monotonic()

        self._importing.now_ms = now_ms()
        try:
            self._importing.take(changed, after)
        finally:
            owed.hand_over()
        for path in changed.keys() - read:  # read by an earlier process, or only touched
            self._files[path] = _Known(changed[path], 0.0, None)

    def _note(self, file: FileReport, look: Look | None, took_s: float) -> None:
        """What is known of a file that was just read; what it brought is told, and a failure once."""
        before = self._files.get(file.path)
        new_error = file.error is not None and (before is None or before.error != file.error)
        pause_s = FAILED_S if file.error else took_s / READ_SHARE
        self._files[file.path] = _Known(look, time.monotonic() + pause_s, file.error)
        self.done.files += 1
        self.done.added += file.added
        self.done.failed += file.error is not None
        if new_error:
            log.warning("transcript not imported", extra={"format": self.watched.name, "path": str(file.path), "reason": file.error})
        if file.added:
            told = {"format": self.watched.name, "path": str(file.path), "events": file.added, "skipped": file.problems.skipped or None}
            log.info("transcript imported", extra={**told, "duration_ms": round(took_s * 1000)})
        if file.added or new_error:
            self._tell(self.watched, file)


@dataclass(frozen=True)
class _Known:
    """A file as it looked before it was last read. not_before: of the monotonic clock."""

    look: Look | None
    not_before: float
    error: str | None

    @property
    def changed_ns(self) -> int:
        """When it or its log changed; 0 where that does not tell."""
        return max((state[-1] for state in self.look.state if state), default=0) if self.look else 0

    def is_due(self, look: Look | None, at: float) -> bool:
        """Whether it is to be read again at this moment."""
        same = look is not None and self.look is not None and (look.state, look.beside) == (self.look.state, self.look.beside)
        if self.error:
            return not same or at >= self.not_before
        return at >= self.not_before and not (same and self.look is not None and self.look.settled)


@dataclass
class _Owed:
    """Sessions that were added to, on their way to the worker."""

    queue: Queue
    _keys: dict[str, set[str]] = field(default_factory=dict)
    _since: float = 0.0

    def add(self, file: FileReport) -> None:
        for taken in file.taken:
            if taken.added:
                self._since = self._since if self._keys else time.monotonic()
                self._keys.setdefault(taken.agent_id, set()).add(taken.session_key)
        if self._keys and time.monotonic() - self._since > HAND_OVER_S:
            self.hand_over()

    def hand_over(self) -> None:
        """Each has a job; where that cannot be written, the worker finds them by itself."""
        for agent_id, keys in self._keys.items():
            if len(keys) > MANY:
                self.queue.enqueue_drain(agent_id, now_ms())
            else:
                self.queue.enqueue_reconcile([(agent_id, key) for key in sorted(keys)], now_ms())
        self._keys.clear()


def follow(followers: list[Follower], interval_s: float, wait: Callable[[float], bool]) -> None:
    """Looks again and again. wait: pauses for so many seconds; whether to end. A store out of reach is tried again."""
    while True:
        for follower in followers:
            try:
                follower.look()
            except StoreUnavailable as e:
                log.warning("store not reached", extra={"path": e.path, "format": follower.watched.name, "reason": str(e)})
            except OSError as e:  # a folder that went while it was listed
                log.warning("files not listed", extra={"path": e.filename, "format": follower.watched.name, "reason": e.strerror})
        if wait(interval_s):
            return
