"""session-search serve: gunicorn with its threads, configured by the web door itself."""

import os
import sys

import click

from shared.config import read_settings
from worker.commands.common import json_option


@click.command("serve")
@json_option
def serve_command(as_json: bool) -> None:
    """Answer HTTP requests on SESSION_SEARCH_HOST and SESSION_SEARCH_PORT until TERM or Ctrl-C; logs are JSON lines."""
    from gunicorn.app.wsgiapp import WSGIApplication  # type: ignore[import-untyped]

    from worker.cli import DONE, FAILED, exit_with

    read_settings()  # a bad value is told here, in one line, and not by a process of gunicorn's
    sys.argv = [sys.argv[0], "-c", "python:web.serving"]
    master = os.getpid()
    try:
        WSGIApplication("%(prog)s", prog="session-search serve").run()
    except SystemExit as e:
        if os.getpid() != master:
            raise  # a code between gunicorn's processes
        exit_with(FAILED if e.code else DONE)
