"""Readers of other programs' transcript files, one module a format; each yields sessions and writes nothing."""

from worker.importers import claude_code, codex, openclaw
from worker.importers.base import Format

FORMATS = {module.FORMAT: Format(module.FORMAT, module.read, module.trace) for module in (openclaw, claude_code, codex)}
