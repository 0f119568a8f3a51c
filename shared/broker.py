"""Huey over the queue's file: takes messages so that the ledger knows, and stores nothing that could run code.

Huey gives the consumer, its threads and the calling of tasks by name. What it would lose is kept out of its hands: taking a message
and marking its job running is one commit (Huey deletes the message before it runs the task, so a kill would leave no trace), pauses
before a retry stand in the ledger, and nothing is revoked but there.
source: huey 3.5, storage.SqliteStorage and registry.Registry.
"""

from collections.abc import Callable

from huey import Huey
from huey.registry import Message as HueyMessage
from huey.storage import SqliteStorage

from shared.message import Message, decode, encode
from shared.queue import TASKS, Queue, QueueName


def huey_for(queue: Queue, name: QueueName, module: str, worker_id: Callable[[], str], now_ms: Callable[[], int]) -> Huey:
    """A Huey that reads one of the queue's names.

    module: where the task functions are defined, which Huey makes part of their names and we do not.
    worker_id: who asks, in the thread that asks.
    """
    storage = {"storage_class": _Storage, "queue": queue, "worker_id": worker_id, "now_ms": now_ms}
    return Huey(name, results=False, utc=False, serializer=_Json(module), **storage)


class _Storage(SqliteStorage):  # type: ignore[misc]
    """Huey's own table, read through the ledger."""

    def __init__(self, name: QueueName, queue: Queue, worker_id: Callable[[], str], now_ms: Callable[[], int]) -> None:
        super().__init__(name, filename=str(queue.path), create_tables=False)
        self._queue, self._worker_id, self._now_ms = queue, worker_id, now_ms

    def dequeue(self) -> bytes | None:
        return self._queue.take(self.name, self._worker_id(), TASKS, self._now_ms())

    def bring_due(self) -> int:
        """Jobs whose time has come are queued; how many."""
        return self._queue.bring_due(self._now_ms())

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        raise NotImplementedError("jobs are ordered through the ledger")

    def peek_many(self, keys: list[str]) -> dict[str, bytes]:
        return {}  # nothing is revoked here: a cancelled job's message starts nothing

    def delete_data(self, key: str) -> bool:
        return False


class _Json:
    """Between a message and its bytes, for Huey."""

    def __init__(self, module: str) -> None:
        self._prefix = module + "."

    def serialize(self, message: HueyMessage) -> bytes:
        arguments = message.kwargs
        return encode(Message(message.id, message.name.removeprefix(self._prefix), arguments.get("agent_id"), arguments.get("session_key")))

    def deserialize(self, data: bytes) -> HueyMessage:
        found = decode(data)
        arguments = {"job_id": found.job_id, "agent_id": found.agent_id, "session_key": found.session_key}
        return HueyMessage(id=found.job_id, name=self._prefix + found.task, args=(), kwargs=arguments)
