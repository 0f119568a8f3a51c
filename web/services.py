"""The store and the queue of one web process: opened at the first request that needs them, after the fork, and kept."""

import os
import threading
import time
from typing import cast

from flask import current_app

from shared.census import Census
from shared.config import Settings
from shared.queue import Queue
from shared.store import Store, open_store
from web.together import Together

EXTENSION = "session_search"


class Services:
    """What the verbs work with; safe to share between threads, and opened again in a child process."""

    def __init__(self, settings: Settings, together: Together) -> None:
        self.settings = settings
        self.together = together
        self.census = Census()
        self._lock = threading.Lock()
        self._pid = 0
        self._store: Store | None = None
        self._queue: Queue | None = None

    @property
    def store(self) -> Store:
        """The open store; raises StoreUnavailable, and tries again at the next request, when it cannot be opened."""
        store = self._store
        if store is not None and self._pid == os.getpid():
            return store
        return self._open()[0]

    @property
    def queue(self) -> Queue:
        """The queue; it opens its file by itself."""
        queue = self._queue
        if queue is not None and self._pid == os.getpid():
            return queue
        return self._open()[1]

    def now_ms(self) -> int:
        """The time, in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def close(self) -> None:
        """Both are closed; the next use opens them again."""
        with self._lock:
            if self._pid == os.getpid():
                if self._store is not None:
                    self._store.close()
                if self._queue is not None:
                    self._queue.close()
            self._store = self._queue = None

    def _open(self) -> tuple[Store, Queue]:
        with self._lock:
            if self._pid != os.getpid():  # connections do not survive a fork
                self._store = self._queue = None
            store = self._store or open_store(self.settings)
            queue = self._queue or Queue(self.settings)
            self._store, self._queue, self._pid = store, queue, os.getpid()
            return store, queue


def services() -> Services:
    """The services of the application that answers this request."""
    return cast(Services, current_app.extensions[EXTENSION])
