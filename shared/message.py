"""What Huey stores for a job: a small JSON object that names the task and its arguments, and can run no code."""

import re
from dataclasses import dataclass

from shared import jsontext

TASK_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Message:
    """One run asked for. The job's row in the ledger decides; the message only makes it soon."""

    job_id: str
    task: str
    agent_id: str | None = None
    session_key: str | None = None


class BadMessage(ValueError):
    """Stored bytes that are no message of ours; the text says why and quotes nothing but a well-formed task name."""


def encode(message: Message) -> bytes:
    """The message as UTF-8 JSON."""
    fields = {"task": message.task, "job": message.job_id, "agentId": message.agent_id, "sessionKey": message.session_key}
    return jsontext.dumps({name: value for name, value in fields.items() if value is not None}).encode()


def decode(data: bytes) -> Message:
    """The message that the bytes hold. raises: BadMessage."""
    try:
        fields = jsontext.loads(data)
    except jsontext.BadJson:
        raise BadMessage(f"an unreadable message of {len(data)} bytes") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("task"), str) or not TASK_NAME.fullmatch(fields["task"]):
        raise BadMessage(f"a message of {len(data)} bytes that names no task")
    values = [fields.get(name) for name in ("job", "agentId", "sessionKey")]
    if not isinstance(values[0], str) or not all(value is None or isinstance(value, str) for value in values):
        raise BadMessage(f"a message for {fields['task']} without its arguments")
    return Message(values[0], fields["task"], values[1], values[2])
