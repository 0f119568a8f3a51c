"""Importing: transcript files of one format become sessions of ours, one file after the other, and a report tells what became of each.

A file that cannot be read never keeps the others from being imported. Importing again adds nothing and a grown file adds its new
part, for readers give the same events the same ids; a source that was rewritten is fitted to what is stored (rewritten.py). A file that
has not changed is not read again (readings.py). What a forked session's file copied from another is left out where that one is stored,
and removed once it is (copies.py): those words are found there. Sessions are imported before those forked from them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from stat import S_ISREG

from shared import validate
from shared.errors import SessionSearchError, StoreUnavailable, UnknownFormat, Unprocessable, UnreadableSource
from shared.intake import Imported, ImportHead, import_transcript
from shared.sessions import put_session
from shared.store import Store
from shared.store import sessions as rows
from worker.copies import clear_forks, note_origin, without_copies
from worker.import_order import in_order
from worker.import_report import FileReport, ImportReport, Taken, render_report, report_json
from worker.importers import FORMATS
from worker.importers.base import Event, Format, Problems, Source, safe_id
from worker.readings import Readings, mark_of
from worker.rewritten import Fitted, leaf_control

__all__ = ["FileReport", "ImportReport", "Importing", "format_of", "import_paths", "render_report", "report_json"]

Progress = Callable[[int, int, FileReport], None]  # files done, files in all, the file just read
Beat = Callable[[], None]  # called with every event; what it raises ends the import, and what was stored by then stays


def import_paths(
    store: Store,
    format_name: str,
    paths: Sequence[str | Path],
    *,
    agent: str | None = None,
    restore: bool = False,
    again: bool = False,
    now_ms: int,
    report: Progress = lambda done, total, file: None,
) -> ImportReport:
    """Imports files and, from folders, every transcript file below them.

    agent: whose sessions they become where the source names no agent; the format's name when None.
    restore: sessions deleted here earlier are brought back. again: files that have not changed are read, too. report: called after
    each file that was read.
    raises: UnknownFormat for a format that is not one of ours, BadRequest for an agent id, StoreUnavailable when a database is.
    """
    format_ = format_of(format_name)
    work = Importing(store, format_, agent, now_ms, restore=restore, again=again)
    return work.take(_files(format_, paths), report)


def format_of(name: str) -> Format:
    """The format of this name. raises: UnknownFormat."""
    if name not in FORMATS:
        raise UnknownFormat(f"{name!r} is not a format that can be imported; those are {', '.join(FORMATS)}")
    return FORMATS[name]


def _files(format_: Format, paths: Iterable[str | Path]) -> Iterator[Path]:
    """The files named, and the transcripts below the folders named; each once."""
    seen: set[Path] = set()
    for path in map(Path, paths):
        below = [file for file in format_.below(path) if file.is_file()] if path.is_dir() else []
        for file in below or [path]:
            if (place := file.absolute()) not in seen:
                seen.add(place)
                yield file


class Importing:
    """One import while it runs, or many of the same format and agent. raises: BadRequest for an agent id."""

    def __init__(
        self, store: Store, format_: Format, agent: str | None, now_ms: int, *,
        restore: bool = False, again: bool = False, beat: Beat = lambda: None,
    ) -> None:  # fmt: skip
        self.store, self.format, self.restore, self.now_ms = store, format_, restore, now_ms
        self.agent = validate.agent_id(agent if agent is not None else format_.name, "--agent")
        self._readings, self._beat = Readings(store, format_, self.agent, again), beat

    def take(self, paths: Iterable[Path], report: Progress = lambda done, total, file: None) -> ImportReport:
        """Imports these files, but for those that have not changed since they were read."""
        files = [FileReport(path) for path in paths]
        changed = [file for file in files if not self._readings.recall(file)]
        known = len(files) - len(changed)
        try:
            for done, file in enumerate(in_order(self.format, changed), known + 1):
                self._file(file)
                self._readings.keep(file)
                report(done, len(files), file)
        finally:
            self._readings.write()
        return ImportReport(sorted(files, key=lambda file: str(file.path)))

    def _file(self, file: FileReport) -> None:
        """Imports one file; what keeps it from being imported ends in its report, except a database that is out of reach."""
        try:
            if file.path.is_dir():
                raise UnknownFormat(f"a folder without transcript files ({self.format.wanted})")
            found = file.path.stat()
            if not S_ISREG(found.st_mode):
                raise UnknownFormat("neither a file nor a folder: reading it might never end")
            file.empty = found.st_size == 0
            if not file.empty:
                self._sources(file)
        except StoreUnavailable:
            raise
        except UnknownFormat as e:
            file.error, file.problems = str(e), Problems()
        except OSError as e:
            file.error = f"cannot be read: {e.strerror or e}"
        except SessionSearchError as e:
            file.error = f"not imported: {e}"

    def _sources(self, file: FileReport) -> None:
        modified_ms = file.path.stat().st_mtime_ns // 1_000_000
        for source in self.format.read(file.path, file.problems):
            if as_it_was := self._readings.settled(file, source.agent_id or self.agent, source):
                self._count(file, as_it_was)
                continue
            events = self._heard(source.events)
            try:
                first = next(events, None)
                if first is not None or (source.branch is not None and self._is_stored(source)):
                    self._session(file, source, chain([first] if first else [], events), modified_ms)
            except UnreadableSource as e:
                file.error = f"session {safe_id(source.session_id)} is not imported to its end: {e}"

    def _heard(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self._beat()
            yield event

    def _is_stored(self, source: Source) -> bool:
        """Whether there is something of a session that its source has emptied."""
        agent = source.agent_id or self.agent
        if not self.store.has_agent(agent):
            return False
        with self.store.reader(agent) as conn:
            return rows.find_transcript(conn, safe_id(source.session_id)) is not None

    def _session(self, file: FileReport, source: Source, events: Iterator[Event], modified_ms: int) -> None:
        agent, session_id = source.agent_id or self.agent, safe_id(source.session_id)
        own = without_copies(self.store, agent, self.format, source, events)
        fitted = Fitted(self.store, agent, session_id, self.format, iter(own), source.branch) if source.branch else None
        done = self._take_in(agent, source, fitted or own, modified_ms, file.problems)
        for _ in events:
            pass  # of a session that stays deleted the rest is read all the same, for its file's problems
        if fitted and source.branch and source.branch.whole and not done.deleted:
            leaf = leaf_control(self.store, agent, session_id, fitted.leaf, grew=done.added > 0)
            done.added += self._take_in(agent, source, [leaf], modified_ms, file.problems).added if leaf else 0
        if not done.deleted:
            self._follow_head(agent, source)
            self._clear_forks(file, agent, source)
        self._tell(file, _key(agent, source.session_id), done)
        if done.deleted:
            file.copied += own.left_out
        else:
            self._count(file, Taken(agent, session_id, mark_of(source), done.added + done.known, done.added, own.left_out))

    def _take_in(self, agent: str, source: Source, events: Iterable[Event], modified_ms: int, problems: Problems) -> Imported:
        head = ImportHead(
            session_id=safe_id(source.session_id),
            title=source.title[: validate.MAX_TITLE_CHARS] if source.title else None,
            kind=source.kind,
            spawned_by=_spawner(agent, source),
            incognito=source.incognito,
            created_at_ms=modified_ms if source.created_at_ms is None else source.created_at_ms,
        )
        key = _key(agent, source.session_id)
        try:
            return import_transcript(self.store, agent, key, head, events, self.now_ms, restore=self.restore)
        except Unprocessable as e:
            problems.note(0, f"session {key} is imported without its parent: {e}")
            head = replace(head, spawned_by=None)
            return import_transcript(self.store, agent, key, head, events, self.now_ms, restore=self.restore)

    def _follow_head(self, agent: str, source: Source) -> None:
        """What the source has told since the session was first stored is added to it; nothing that was set here is taken back."""
        key = _key(agent, source.session_id)
        with self.store.reader(agent) as conn:
            session = rows.find_session(conn, key)
        if session is None:
            return
        told = {
            "incognito": (True, source.incognito and not session.incognito),
            "kind": (source.kind, session.kind == "main" != source.kind),
            "spawnedBy": (_spawner(agent, source), session.spawned_by is None),
        }
        changes = {name: value for name, (value, wanted) in told.items() if wanted and value}
        if changes:
            with suppress(Unprocessable):  # a session above itself, which was reported when it was imported
                put_session(self.store, agent, key, changes, self.now_ms)

    def _clear_forks(self, file: FileReport, agent: str, source: Source) -> None:
        """What forks of the session hold of it, which came before it, is found here alone."""
        note_origin(self.store, agent, self.format, source)
        for fork, copied in clear_forks(self.store, agent, self.format, safe_id(source.session_id)):
            file.problems.note(0, f"{copied} events that session {_key(agent, fork)} had copied from this one are removed from it")

    def _count(self, file: FileReport, taken: Taken) -> None:
        file.sessions += 1
        file.added += taken.added
        file.known += taken.events - taken.added
        file.copied += taken.copied
        file.taken.append(taken)

    def _tell(self, file: FileReport, key: str, done: Imported) -> None:
        file.deleted += done.deleted
        if done.deleted:
            file.problems.note(0, f"session {key} was deleted earlier, not restored (--restore brings it back)")
        for reason in done.problems:
            file.problems.note(0, reason)


def _spawner(agent: str, source: Source) -> str | None:
    """The key under which the session that spawned this one is imported."""
    if source.parent_id is None or (source.parent_id == source.session_id and source.parent_agent_id is None):
        return None
    return _key(source.parent_agent_id or agent, source.parent_id)


def _key(agent: str, session_id: str) -> str:
    return f"agent:{agent}:{safe_id(session_id)}"
