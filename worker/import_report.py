"""What became of the files of an import, for people and for machines."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker.importers.base import Problem, Problems


@dataclass(frozen=True)
class Taken:
    """A session as one file gave it. mark: of its source, where that tells by itself whether it changed; added: events, of `events`."""

    agent_id: str
    session_id: str
    mark: str | None
    events: int
    added: int = 0
    copied: int = 0  # events left out, for they stand in the session they were copied from

    @property
    def session_key(self) -> str:
        """The key it has here."""
        return f"agent:{self.agent_id}:{self.session_id}"


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
    taken: list[Taken] = field(default_factory=list)  # its sessions, where it was read

    def lines(self) -> Iterator[str]:
        """Its problems, one line each, whatever its name holds."""
        yield from (" ".join(line.split("\n")) for line in self._told())

    def _told(self) -> Iterator[str]:
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
        """Lines, rows or records left out in files that were imported."""
        return sum(file.problems.skipped for file in self.files)

    @property
    def unit(self) -> str:
        """What was left out, in a word."""
        units = {file.problems.unit for file in self.files if file.problems.skipped}
        return units.pop() if len(units) == 1 else "record"

    @property
    def failed(self) -> int:
        """Files that were not imported."""
        return sum(file.error is not None for file in self.files)

    @property
    def exit_code(self) -> int:
        """0 when only lines were skipped, 1 when a file was."""
        return 1 if self.failed else 0


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
            parts.append(f"{_counted(count, report.unit if words == 'skipped' else 'event')} {words}")
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
