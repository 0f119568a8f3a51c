"""What the two exports of web chats share: conversations one after the other out of conversations.json or the .zip it came in."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from shared.errors import UnknownFormat
from worker.importers.archives import is_zip, pieces
from worker.importers.base import Problems
from worker.importers.splitting import objects

PATTERN = "conversations*.json"  # large exports come in numbered pieces


def files(folder: Path) -> Iterator[Path]:
    """The exports below a folder: what is called conversations.json, and archives."""
    yield from sorted(path for pattern in (PATTERN, "*.zip") for path in folder.rglob(pattern))


def conversations(path: Path, problems: Problems, is_one: Callable[[dict[str, Any]], bool], name: str) -> Iterator[dict[str, Any]]:
    """Every conversation of an export; what is none is reported. raises: UnknownFormat when the file holds other things only."""
    problems.unit = "record"
    found, members, strangers = False, 0, list[str]()  # strangers: not reported yet, for it may be another program's file altogether
    for member, data in pieces(path, PATTERN):
        members += 1
        for number, value in objects(data, problems, member):
            if not is_one(value):
                strangers.append(f"number {number} of {member} is no conversation")
            else:
                found = True
                yield value
            while found and strangers:
                problems.skip(0, strangers.pop(0))
            del strangers[100:]
    if not found and (strangers or problems.skipped or not members):
        where = "an archive without conversations.json, or " if is_zip(path) else ""
        raise UnknownFormat(f"not a {name} export: {path.name} is {where}a file without a conversation")


def in_tree_order(parents: dict[str, str | None], leaf: str | None) -> Iterator[str]:
    """The ids, each after its parent; of the branches of one place the one with the leaf comes last, so that the leaf ends on it.

    parents: every id with the id it hangs on; the ids of a cycle are given in their order, for nothing is above them.
    """
    children: dict[str | None, list[str]] = {}
    for own, parent in parents.items():
        children.setdefault(parent if parent in parents else None, []).append(own)
    active = set(path_to(parents, leaf))
    given: set[str] = set()
    for start in [None, *parents]:
        if start is None or start not in given:
            yield from _below(children, active, start, given)


def _below(children: dict[str | None, list[str]], active: set[str], start: str | None, given: set[str]) -> Iterable[str]:
    waiting: list[str | None] = [start]
    while waiting:
        own = waiting.pop()
        if own is not None:
            if own in given:
                continue
            given.add(own)
            yield own
        following = children.get(own, [])
        waiting.extend(reversed([c for c in following if c not in active] + [c for c in following if c in active]))


def path_to(parents: dict[str, str | None], leaf: str | None) -> list[str]:
    """The ids from the leaf up to a root, or to where the way closes a cycle."""
    path: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in path:
        path[leaf] = None
        leaf = parents[leaf]
    return list(path)
