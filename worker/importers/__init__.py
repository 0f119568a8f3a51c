"""Readers of other programs' transcript files, one module a format; each yields sessions and writes nothing."""

from worker.importers import chatgpt, claude_code, claude_export, codex, export, gemini, goose, hermes, openclaw, opencode
from worker.importers.base import Format

_ALL = (
    Format(
        *(openclaw.FORMAT, openclaw.read, openclaw.trace, openclaw.files, "*.jsonl, openclaw-agent.sqlite"),
        beside=openclaw.beside,
        told=openclaw.told_beside,
    ),
    Format(claude_code.FORMAT, claude_code.read, claude_code.trace),
    Format(codex.FORMAT, codex.read, codex.trace, codex.files, "*.jsonl, *.jsonl.zst"),
    Format(gemini.FORMAT, gemini.read, gemini.trace, gemini.files, "session-*.json, session-*.jsonl", forks=False),
    Format(hermes.FORMAT, hermes.read, hermes.trace, hermes.files, "state.db"),
    Format(
        *(opencode.FORMAT, opencode.read, opencode.trace, opencode.files, "session/*/*.json, opencode*.db"),
        tells=opencode.tells,
    ),
    Format(goose.FORMAT, goose.read, goose.trace, goose.files, "*.jsonl, sessions.db", forks=False),
    Format(chatgpt.FORMAT, chatgpt.read, chatgpt.trace, export.files, "conversations.json, *.zip", forks=False),
    Format(claude_export.FORMAT, claude_export.read, claude_export.trace, export.files, "conversations.json, *.zip", forks=False),
)
FORMATS = {format_.name: format_ for format_ in _ALL}
