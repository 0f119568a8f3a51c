"""Where agents' programs keep their transcripts, and what a follow was asked to watch."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.errors import BadRequest
from worker.importers import FORMATS
from worker.importers.base import Format


@dataclass(frozen=True)
class Program:
    """A program whose transcripts can be followed. variable: names its folder where that is not `folder`; below: where they are in it."""

    format: str
    variable: str
    folder: str
    below: str

    def place(self, environ: Mapping[str, str]) -> Path:
        """Where its transcripts are for whoever runs this."""
        return Path(environ.get(self.variable) or self.folder).expanduser() / self.below


PROGRAMS = {
    "claude-code": Program("claude-code", "CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    "codex": Program("codex", "CODEX_HOME", "~/.codex", "sessions"),
    "openclaw": Program("openclaw", "OPENCLAW_STATE_DIR", "~/.openclaw", "agents"),
    "pi": Program("openclaw", "PI_CODING_AGENT_DIR", "~/.pi/agent", "sessions"),
}


@dataclass(frozen=True)
class Watched:
    """Paths of one format. name: what was asked for, and the agent of sessions whose file names none."""

    name: str
    format: Format
    agent: str
    paths: tuple[Path, ...]


def watched(words: Sequence[str], agent: str | None = None, environ: Mapping[str, str] | None = None) -> list[Watched]:
    """What `FORMAT PATH… FORMAT PATH…` names. A program without paths is watched where it keeps its transcripts; no words: all are.

    agent: in place of the name. raises: BadRequest for a path before the first format, or a format without a place of its own.
    """
    env = os.environ if environ is None else environ
    groups: list[tuple[str, list[Path]]] = []
    for word in words or tuple(PROGRAMS):
        if not word:
            raise BadRequest("a path is empty")
        if word in PROGRAMS or word in FORMATS:
            groups.append((word, []))
        elif groups:
            groups[-1][1].append(Path(word))
        else:
            known = ", ".join(dict.fromkeys((*PROGRAMS, *FORMATS)))
            raise BadRequest(f"{word!r} is no format; those are {known}, and paths come after one")
    return [_group(name, paths, agent, env) for name, paths in groups]


def _group(name: str, paths: list[Path], agent: str | None, environ: Mapping[str, str]) -> Watched:
    program = PROGRAMS.get(name)
    if program is None and not paths:
        raise BadRequest(f"{name} has no place of its own: name the paths to watch after it")
    format_ = FORMATS[program.format if program else name]
    return Watched(name, format_, agent or name, tuple(paths) if paths or program is None else (program.place(environ),))
