"""Importing: transcript files of one format become sessions of ours, one file after the other, and a report tells what became of each.

A file that cannot be read never keeps the others from being imported. Importing again adds nothing and a grown file adds its new
part, for readers give the same events the same ids. What a forked session's file copied from a session that is stored is left out:
those words are found there already. Sessions are imported before those forked from them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from shared import validate
from shared.errors import SessionSearchError, StoreUnavailable, UnknownFormat
from shared.intake import Imported, ImportHead, import_transcript
from shared.store import Store
from worker.copies import without_copies
from worker.importers import FORMATS
from worker.importers.base import Event, Format, Problem, Problems, Source, safe_id

Progress = Callable[[int, int, Path], None]  # files done, files in all, the file just done


@dataclass
class FileReport:
    """What became of one file. error is set when the file could not be imported as a whole."""

    path: Path
    sessions: int = 0
    added: int = 0  # events
    known: int = 0  # events that were there already
    copied: int = 0  # events left out, for the session they were copied from is stored
    deleted: int = 0  # sessions deleted here earlier and not restored
    empty: bool = False
    error: str | None = None
    problems: Problems = field(default_factory=Problems)

    def lines(self) -> Iterator[str]:
        """Its problems, one line each."""
        if self.error is not None:
            yield f"{self.path}: {self.error}"
        if self.empty:
            yield f"{self.path}: empty, nothing to import"
        yield from (problem.text(self.path) for problem in self.problems.found)
        if self.problems.more:
            yield f"{self.path}: and {self.problems.more} more"


@dataclass
class ImportReport:
    """What an import did, file by file."""

    files: list[FileReport] = field(default_factory=list)

    def total(self, name: str) -> int:
        """The sum of one of FileReport's counts."""
        return sum(int(getattr(file, name)) for file in self.files)

    @property
    def skipped(self) -> int:
        """Lines left out in files that were imported."""
        return sum(file.problems.skipped for file in self.files)

    @property
    def failed(self) -> int:
        """Files that were not imported."""
        return sum(file.error is not None for file in self.files)

    @property
    def exit_code(self) -> int:
        """0 when only lines were skipped, 1 when a file was."""
        return 1 if self.failed else 0


def import_paths(
    store: Store,
    format_name: str,
    paths: Sequence[str | Path],
    *,
    agent: str | None = None,
    restore: bool = False,
    now_ms: int,
    report: Progress = lambda done, total, path: None,
) -> ImportReport:
    """Imports files and, from folders, every transcript file below them.

    agent: whose sessions they become where the source names no agent; the format's name when None.
    restore: sessions deleted here earlier are brought back. report: called after each file.
    raises: UnknownFormat for a format that is not one of ours, BadRequest for an agent id, StoreUnavailable when a database is.
    """
    format_ = _format(format_name)
    fallback = validate.agent_id(agent if agent is not None else format_.name, "--agent")
    work = _Work(store, format_, fallback, restore, now_ms)
    files = list(_in_order(format_, [FileReport(path) for path in _files(paths)]))
    for done, file in enumerate(files, 1):
        work.take(file)
        report(done, len(files), file.path)
    return ImportReport(sorted(files, key=lambda file: str(file.path)))


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownFormat(f"{name!r} is not a format that can be imported; those are {', '.join(FORMATS)}")
    return FORMATS[name]


def _files(paths: Iterable[str | Path]) -> Iterator[Path]:
    """The files named, and the transcripts below the folders named; each once."""
    seen: set[Path] = set()
    for path in map(Path, paths):
        below = (
            sorted(p for p in path.rglob("*.jsonl") if p.is_file() and not p.name.endswith(".trajectory.jsonl")) if path.is_dir() else []
        )
        for file in below or [path]:
            if (place := file.absolute()) not in seen:
                seen.add(place)
                yield file


def _in_order(format_: Format, files: list[FileReport]) -> Iterator[FileReport]:
    """The files, those of forked sessions after the ones they were forked from."""
    if len(files) < 2:
        yield from files
        return
    origins = {file.path: _origin(format_, file.path) for file in files}
    by_session = {session: file for file in files if (session := origins[file.path][0])}
    done: set[Path] = set()
    for file in files:
        line: list[FileReport] = []
        following: FileReport | None = file
        while following is not None and following.path not in done:
            done.add(following.path)
            line.append(following)
            following = by_session.get(origins[following.path][1] or "")
        yield from reversed(line)


