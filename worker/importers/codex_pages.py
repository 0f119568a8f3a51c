"""Rollouts that go on from another one: what a thread holds after it was reverted, or forked by reference.

Such a rollout names the rollout it goes on from and the first record of that one which is none of its own. Its own records count on from
there, so that neither their numbers nor their lines tell them from the records that were taken back.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from shared import jsontext
from worker.importers.base import Entry, named_below
from worker.importers.packed import ENDING

MOST_PAGES = 64  # one behind the other; each is read up to where the next one goes on
_FOLDERS = ("sessions", "archived_sessions")  # of Codex's, with a folder a year, a month and a day
_LEVELS = 4


@dataclass(frozen=True)
class Base:
    """The rollout that another goes on from, by the id in its name, and the first record that is not taken over."""

    rollout_id: str
    end: int


def base_of(meta: dict[str, Any]) -> Base | None:
    """What a rollout goes on from; None for one that begins by itself."""
    found = meta.get("history_base")
    rollout_id, end = (found.get("thread_id"), found.get("end_ordinal_exclusive")) if isinstance(found, dict) else (None, None)
    if not isinstance(rollout_id, str) or not rollout_id or not isinstance(end, int) or isinstance(end, bool):
        return None
    return Base(rollout_id, end)


def is_beyond(entry: Entry, base: Base) -> bool:
    """Whether a record of the base is none of what goes on from it."""
    ordinal = entry.value.get("ordinal")
    return isinstance(ordinal, int) and ordinal >= base.end


def page_mark(meta: dict[str, Any]) -> str:
    """What the ids of a page's lines end with: the same whenever the page is read, and another one for every page."""
    return "~" + sha256(jsontext.dumps(meta).encode()).hexdigest()[:8]


def rollout_of(path: Path, rollout_id: str) -> Path | None:
    """The rollout of this id, beside another one or wherever Codex keeps such."""
    endings = (f"{rollout_id}.jsonl", f"{rollout_id}.jsonl{ENDING}")
    beside = sorted(file for file in path.parent.iterdir() if file.name.endswith(endings))
    if beside:
        return beside[0]
    home = next((folder.parent for folder in list(path.parents)[:_LEVELS] if folder.name in _FOLDERS), None)
    places = [(home / name, ending) for name in _FOLDERS for ending in endings] if home else []
    return next((found for folder, ending in places if folder.is_dir() for found in named_below(folder, ending)), None)
