"""The order in which files are imported: those of forked sessions after the ones they were forked from, so that their copies are known."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from shared.errors import SessionSearchError
from worker.import_report import FileReport
from worker.importers.base import Format, Problems


def in_order(format_: Format, files: list[FileReport]) -> Iterator[FileReport]:
    """The files, those of forked sessions after the ones they were forked from."""
    if len(files) < 2 or not format_.forks:
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
    if not path.is_file():
        return None, None
    try:
        with closing(format_.read(path, Problems())) as sources:
            source = next(sources, None)
    except (OSError, SessionSearchError):
        return None, None
    return (source.session_id, source.copied_from) if source else (None, None)
