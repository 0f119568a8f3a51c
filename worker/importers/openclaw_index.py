"""What OpenClaw keeps beside its transcripts: under each session key its session, what it is called, who spawned it, of what kind it is.

Older versions keep it in sessions.json in the folder of the transcripts, newer ones in the agent's database. An imported session is
addressed by its source's id, so the key of a spawner is answered with the id of the session under it.
source: OpenClaw, src/config/sessions/types.ts (SessionEntry), src/shared/incognito-session-key.ts, src/state/openclaw-agent-schema.sql.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.config import AGENT_ID
from worker.importers import shapes

INDEX = "sessions.json"
MAX_INDEX_BYTES = 64 << 20
_INCOGNITO = re.compile(r"agent:[^:]+:(?:dashboard|subagent|internal-session-effects):incognito-[^:]+")
_KEY = re.compile(r"agent:(?P<agent>[^:]+):(?P<rest>.+)", re.DOTALL)
_KINDS = (  # how a key goes on, and the kind of session it then is
    (re.compile(r"subagent:|acp:"), "subagent"),
    (re.compile(r"cron:"), "cron"),
    (re.compile(r"(?:.*:)?heartbeat$"), "background"),
    (re.compile(r"(?:.*:)?(?:group|channel):"), "group"),
)
_TOLD = (
    *("sessionId", "usageFamilySessionIds", "spawnedBy", "parentSessionKey", "label", "displayName", "subject"),
    *("kind", "incognito", "chatType", "bootstrapContextRunKind"),
)


@dataclass(frozen=True)
class Label:
    """One session as the index tells of it. spawner: the id of the session that spawned it, and the agent where it is another's."""

    title: str | None = None
    kind: str = "main"
    incognito: bool = False
    spawner: tuple[str | None, str] | None = None


@dataclass(frozen=True)
class Index:
    """The entries of one agent by session key."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def label(self, session_id: str, elsewhere: "Callable[[str], Index]") -> Label:
        """What is told of a session; nothing is an ordinary one. elsewhere: the index of another agent."""
        key = self._key_of.get(session_id)
        if key is None:
            return Label()
        entry = self.entries[key]
        spawned_by = shapes.word(entry.get("spawnedBy")) or shapes.word(entry.get("parentSessionKey"))
        titles = (shapes.word(entry.get(name)) for name in ("label", "displayName", "subject"))
        return Label(
            title=next(filter(None, titles), None),
            kind=_kind(key, entry),
            incognito=entry.get("incognito") is True or _INCOGNITO.fullmatch(key.strip().lower()) is not None,
            spawner=self._spawner(spawned_by, key, elsewhere) if spawned_by and spawned_by != key else None,
        )

    @cached_property
    def _key_of(self) -> dict[str, str]:
        """The key under which each session is now, or was before; the first that names it. An import asks once for every session."""
        found: dict[str, str] = {}
        for key, entry in self.entries.items():
            for session_id in (entry.get("sessionId"), *shapes.sequence(entry.get("usageFamilySessionIds"))):
                if isinstance(session_id, str):
                    found.setdefault(session_id, key)
        return found

    def _spawner(self, spawned_by: str, key: str, elsewhere: "Callable[[str], Index]") -> tuple[str | None, str] | None:
        own, other = _KEY.fullmatch(key), _KEY.fullmatch(spawned_by)
        foreign = other["agent"] if other and own and other["agent"] != own["agent"] else None
        if foreign is not None and not AGENT_ID.fullmatch(foreign):
            return None
        index = self if foreign is None else elsewhere(foreign)
        session_id = shapes.word(index.entries.get(spawned_by, {}).get("sessionId"))
        return (foreign, session_id) if session_id else None


def index_beside(folder: Path) -> Index:
    """The index in a folder of transcripts; an empty one where there is none that could be understood."""
    path = folder / INDEX
    try:
        state = path.stat()
    except OSError:
        return Index()
    return _index(path, state.st_mtime_ns, state.st_size) if state.st_size <= MAX_INDEX_BYTES else Index()


@lru_cache(maxsize=8)  # it is asked for with every transcript of its folder
def _index(path: Path, _modified_ns: int, _size: int) -> Index:
    try:
        found = jsontext.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except (OSError, jsontext.BadJson):
        return Index()
    return Index({key: told(entry) for key, entry in shapes.mapping(found).items() if isinstance(entry, dict)})


def told(entry: dict[str, Any]) -> dict[str, Any]:
    """What of an entry is asked for; the rest (prompts, skills, counters) is a hundred times as long."""
    return {name: entry[name] for name in _TOLD if name in entry}


def _kind(key: str, entry: dict[str, Any]) -> str:
    named = shapes.word(entry.get("kind"))
    if named is not None and named.isprintable() and len(named) <= 32:
        return named
    if shapes.word(entry.get("bootstrapContextRunKind")) in ("cron", "heartbeat"):
        return "cron" if entry["bootstrapContextRunKind"] == "cron" else "background"
    found = _KEY.fullmatch(key)
    rest = found["rest"] if found else key
    kind = next((kind for pattern, kind in _KINDS if pattern.match(rest)), None)
    return kind or ("group" if entry.get("chatType") in ("group", "channel") else "main")
