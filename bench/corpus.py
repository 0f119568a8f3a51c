"""Transcripts of agents, made by a seed: the same seed and size give the same bytes, and what was planted is known.

Every session has a generator of its own, so that sessions can be made in any order and nothing is held but one of them. Words follow
Zipf's law; a quarter of the sessions are not in English; there are tool calls with their results, reasoning, images, and branches that
were left. Two events in five are searchable text; the rest is what a real transcript has beside it.
"""

import base64
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from bench import words

MEAN_LENGTH = 100  # events a session; the longest have some thousands
BEGIN_MS = 1_735_689_600_000  # 2025-01-01
SPREAD_MS = 330 * 86_400_000
LANGUAGES = {"english": 0.76, "chinese": 0.08, "japanese": 0.04, "korean": 0.03, "thai": 0.03, "russian": 0.03, "accented": 0.03}
TOOLS = ("bash", "read", "edit", "grep")


@dataclass(frozen=True)
class Plant:
    """A term that is put in known places. query: what finds it; slot: the kind of text that holds it."""

    name: str
    query: str
    slot: str  # text, tool_result, thinking, tool_call, abandoned: only text is to be found
    piece: str
    times: int = 3


PLANTS = (
    Plant("word", "xqplain", "text", "a note on xqplain here", 5),
    Plant("phrase", '"xqnorth xqpier"', "text", "from the xqnorth xqpier at noon", 4),
    Plant("apart", "xqwest xqquay", "text", "the xqwest side is not the old xqquay", 3),
    Plant("prefix", "xqbegin*", "text", "it is called xqbeginnings now", 3),
    Plant("han one", "龘", "text", "这里写着龘字", 3),
    Plant("han two", "麤靐", "text", "请检查麤靐模块", 4),
    Plant("han four", "饕餮麒麟", "text", "现在把饕餮麒麟服务重启", 4),
    Plant("mixed", "xqgpu显存", "text", "请看xqgpu显存的占用", 3),
    Plant("thai", "ฆฆณณ", "text", "ตรวจสอบฆฆณณแล้ว", 3),
    Plant("accent", "xqcafe", "text", "meet at the xqcafé later", 3),
    Plant("path", "xqdir/xqfile.rs", "text", "see src/xqdir/xqfile.rs for it", 3),
    Plant("tool result", "xqresult", "tool_result", "line xqresult end", 3),
    Plant("reasoning", "xqthought", "thinking", "perhaps xqthought matters", 3),
    Plant("arguments", "xqargument", "tool_call", "xqargument", 3),
    Plant("left branch", "xqabandoned", "abandoned", "let us try xqabandoned instead", 20),  # few sessions have one
)


@dataclass
class Entry:
    """One event. message: as pi stores it; text: what of it is searchable; active: whether it is on the branch."""

    id: str
    parent: str | None
    time_ms: int
    message: dict[str, Any]
    text: str
    active: bool = True

    @property
    def slot(self) -> str:
        if not self.active:
            return "abandoned" if self.text else ""
        return "tool_result" if self.message["role"] == "toolResult" else "text" if self.text else ""


