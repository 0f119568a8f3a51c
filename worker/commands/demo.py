"""session-search demo: the promises, shown on transcripts that come with the program."""

from dataclasses import replace

import click

from shared.config import read_settings
from worker.commands.common import json_option


@click.command("demo")
@click.option("--once", is_flag=True, help="End when everything was shown; the exit code is 1 when something was not as promised.")
@click.option("--port", type=click.IntRange(0, 65535), help="Where web listens, in place of SESSION_SEARCH_PORT; if taken, a free one.")
@json_option
def demo_command(once: bool, port: int | None, as_json: bool) -> None:
    """Show what this does, in a folder that is removed at the end; stays up until Ctrl-C."""
    from worker.cli import exit_with
    from worker.demo import run_demo

    settings = read_settings()
    exit_with(run_demo(settings if port is None else replace(settings, port=port), once, as_json=as_json))
