"""Drives cc-search (claude-session-search from PyPI): it reads Claude Code's files below the home folder and has no append of its own."""

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.corpus import Corpus, Session, iso
from bench.peers import job


def lines(session: Session) -> list[str]:
    """The session as Claude Code writes it."""
    found = []
    for entry in session.entries:
        role = "assistant" if entry.message["role"] == "assistant" else "user"
        line = {
            "parentUuid": f"{session.id}-{entry.parent}" if entry.parent else None,
            "uuid": f"{session.id}-{entry.id}",
            "isSidechain": False,
            "sessionId": session.id,
            "cwd": "/home/ada",
            "type": role,
            "timestamp": iso(entry.time_ms),
            "message": {"role": role, "content": _content(entry.message)},
        }
        found.append(json.dumps(line, ensure_ascii=False) + "\n")
    return found


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "toolResult":
        return [{"type": "tool_result", "tool_use_id": message["toolCallId"], "content": message["content"]}]
    return [_block(block) for block in message["content"]]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "toolCall":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["arguments"]}
    if block["type"] == "image":
        return {"type": "image", "source": {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}}
    return block


def main() -> None:
    if importlib.util.find_spec("cc_search") is None:
        sys.exit(1)
    wanted = job.read()
    home = Path(wanted["folder"])
    projects = home / ".claude" / "projects" / "-home-ada"
    projects.mkdir(parents=True)
    for session in Corpus(wanted["messages"], wanted["seed"]).sessions():
        (projects / f"{session.id}.jsonl").write_text("".join(lines(session)), "utf-8")
    os.environ["HOME"] = str(home)  # read when it is imported
    from cc_search import indexer, server

    begun = time.perf_counter()
    indexer.reindex()
    seconds = time.perf_counter() - begun
    taken = job.searches(wanted["queries"], lambda query: server.api_search({"q": query, "limit": "10"}))
    files = list((home / ".cc-search").rglob("*"))
    job.answer({"messages": wanted["messages"], "seconds": seconds, "search": taken, "append": [], "bytes": job.size(files)})


if __name__ == "__main__":
    main()
