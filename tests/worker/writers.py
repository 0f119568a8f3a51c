"""Agents' programs that write a transcript as it happens: they say, rewind and compact, each in its format's own way.

A line is written in two pieces, as a program's buffer may do it. `active` is what the conversation holds now, in order.
"""

import json
import random
import time
from pathlib import Path
from typing import Any


class Writer:
    """One program with one session. Texts are `mark` and a word of their own, so that one search finds all that is active."""

    def __init__(self, path: Path, session_id: str) -> None:
        self.path, self.session_id = path, session_id
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.said = self.lines = 0
        self.branch: list[tuple[str, str, str]] = []  # id, role, text
        self.begin()

    @property
    def active(self) -> set[str]:
        return {text for _, _, text in self.branch}

    def begin(self) -> None:
        """What stands before the first words."""

    def turn(self, chance: random.Random) -> None:
        """The next thing that happens: mostly words, sometimes a rewind or a compaction."""
        what = chance.choices(("talk", "rewind", "compact"), (6, 3, 1))[0]
        if what == "rewind" and len(self.branch) > 2:
            self.rewind(chance.randrange(1, len(self.branch) // 2 + 1))
        elif what == "compact" and self.branch:
            self.compact()
        else:
            self.talk()

    def talk(self) -> None:
        for role in ("user", "assistant"):
            self.say(role)

    def say(self, role: str) -> None:
        self.said += 1
        text = f"mark {self.session_id}x{self.said}"
        before = self.branch[-1][0] if self.branch else None
        self.branch.append((self.speak(f"m{self.said}", role, text, before), role, text))

    def speak(self, own: str, role: str, text: str, before: str | None) -> str:
        """Writes a message that hangs on another; its id."""
        raise NotImplementedError

    def rewind(self, turns: int) -> None:
        """The last turns (two messages each) are taken back, and others said."""
        del self.branch[-2 * turns :]
        self.talk()

    def compact(self) -> None:
        raise NotImplementedError

    def write(self, line: dict[str, Any]) -> None:
        self.lines += 1
        data = json.dumps({**line, "timestamp": f"2026-03-04T10:{self.lines // 60 % 60:02d}:{self.lines % 60:02d}.000Z"}).encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            file.write(data[: len(data) // 2])
            time.sleep(0.02)
            file.write(data[len(data) // 2 :])


class OpenClaw(Writer):
    """Messages name their parent; a rewind is a leaf control, or a message that hangs further up; a compaction stands on the path."""

    def begin(self) -> None:
        self.write({"type": "session", "version": 3, "id": self.session_id})
        self.tip: str | None = None

    def speak(self, own: str, role: str, text: str, before: str | None) -> str:
        self.write({"type": "message", "id": own, "parentId": self.tip, "message": {"role": role, "content": [{"type": "text", "text": text}]}})
        self.tip = own
        return own

    def rewind(self, turns: int) -> None:
        del self.branch[-2 * turns :]
        self.tip = self.branch[-1][0] if self.branch else None
        if self.lines % 2:
            self.write({"type": "leaf", "id": f"l{self.lines}x", "parentId": None, "targetId": self.tip})
        else:
            self.talk()

    def compact(self) -> None:
        own = f"c{self.lines}"
        self.write({"type": "compaction", "id": own, "parentId": self.tip, "summary": "mark of what was", "firstKeptEntryId": self.branch[-1][0]})
        self.tip = own


class ClaudeCode(Writer):
    """Records name their parent; a rewind is a record that hangs further up; a compaction is a new root that names where it came from."""

    def begin(self) -> None:
        self.tip: str | None = None

    def speak(self, own: str, role: str, text: str, before: str | None) -> str:
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        self.record(own, {"type": role, "message": {"role": role, "content": content}})
        return own

    def record(self, own: str, fields: dict[str, Any]) -> None:
        self.write({"uuid": f"{self.session_id}-{own}", "parentUuid": self.tip, "sessionId": self.session_id, **fields})
        self.tip = f"{self.session_id}-{own}"

    def rewind(self, turns: int) -> None:
        del self.branch[-2 * turns :]
        self.tip = f"{self.session_id}-{self.branch[-1][0]}" if self.branch else None
        self.talk()

    def compact(self) -> None:
        boundary = {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": self.tip, "content": "Conversation compacted"}
        self.tip = None
        self.record(f"b{self.lines}", boundary)
        summary = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "mark of what was"}}
        self.record(f"s{self.lines}", summary)


class Codex(Writer):
    """Every text stands twice, as an item and as an event; a rewind rolls turns back; a compaction is a line of its own."""

    def begin(self) -> None:
        self.write({"type": "session_meta", "payload": {"id": self.session_id, "timestamp": "2026-03-04T10:00:00.000Z"}})

    def speak(self, own: str, role: str, text: str, before: str | None) -> str:
        block, event = ("input_text", "user_message") if role == "user" else ("output_text", "agent_message")
        item = {"type": "response_item", "payload": {"type": "message", "role": role, "content": [{"type": block, "text": text}]}}
        told = {"type": "event_msg", "payload": {"type": event, "message": text}}
        for line in (item, told) if role == "user" else (told, item):
            self.write(line)
        return own

    def rewind(self, turns: int) -> None:
        del self.branch[-2 * turns :]
        self.write({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}})

    def compact(self) -> None:
        self.write({"type": "compacted", "payload": {"message": "mark of what was"}})
