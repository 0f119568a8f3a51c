"""session-search worker and bulk: run jobs until asked to end."""

import os

import click

from shared.config import read_settings
from shared.cron import BadCron
from shared.errors import BadSettings
from worker.commands.common import json_option


def _work(only_bulk: bool) -> None:
    from shared.logs import configure_logs
    from worker.cli import DONE
    from worker.consumer import run_worker

    settings = read_settings()
    configure_logs()
    try:
        if not run_worker(settings, only_bulk=only_bulk):
            os._exit(DONE)  # a thread is inside a long statement; its job is given back, its transaction rolls back
    except BadCron as e:
        raise BadSettings(f"SESSION_SEARCH_REINDEX_CRON is {settings.reindex_cron!r}; {e}") from None


@click.command("worker")
@click.argument("kind", type=click.Choice(["all", "bulk"]), default="all")
@json_option
def worker_command(kind: str, as_json: bool) -> None:
    """Run jobs of every kind and the periodic work, until TERM or Ctrl-C; logs are JSON lines. KIND bulk: bulk jobs only."""
    _work(kind == "bulk")


@click.command("bulk")
@json_option
def bulk_command(as_json: bool) -> None:
    """Run bulk jobs beside a worker, so that a reindex of everything has hands of its own."""
    _work(True)
