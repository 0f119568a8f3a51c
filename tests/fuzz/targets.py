"""Every target by its name, and the bytes of its corpus."""

from collections.abc import Callable
from pathlib import Path

from tests.fuzz import files, texts

CORPUS = Path(__file__).parent / "corpus"
TARGETS: dict[str, Callable[[bytes], None]] = {
    "json": texts.json,
    "event": texts.event,
    "time": texts.time,
    "cursor": texts.cursor,
    "query": texts.query,
    **files.TARGETS,
}


def corpus(name: str) -> list[Path]:
    """The files whose bytes the target is known to take."""
    return sorted(path for path in (CORPUS / name).iterdir() if path.is_file())
