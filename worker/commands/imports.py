"""session-search import: other programs' transcript files become sessions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from shared.clock import now_ms
from worker.commands.common import for_people, json_option, opened, say, say_json

Report = Callable[[int, int, object], None]  # files done, files in all, the file just read


def _paths(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> tuple[Path, ...]:
    """The paths; an empty word, as of a variable that is not set, is none, and does not mean the folder one stands in."""
    if "" in given:
        raise click.BadParameter("a path is empty")
    return tuple(map(Path, given))


@click.command("import")
@click.argument("format_name", metavar="FORMAT")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=click.Path(), callback=_paths)
@click.option("--agent", metavar="ID", help="Whose sessions they become, where the format names no agent; else the format's name.")
@click.option("--restore", is_flag=True, help="Bring back sessions that were deleted here.")
@click.option("--again", is_flag=True, help="Read files that have not changed since they were imported, too.")
@json_option
def import_command(format_name: str, paths: tuple[Path, ...], agent: str | None, restore: bool, again: bool, as_json: bool) -> None:
    """Import transcript files, and those in folders. Again adds nothing; a grown file adds its new part.

    FORMAT is openclaw, claude-code, codex, gemini, hermes, opencode, goose, chatgpt or claude-export.
    """
    from worker.cli import exit_with
    from worker.importing import import_paths, render_report, report_json

    with opened() as (_, store, _queue), _progress(as_json) as done:
        report = import_paths(store, format_name, paths, agent=agent, restore=restore, again=again, now_ms=now_ms(), report=done)
    if as_json:
        say_json(report_json(report))
    else:
        for line in render_report(report).split("\n"):
            say(line)
    exit_with(report.exit_code)


@contextmanager
def _progress(as_json: bool) -> Iterator[Report]:
    """What is called after each file: a bar for people, nothing for machines."""
    if as_json or not for_people():
        yield lambda _done, _total, _file: None
        return
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task("files")
        yield lambda done, total, _file: bar.update(task, completed=done, total=total)
