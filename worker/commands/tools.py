"""session-search tools: the definitions of the agents' tools, for function calling."""

from typing import cast

import click

from shared.tools import FORMATS, Format, definitions
from worker.commands.common import json_option, say_json


@click.command("tools")
@click.option("--format", "form", type=click.Choice(FORMATS), default="mcp", show_default=True, help="Whose shape.")
@json_option
def tools_command(form: str, as_json: bool) -> None:
    """Print the definitions of sessions_search, sessions_history and sessions_list as a JSON list.

    openai is the shape of Chat Completions, which most other servers take too; openai-responses that of the Responses interface.
    """
    say_json(definitions(cast(Format, form)))
