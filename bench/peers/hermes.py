"""Drives Hermes' session store (hermes-agent from PyPI): a transaction a session to fill it, its own append and search afterwards."""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("HERMES_HOME", tempfile.gettempdir())  # it writes nothing there by being imported

from hermes_state import SessionDB

from bench.corpus import Corpus, Entry
from bench.peers import job


def message(entry: Entry) -> dict[str, Any]:
    """An entry in Hermes' words."""
    shared = {"content": job.text_of(entry), "timestamp": entry.time_ms / 1000, "message_id": entry.id}
    if entry.message["role"] == "toolResult":
        return {"role": "tool", "tool_name": entry.message["toolName"], "tool_call_id": entry.message["toolCallId"], **shared}
    found = {"role": entry.message["role"], **shared}
    if thinking := job.blocks(entry, "thinking"):
        found["reasoning"] = thinking[0]["thinking"]
    calls = job.blocks(entry, "toolCall")
    if calls:
        found["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}
            for call in calls
        ]
    return found


def main() -> None:
    wanted = job.read()
    folder = Path(wanted["folder"])
    database, seconds, count = SessionDB(folder / "state.db"), 0.0, 0
    for session in Corpus(wanted["messages"], wanted["seed"]).sessions():
        messages = [message(entry) for entry in session.entries if entry.active]
        begun = time.perf_counter()
        database.create_session(session.id, "cli")
        database.replace_messages(session.id, messages)
        seconds += time.perf_counter() - begun
        count += len(messages)
    taken = job.searches(wanted["queries"], lambda query: database.search_messages(query, limit=10))
    appended = []
    database.create_session("appended", "cli")
    for number in range(wanted["appends"]):
        begun = time.perf_counter()
        database.append_message("appended", "user", f"the ferry leaves the harbour at noon, line {number}")
        appended.append((time.perf_counter() - begun) * 1000)
    database.close()
    found = {"messages": count, "seconds": seconds, "search": taken, "append": appended, "bytes": job.size(list(folder.glob("state.db*")))}
    job.answer(found)


if __name__ == "__main__":
    main()