def _origin(format_: Format, path: Path) -> tuple[str | None, str | None]:
    """The session of a file, and the one it was copied from; a file that cannot be read has neither, and is reported later."""
    try:
        with closing(format_.read(path, Problems())) as sources:
            source = next(sources, None)
    except (OSError, UnknownFormat):
        return None, None
    return (source.session_id, source.copied_from) if source else (None, None)


@dataclass
class _Work:
    """One import while it runs."""

    store: Store
    format: Format
    agent: str
    restore: bool
    now_ms: int

    def take(self, file: FileReport) -> None:
        """Imports one file; what keeps it from being imported ends in its report, except a database that is out of reach."""
        try:
            if file.path.is_dir():
                raise UnknownFormat("a folder without transcript files (*.jsonl)")
            file.empty = file.path.stat().st_size == 0
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
            events = iter(source.events)
            first = next(events, None)
            if first is None:
                continue
            self._session(file, source, chain([first], events), modified_ms)

    def _session(self, file: FileReport, source: Source, events: Iterator[Event], modified_ms: int) -> None:
        agent = source.agent_id or self.agent
        own = without_copies(self.store, agent, self.format, source, events)
        head = ImportHead(
            session_id=safe_id(source.session_id),
            title=source.title[: validate.MAX_TITLE_CHARS] if source.title else None,
            kind=source.kind,
            spawned_by=_key(agent, source.parent_id) if source.parent_id else None,
            created_at_ms=modified_ms if source.created_at_ms is None else source.created_at_ms,
        )
        key = _key(agent, source.session_id)
        done = import_transcript(self.store, agent, key, head, own, self.now_ms, restore=self.restore)
        for _ in events:
            pass  # of a session that stays deleted the rest is read all the same, for its file's problems
        self._count(file, key, done, own.left_out)

    def _count(self, file: FileReport, key: str, done: Imported, copied: int) -> None:
        file.sessions += not done.deleted
        file.added += done.added
        file.known += done.known
        file.copied += copied
        file.deleted += done.deleted
        if done.deleted:
            file.problems.note(0, f"session {key} was deleted earlier, not restored (--restore brings it back)")
        for reason in done.problems:
            file.problems.note(0, reason)


def _key(agent: str, session_id: str) -> str:
    return f"agent:{agent}:{safe_id(session_id)}"


# -- the report


def render_report(report: ImportReport) -> str:
    """The report for people: a line of counts, then a line for every problem."""
    return "\n".join([_summary(report), *(line for file in report.files for line in file.lines())])


def _summary(report: ImportReport) -> str:
    added, known = report.total("added"), report.total("known")
    parts = [f"{_counted(added, 'event')} added" if added or not known else "nothing added"]
    if known:
        parts.append(f"{_counted(known, 'event')} already present")
    for count, words in ((report.total("copied"), "left out as copies"), (report.skipped, "skipped")):
        if count:
            parts.append(f"{_counted(count, 'line' if words == 'skipped' else 'event')} {words}")
    if deleted := report.total("deleted"):
        parts.append(f"{_counted(deleted, 'session')} deleted earlier, not restored")
    if report.failed:
        parts.append(f"{_counted(report.failed, 'file')} not imported")
    return f"{_counted(len(report.files), 'file')}, {_counted(report.total('sessions'), 'session')}: {', '.join(parts)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def report_json(report: ImportReport) -> dict[str, Any]:
    """The report for machines."""
    counts = {name: report.total(name) for name in ("sessions", "added", "known", "copied", "deleted")}
    return {
        "files": len(report.files),
        **counts,
        "skippedLines": report.skipped,
        "failedFiles": [{"path": str(file.path), "reason": file.error} for file in report.files if file.error is not None],
        "emptyFiles": [str(file.path) for file in report.files if file.empty],
        "problems": [_problem_json(file, problem) for file in report.files for problem in file.problems.found],
        "moreProblems": sum(file.problems.more for file in report.files),
    }


def _problem_json(file: FileReport, problem: Problem) -> dict[str, Any]:
    return {"path": str(file.path), "line": problem.line or None, "reason": problem.reason}
