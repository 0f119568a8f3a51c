"""Following a batch to its end, for a person at a terminal or a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shared import jobs
from shared.queue import Queue

LOOK_S = 0.3
LINE_S = 10.0  # where nobody looks, a line so often

Show = Callable[[dict[str, Any]], None]


def follow(queue: Queue, batch_id: str, show: Show) -> dict[str, Any]:
    """The batch as it ended; show is called with what it is like meanwhile. raises: NotFound."""
    while True:
        found = jobs.batch(queue, batch_id)
        show(found)
        if found["endedAt"] is not None:
            return found
        time.sleep(LOOK_S)


@contextmanager
def bar() -> Iterator[Show]:
    """A progress bar with rate and time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("sessions", total=None, rate="")

        def show(found: dict[str, Any]) -> None:
            speed = progress.tasks[0].speed
            rate = f"{speed:.1f} sessions/s" if speed else ""
            progress.update(task, total=found["sessions"], completed=found["sessions"] - found["open"], rate=rate)

        yield show


@contextmanager
def lines(say: Callable[[str], None]) -> Iterator[Show]:
    """A plain line now and then."""
    last = time.monotonic()

    def show(found: dict[str, Any]) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_S and found["endedAt"] is None:
            last = time.monotonic()
            say(f"batch {found['batchId']}: {found['sessions'] - found['open']} of {found['sessions']} sessions")

    yield show


@contextmanager
def silence() -> Iterator[Show]:
    """Nothing until the end."""
    yield lambda _: None
