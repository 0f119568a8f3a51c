"""What is done in a fixed order, and what has to be there after each step of it.

A step is a verb and its arguments; `expected` is pure and says which messages each session shows after the first n steps.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.worker.writers import OpenClaw

A, B, C = "agent:ada:a", "agent:ada:b", "agent:bob:c"
IMPORTED = "agent:imp:taken-in"

Step = tuple[str, str, Any]  # verb, session key, argument
STEPS: tuple[Step, ...] = (
    ("append", A, ["a1", "a2", "a3", "a4", "a5"]),
    ("append", B, ["b1", "b2"]),
    ("rewind", A, "a3"),
    ("append", A, ["a6"]),
    ("work", A, None),
    ("rewind", A, "a5"),
    ("search", A, None),
    ("work", A, None),
    ("write", IMPORTED, 2),
    ("import", IMPORTED, None),
    ("work", IMPORTED, None),
    ("append", C, ["c1", "c2", "c3"]),
    ("reset", B, None),
    ("append", B, ["b3"]),
    ("write", IMPORTED, 1),
    ("import", IMPORTED, None),
    ("rewind", C, "c1"),
    ("reindex", C, None),
    ("work", C, None),
    ("delete", IMPORTED, None),
    ("import", IMPORTED, None),
    ("delete", A, None),
    ("append", A, ["a7"]),
    ("work", A, None),
    ("append", C, ["c4", "c5"]),
)
KEYS = (A, B, C, IMPORTED)
PATHS = {"a1": ["a1"], "a3": ["a1", "a2", "a3"], "a5": ["a1", "a2", "a3", "a4", "a5"], "c1": ["c1"]}  # from the root to each


@dataclass
class Shown:
    """The messages of each session, oldest first; None: there is no such session."""

    branch: dict[str, list[str] | None]
    old: dict[str, list[str]]  # what older transcripts of the key hold
    source: list[str]  # what the imported program said
    buried: bool = False  # its session was deleted

    def found(self, key: str) -> set[str]:
        return set(self.branch[key] or ()) | set(self.old[key])

    def once_imported(self) -> "Shown":
        """The same after another import."""
        taken_in = None if self.buried or not self.source else self.source
        return Shown({**self.branch, IMPORTED: taken_in}, self.old, self.source, self.buried)


def expected(steps: int) -> Shown:
    """What is there once so many steps were answered."""
    shown = Shown(dict.fromkeys(KEYS), {key: [] for key in KEYS}, [])
    for verb, key, argument in STEPS[:steps]:
        now = shown.branch[key]
        if verb == "append":
            shown.branch[key] = (now or []) + argument
        elif verb == "rewind":
            shown.branch[key] = PATHS[argument]
        elif verb == "reset":
            shown.old[key] += now or []
            shown.branch[key] = []
        elif verb == "delete":
            shown.branch[key], shown.old[key] = None, []
            shown.buried = shown.buried or key == IMPORTED
        elif verb == "write":
            shown.source = [f"m{n}" for n in range(1, len(shown.source) + 2 * argument + 1)]
        elif verb == "import":
            shown = shown.once_imported()
    return shown


def write_source(folder: Path, turns: int) -> None:
    """The program whose transcript is imported says so many turns more."""
    path = folder / "taken-in.jsonl"
    begun = path.exists()
    said = path.read_text().count('"message"') // 2 if begun else 0
    writer = OpenClaw(path, "taken-in") if not begun else _going_on(path, said)
    for _ in range(turns):
        writer.talk()


def _going_on(path: Path, said: int) -> OpenClaw:
    writer = OpenClaw.__new__(OpenClaw)
    writer.path, writer.session_id, writer.said, writer.lines, writer.tip = path, "taken-in", said, said + 1, f"m{said}"
    writer.branch = [(f"m{said}", "assistant", "")]
    return writer
