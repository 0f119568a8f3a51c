"""Databases in which somebody met damage: remembered beside them, so that every process knows and a restart does not forget.

A suspect is an empty file of the database's name under run/damaged. Who looks at all databases (census.py) clears it when it finds the
transcripts sound: a damaged index is built anew by itself, a damaged file may have been replaced.
"""

from contextlib import suppress
from pathlib import Path

from shared.config import Settings


def note_suspect(settings: Settings, path: str) -> None:
    """The agent's database is to be looked at; one that cannot be noted will be met again."""
    found = Path(path)
    if found.parent != settings.data / "agents":
        return  # the registry and the queue are opened by every look
    with suppress(OSError):
        _folder(settings).mkdir(mode=0o700, parents=True, exist_ok=True)
        (_folder(settings) / found.name).touch(mode=0o600)


def suspects(settings: Settings) -> frozenset[str]:
    """The names of the files."""
    try:
        return frozenset(found.name for found in _folder(settings).iterdir())
    except OSError:
        return frozenset()  # nearly always: nobody has met damage


def clear_suspect(settings: Settings, name: str) -> None:
    """The file is as it should be."""
    with suppress(OSError):
        (_folder(settings) / name).unlink()


def _folder(settings: Settings) -> Path:
    return settings.data / "run" / "damaged"
