"""The command line: session-search COMMAND …

Each command is imported when it is asked for, so that none pays for the others. Exit codes: 0 done, 1 work failed or a difference
was found, 2 usage, 75 someone else holds the same bulk run. Errors are one line on standard error, never a traceback.
"""

import importlib
import os
import sys
from typing import Any, NoReturn, cast

import click

from shared.errors import BadRequest, BadSettings, SessionSearchError, UnknownFormat

DONE, FAILED, USAGE, HELD = 0, 1, 2, 75  # 75 is EX_TEMPFAIL of sysexits.h

# name: (module of worker.commands, what it does)
COMMANDS = {
    "demo": ("demo", "Show what this does, on transcripts that come with it."),
    "serve": ("serve", "Answer HTTP requests."),
    "worker": ("work", "Run jobs of every kind, and periodic work."),
    "bulk": ("work", "Run bulk jobs beside a worker."),
    "import": ("imports", "Import transcript files of other programs."),
    "follow": ("follow", "Watch folders of transcripts and import what grows."),
    "search": ("reading", "Find messages."),
    "history": ("reading", "Show messages of a session."),
    "list": ("reading", "List sessions, most recently used first."),
    "explain": ("reading", "Say why a caller sees a session or does not."),
    "mcp": ("mcp", "Give an agent the tools over standard input and output."),
    "tools": ("tools", "Print the agents' tools for function calling."),
    "reindex": ("reindex", "Order the reconciliation of sessions."),
    "status": ("status", "Show what is owed and whether it gets done."),
    "jobs": ("status", "Show jobs, retry or cancel one, pause the queue."),
    "verify": ("upkeep", "Compare every index with a fresh computation."),
    "prune": ("upkeep", "Forget old jobs."),
    "backup": ("upkeep", "Copy the data folder while it is in use."),
    "secret": ("secrets", "Register exact texts that are masked wherever they stand."),
    "token": ("tokens", "Make, list and revoke credentials."),
}


class Commands(click.Group):
    """The commands, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"worker.commands.{COMMANDS[cmd_name][0]}")
        return cast(click.Command, getattr(module, f"{cmd_name}_command"))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="session-search", prog_name="session-search")
def session_search() -> None:
    """Exact full-text search over agents' own past sessions.

    Settings come from SESSION_SEARCH_* variables; SESSION_SEARCH_DATA names the data folder.
    """


def main() -> NoReturn:
    """Runs the command that the arguments name and ends the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of a command line; errors are told in one line on standard error."""
    try:
        code = session_search.main(arguments, prog_name="session-search", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.exceptions.NoArgsIsHelpError as e:
        click.echo(e.format_message(), err=True)
        return USAGE
    except click.UsageError as e:
        where = f"{e.ctx.command_path}: " if e.ctx else ""
        return _told(where + e.format_message(), USAGE)
    except click.ClickException as e:
        return _told(e.format_message(), USAGE)
    except (BadSettings, BadRequest, UnknownFormat) as e:
        return _told(str(e), USAGE)
    except SessionSearchError as e:
        path = getattr(e, "path", None)
        return _told(str(e) + (f" ({path})" if path else ""), FAILED)
    except (KeyboardInterrupt, click.Abort):
        return _told("interrupted", FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on; the flush at exit must not fail too
        return DONE
    except OSError as e:
        return _told(f"{e.strerror or type(e).__name__}{f': {e.filename}' if e.filename else ''}", FAILED)


def _told(text: str, code: int) -> int:
    print("session-search: " + " ".join(text.split()), file=sys.stderr)  # noqa: T201
    return code


def exit_with(code: int) -> Any:
    """Ends the command with this exit code."""
    raise click.exceptions.Exit(code)
