"""session-search follow: other programs' transcripts are imported while they grow."""

import signal
import threading
from types import FrameType
from typing import Any

import click

from worker.commands.common import json_option, opened, say, say_json

MIN_INTERVAL_S, MAX_INTERVAL_S = 0.05, 3600.0


@click.command("follow")
@click.argument("words", metavar="[FORMAT [PATH…]]…", nargs=-1)
@click.option("--agent", metavar="ID", help="Whose sessions they become, where a file names no agent; else the format's name.")
@click.option(
    "--interval", "interval_s", metavar="SECONDS", default=1.0, show_default=True, type=click.FloatRange(MIN_INTERVAL_S, MAX_INTERVAL_S),
    help="Pause between two looks, at least.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="End after one look; exit code 1 when a file could not be imported.")
@json_option
def follow_command(words: tuple[str, ...], agent: str | None, interval_s: float, once: bool, as_json: bool) -> None:
    """Watch transcripts and import what grows, until TERM or Ctrl-C; logs are JSON lines.

    FORMAT is one of import's, or pi; its paths follow it, and several formats may be named. claude-code, codex, openclaw and pi are
    watched where they keep their transcripts when no path is named; without any word all four are. A path that is not there is waited
    for.
    """
    from shared.logs import configure_logs
    from worker.cli import DONE, FAILED, exit_with
    from worker.following import Follower, follow
    from worker.import_report import FileReport
    from worker.places import Watched, watched
    from worker.runtime import Stopping

    groups = watched(words, agent)
    stopping = _stopping_on_signals()
    configure_logs()

    def beat() -> None:
        if stopping.is_set():
            raise Stopping

    def tell(group: Watched, file: FileReport) -> None:
        if as_json:
            say_json(_told(group.name, file))
        else:
            say(_sentence(group.name, file))

    with opened() as (_, store, queue):
        followers = [Follower(store, queue, group, tell, beat) for group in groups]
        try:
            if once:
                for follower in followers:
                    follower.look()
            else:
                follow(followers, interval_s, stopping.wait)
        except Stopping:
            pass
    done = {name: sum(getattr(follower.done, name) for follower in followers) for name in ("files", "added", "failed")}
    if as_json:
        say_json(done)
    exit_with(FAILED if once and done["failed"] else DONE)


def _stopping_on_signals() -> threading.Event:
    """Set when the process is asked to end; what is being read is then left where it is, and found again by the next one."""
    stopping = threading.Event()

    def end(signum: int, frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    return stopping


def _told(name: str, file: Any) -> dict[str, Any]:
    sessions = [taken.session_key for taken in file.taken if taken.added]
    told = {"format": name, "path": str(file.path), "sessions": sessions, "added": file.added, "skipped": file.problems.skipped}
    return told if file.error is None else {**told, "error": file.error}


def _sentence(name: str, file: Any) -> str:
    if file.error is not None:
        return f"{name}: {file.path}: {file.error}"
    skipped = f", {file.problems.skipped} {file.problems.unit}s skipped" if file.problems.skipped else ""
    return f"{name}: {file.added} event{'' if file.added == 1 else 's'} added{skipped}: {file.path}"
