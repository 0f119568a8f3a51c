"""session-search secret: exact texts that are masked wherever they stand."""

import sys

import click

from shared.errors import BadRequest
from worker.commands.common import json_option, opened, say, say_json


@click.group("secret")
def secret_command() -> None:
    """Register exact texts that are masked wherever they stand; every process uses them from its next request on."""


@secret_command.command("add")
@click.argument("name")
@json_option
def add_command(name: str, as_json: bool) -> None:
    """Register the text on standard input under NAME; what stood under it is replaced. A line break at the end is left out."""
    from shared.secrets import add_secret

    value = _value()
    with opened() as (_, store, _queue):
        add_secret(store, name, value)
    _tell(name, "added", as_json)


def _value() -> str:
    """What standard input holds. It is no argument, for those stand in the process list and the shell's history."""
    if sys.stdin.isatty():
        return str(click.prompt("secret", hide_input=True))
    data = sys.stdin.buffer.read(1 << 16)
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise BadRequest("the secret on standard input is not UTF-8", "value") from None


@secret_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """The names; the texts are never given out."""
    from shared.secrets import secret_names

    with opened() as (_, store, _queue):
        names = secret_names(store)
    if as_json:
        say_json({"secrets": names})
        return
    for name in names:
        say(name)


@secret_command.command("remove")
@click.argument("name")
@json_option
def remove_command(name: str, as_json: bool) -> None:
    """Mask the text of NAME no longer."""
    from shared.secrets import remove_secret

    with opened() as (_, store, _queue):
        remove_secret(store, name)
    _tell(name, "removed", as_json)


def _tell(name: str, done: str, as_json: bool) -> None:
    if as_json:
        say_json({"name": name, done: True})
    else:
        say(f"{name} {done}")