@dataclass
class Session:
    """One transcript. planted: (name of the plant, event id) of every term put into it."""

    id: str
    begin_ms: int
    entries: list[Entry]
    planted: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Corpus:
    """messages: events in all sessions together."""

    messages: int
    seed: int = 1
    name: str = "s"  # begins the ids of its sessions, so that two corpora can share an agent
    lone: bool = False  # one session of all messages, in English and without branches

    @cached_property
    def lengths(self) -> list[int]:
        """How many events each session has: a few are very long, as in life."""
        if self.lone:
            return [self.messages]
        rng, count = random.Random(f"{self.seed} lengths"), max(1, self.messages // MEAN_LENGTH)
        drawn = [rng.lognormvariate(0, 1.1) for _ in range(count)]
        scale = (self.messages - 4 * count) / sum(drawn)
        lengths = [4 + int(one * scale) for one in drawn]
        lengths[0] += self.messages - sum(lengths)
        return lengths

    def session_id(self, index: int) -> str:
        return f"{self.name}{self.seed}-{index:06d}"

    def sessions(self) -> Iterator[Session]:
        """All of them, one at a time."""
        for index in range(len(self.lengths)):
            yield self.session(index)

    def session(self, index: int) -> Session:
        """One of them, the same whenever it is asked for."""
        return _Writer(self, index).session()

    @cached_property
    def vocabulary(self) -> list[str]:
        return words.vocabulary(random.Random(f"{self.seed} words"))

    @cached_property
    def weights(self) -> list[float]:
        """Cumulative, by rank: Zipf with Mandelbrot's shift."""
        return list(itertools.accumulate(1 / (rank + 2.5) ** 1.02 for rank in range(len(self.vocabulary))))

    @cached_property
    def places(self) -> dict[int, list[Plant]]:
        """Which terms go into which session."""
        rng, found = random.Random(f"{self.seed} plants"), dict[int, list[Plant]]()
        for plant in PLANTS:
            for _ in range(plant.times):
                found.setdefault(rng.randrange(len(self.lengths)), []).append(plant)
        return found


class _Writer:
    """Writes one session."""

    def __init__(self, corpus: Corpus, index: int) -> None:
        self._corpus, self._index = corpus, index
        self._rng = random.Random(f"{corpus.seed} session {index}")
        self._length = corpus.lengths[index]
        self._language = "english" if corpus.lone else self._rng.choices(list(LANGUAGES), list(LANGUAGES.values()))[0]
        self._names = [words.name_of(self._rng) for _ in range(4 + self._length // 60)]
        self._time_ms = BEGIN_MS + SPREAD_MS * index // max(1, len(corpus.lengths)) + self._rng.randrange(3_600_000)
        self._entries: list[Entry] = []
        self._call: tuple[str, str] | None = None  # id and tool of the call that waits for its result

    def session(self) -> Session:
        begin_ms, rng = self._time_ms, self._rng
        left_at, back_to = 0, 0
        if not self._corpus.lone and self._length > 14 and rng.random() < 0.2:
            back_to = rng.randrange(3, self._length - 8)
            left_at = min(self._length - 4, back_to + rng.randrange(2, 30))
        for number in range(self._length):
            if left_at and number == left_at:
                self._rewind(back_to)
            self._write()
        done = Session(self._corpus.session_id(self._index), begin_ms, self._entries)
        self._plant(done)
        return done

    def _rewind(self, back_to: int) -> None:
        """What stands after this many entries is left: the next one hangs on the entry before."""
        for entry in self._entries[back_to:]:
            entry.active = False
        self._call = None

    def _write(self) -> None:
        rng = self._rng
        self._time_ms += rng.randrange(500, 60_000)
        parent = next((entry for entry in reversed(self._entries) if entry.active), None)
        if self._call is not None:
            message, text = self._tool_result(*self._call), ""
        elif parent is None or (parent.message["role"] == "assistant" and rng.random() < 0.8):
            message, text = self._turn("user", self._count(16, 0.9))
        else:
            message, text = self._turn("assistant", self._count(30, 0.9))
        key = f"{len(self._entries):x}".rjust(4, "0") + f"{rng.getrandbits(24):06x}"
        self._entries.append(Entry(key, parent.id if parent else None, self._time_ms, message, text))

    def _count(self, median: int, sigma: float) -> int:
        return min(600, max(1, int(median * self._rng.lognormvariate(0, sigma))))

    def _turn(self, role: str, count: int) -> tuple[dict[str, Any], str]:
        """A message of the user or the assistant, and its searchable text."""
        rng, blocks = self._rng, list[dict[str, Any]]()
        calls = role == "assistant" and rng.random() < 0.6
        if role == "assistant" and rng.random() < 0.3:
            blocks.append({"type": "thinking", "thinking": self._latin(self._count(25, 0.7))})
        text = "" if calls and rng.random() < 0.4 else self._text(count // 2 + 1 if calls else count)
        if text:
            blocks.append({"type": "text", "text": text})
        if role == "user" and rng.random() < 0.01:
            blocks.append({"type": "image", "mimeType": "image/png", "data": base64.b64encode(rng.randbytes(300)).decode()})
        if calls:
            self._call = (f"call_{rng.getrandbits(40):010x}", rng.choice(TOOLS))
            arguments = {"command": self._latin(rng.randint(2, 9)), "path": "/".join(self._draw(3)) + ".py"}
            blocks.append({"type": "toolCall", "id": self._call[0], "name": self._call[1], "arguments": arguments})
        return {"role": role, "content": blocks}, text

    def _tool_result(self, call_id: str, tool: str) -> dict[str, Any]:
        self._call = None
        lines = (f"{number:5d}\t{self._latin(self._rng.randint(3, 14))}" for number in range(1, 2 + self._count(5, 0.9)))
        content = [{"type": "text", "text": "\n".join(lines)}]
        return {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": content, "isError": False}

    # -- text

    def _text(self, count: int) -> str:
        rng = self._rng
        makers = {
            "chinese": lambda: self._han(count),
            "japanese": lambda: self._glued(words.KANA, count, "。"),
            "thai": lambda: self._glued(words.THAI, count, " "),
            "korean": lambda: " ".join(rng.choices(words.HANGUL, k=count)),
            "russian": lambda: " ".join(rng.choices(words.CYRILLIC, k=count)),
            "accented": lambda: " ".join(rng.choice(words.ACCENTED) if rng.random() < 0.3 else one for one in self._draw(count)),
        }
        text = makers.get(self._language, lambda: self._latin(count))()
        if rng.random() < 0.15:
            text += " " + rng.choice(self._names)
        if rng.random() < 0.02:
            text += " " + rng.choice(words.EMOJI)
        return text

    def _draw(self, count: int) -> list[str]:
        return self._rng.choices(self._corpus.vocabulary, cum_weights=self._corpus.weights, k=count)

    def _latin(self, count: int) -> str:
        drawn = self._draw(count)
        for at in range(self._rng.randint(7, 14), count, 12):
            drawn[at - 1] += self._rng.choice((".", ",", ":", ".\n"))
        return " ".join(drawn)

    def _han(self, count: int) -> str:
        """A run without spaces: words, single characters, and Latin words glued to them."""
        parts = []
        for word in self._rng.choices(words.HAN, k=max(2, count)):
            parts.append(word)
            luck = self._rng.random()
            if luck < 0.15:
                parts.append("".join(self._rng.choices(words.HAN_SINGLE, k=2)))
            elif luck < 0.22:
                parts.append(self._draw(1)[0])
            elif luck < 0.30:
                parts.append(self._rng.choice("，。？"))
        return "".join(parts)

    def _glued(self, source: tuple[str, ...], count: int, end: str) -> str:
        return "".join(word + (end if self._rng.random() < 0.1 else "") for word in self._rng.choices(source, k=max(2, count)))

    # -- planting

    def _plant(self, session: Session) -> None:
        """Puts the session's terms into its entries; one for which there is no place is left out, and so is not in `planted`."""
        for plant in self._corpus.places.get(self._index, ()):
            fitting = [entry for entry in session.entries if self._fits(entry, plant.slot)]
            if fitting:
                entry = self._rng.choice(fitting)
                _put(entry, plant)
                session.planted.append((plant.name, entry.id))

    def _fits(self, entry: Entry, slot: str) -> bool:
        if slot in ("thinking", "tool_call"):
            kind = "thinking" if slot == "thinking" else "toolCall"
            return entry.active and any(block["type"] == kind for block in entry.message["content"])
        return entry.slot == slot


def _put(entry: Entry, plant: Plant) -> None:
    kinds = {"thinking": ("thinking", "thinking"), "tool_call": ("toolCall", "arguments")}
    kind, name = kinds.get(plant.slot, ("text", "text"))
    block = next(block for block in entry.message["content"] if block["type"] == kind)
    if kind == "toolCall":
        block["arguments"]["note"] = plant.piece
    else:
        block[name] += " " + plant.piece
    if kind == "text" and entry.text:
        entry.text = block[name]


# -- the forms


def iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_of(entry: Entry) -> dict[str, Any]:
    """The event as an append sends it, and as pi and OpenClaw store it."""
    return {"type": "message", "id": entry.id, "parentId": entry.parent, "timestamp": iso(entry.time_ms), "message": entry.message}


def jsonl(session: Session) -> Iterator[str]:
    """The lines of the session's file, as pi and OpenClaw write it."""
    yield json.dumps({"type": "session", "version": 3, "id": session.id, "timestamp": iso(session.begin_ms), "cwd": "/home/ada"})
    for entry in session.entries:
        yield json.dumps(event_of(entry), ensure_ascii=False)


def searchable(session: Session) -> Iterator[tuple[str, str]]:
    """(event id, text) of what is to be found: the plain rows for an index beside ours."""
    return ((entry.id, entry.text) for entry in session.entries if entry.active and entry.text)
