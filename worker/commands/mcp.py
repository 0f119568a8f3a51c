"""session-search mcp: the agents' tools over standard input and output."""

import os
import sys

import click

from shared.config import read_settings
from shared.errors import BadRequest

TOKEN = "SESSION_SEARCH_TOKEN"  # noqa: S105  # the variable's name
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # where to reach a service that listens on every address


@click.command("mcp")
@click.option("--url", metavar="URL", help="The running service; else the one of SESSION_SEARCH_HOST and SESSION_SEARCH_PORT.")
def mcp_command(url: str | None) -> None:
    """Carry MCP messages between standard input and output and a running service.

    SESSION_SEARCH_TOKEN holds an agent's token. Programs start this; to connect by HTTP, use the service's /mcp.
    """
    from worker.bridge import Bridge

    token = os.environ.get(TOKEN, "").strip()
    if not token.isascii() or not token.isprintable() or not token:
        raise BadRequest(f"{TOKEN} must hold an agent's token; `session-search token agent` makes one", TOKEN)
    try:
        bridge = Bridge(url or _own_address(), token)
    except ValueError as e:
        raise BadRequest(str(e), "url") from None
    bridge.carry(sys.stdin.buffer, sys.stdout.buffer)


def _own_address() -> str:
    settings = read_settings()
    host = _EVERYWHERE.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
