"""The command reference as Markdown, from the commands themselves."""

from collections.abc import Iterator

import click

from worker.cli import COMMANDS, session_search

_ABOUT = """# Command reference

Printed from the code by `python -m docs`. `session-search COMMAND --help` says the same.

Settings come from `SESSION_SEARCH_*` variables, which the [README](../README.md#settings) lists. Errors are one line on standard error.
Exit codes: 0 done, 1 work failed or a difference was found, 2 usage, 75 somebody else holds the same bulk run.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_ABOUT, *_commands()]) + "\n"


def _commands() -> Iterator[str]:
    top = click.Context(session_search, info_name="session-search")
    for name in COMMANDS:
        yield from _command(session_search, name, top, "##")


def _command(group: click.Group, name: str, above: click.Context, level: str) -> Iterator[str]:
    command = group.get_command(above, name)
    if command is None:
        raise LookupError(f"{name} is named and is no command")
    ctx = click.Context(command, parent=above, info_name=name)
    yield f"{level} `{' '.join([ctx.command_path, *command.collect_usage_pieces(ctx)])}`\n"
    yield _text(command.help) + "\n"
    if rows := [row for param in command.get_params(ctx) if (row := param.get_help_record(ctx)) and "--help" not in row[0]]:
        yield "| option | what it does |"
        yield "| --- | --- |"
        yield from (f"| `{_cell(names)}` | {_cell(about)} |" for names, about in rows)
        yield ""
    if isinstance(command, click.Group):
        for inner in command.list_commands(ctx):
            yield from _command(command, inner, ctx, level + "#")


def _text(text: str | None) -> str:
    """Help as written, each paragraph on lines of its own; \\b of click's keeps lines as they are."""
    return "\n".join(line.strip() for line in (text or "").replace("\b", "").strip().splitlines())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")
