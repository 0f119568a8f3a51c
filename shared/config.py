"""Settings: read from the environment once, checked as a whole, frozen.

A bad value stops the process with the variable, the value and what is allowed.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shared.cron import BadCron
from shared.cron import parse as parse_cron
from shared.errors import BadSettings

Mode = Literal["self", "tree", "agent", "all"]
MODES: tuple[Mode, ...] = ("self", "tree", "agent", "all")  # each contains the one before it
Policy = Literal["strict", "mask", "off"]
POLICIES: tuple[Policy, ...] = ("strict", "mask", "off")
Durability = Literal["FULL", "NORMAL"]

AGENT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class Settings:
    """Everything a process may be told from outside; each field names its variable, unit and meaning."""

    data: Path = Path("data")  # SESSION_SEARCH_DATA: the data folder
    host: str = "127.0.0.1"  # SESSION_SEARCH_HOST: where `serve` listens
    port: int = 8321  # SESSION_SEARCH_PORT
    hosts: frozenset[str] = frozenset()  # SESSION_SEARCH_HOSTS: further names a Host header may carry, comma-separated
    visibility: Mode = "tree"  # SESSION_SEARCH_VISIBILITY: the deployment's mode
    agent_visibility: Mapping[str, Mode] = field(default_factory=dict)  # [agents.ID] visibility in the TOML file
    agent_to_agent: frozenset[str] = frozenset()  # SESSION_SEARCH_AGENT_TO_AGENT: agents that may see each other under `all`; * is everyone
    redaction: Policy = "strict"  # SESSION_SEARCH_REDACTION
    timezone: str = ""  # SESSION_SEARCH_TIMEZONE: IANA name for schedules; empty is the system's
    reindex_cron: str = ""  # SESSION_SEARCH_REINDEX_CRON: five fields; empty is no scheduled bulk reindex
    synchronous: Durability = "FULL"  # SESSION_SEARCH_SYNCHRONOUS: FULL survives a power cut, NORMAL only a crash
    web_processes: int = 1  # SESSION_SEARCH_WEB_PROCESSES: gunicorn processes of `serve`
    web_threads: int = 16  # SESSION_SEARCH_WEB_THREADS: threads a process
    rate_limit: int = 6000  # SESSION_SEARCH_RATE_LIMIT: requests a minute and token, and as many at once; 0 to 1,000,000, 0 is no limit
    failure_limit: int = 60  # SESSION_SEARCH_FAILURE_LIMIT: wrong credentials a minute and address; 0 to 1,000,000, 0 is no limit
    worker_threads: int = 2  # SESSION_SEARCH_WORKER_THREADS: jobs a worker process runs side by side
    sweep_s: int = 10  # SESSION_SEARCH_SWEEP_S: seconds between two looks for work that no search asked for
    lease_s: int = 20  # SESSION_SEARCH_LEASE_S: seconds a worker's claim on a session holds without renewal

    def mode_of(self, agent_id: str) -> Mode:
        """The visibility mode of one agent's callers."""
        return self.agent_visibility.get(agent_id, self.visibility)


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from SESSION_SEARCH_* variables and the TOML file that SESSION_SEARCH_CONFIG names.

    raises: BadSettings, naming the variable, its value and what is allowed.
    """
    env = os.environ if environ is None else environ
    read = _Reader(env)
    return Settings(
        data=Path(read.text("DATA", "data")),
        host=read.text("HOST", "127.0.0.1"),
        port=read.number("PORT", 8321, 0, 65535),
        hosts=read.names("HOSTS"),
        visibility=cast(Mode, read.choice("VISIBILITY", "tree", MODES)),
        agent_visibility=_agent_modes(env.get("SESSION_SEARCH_CONFIG", "")),
        agent_to_agent=read.agents("AGENT_TO_AGENT"),
        redaction=cast(Policy, read.choice("REDACTION", "strict", POLICIES)),
        timezone=read.zone("TIMEZONE"),
        reindex_cron=read.cron("REINDEX_CRON"),
        synchronous=cast(Durability, read.choice("SYNCHRONOUS", "FULL", ("FULL", "NORMAL"))),
        web_processes=read.number("WEB_PROCESSES", 1, 1, 64),
        web_threads=read.number("WEB_THREADS", 16, 1, 256),
        rate_limit=read.number("RATE_LIMIT", 6000, 0, 1_000_000),
        failure_limit=read.number("FAILURE_LIMIT", 60, 0, 1_000_000),
        worker_threads=read.number("WORKER_THREADS", 2, 1, 64),
        sweep_s=read.number("SWEEP_S", 10, 1, 3600),
        lease_s=read.number("LEASE_S", 20, 1, 600),
    )


def _bad(variable: str, value: str, allowed: str) -> NoReturn:
    raise BadSettings(f"{variable} is {value!r}; allowed: {allowed}")


class _Reader:
    """One variable at a time, each checked by its kind."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str, default: str) -> str:
        return self._environ.get("SESSION_SEARCH_" + name) or default

    def number(self, name: str, default: int, low: int, high: int) -> int:
        raw = self.text(name, str(default))
        if not re.fullmatch(r"\d{1,9}", raw, re.ASCII) or not low <= int(raw) <= high:
            _bad("SESSION_SEARCH_" + name, raw, f"a whole number from {low} to {high}")
        return int(raw)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        raw = self.text(name, default)
        if raw not in allowed:
            _bad("SESSION_SEARCH_" + name, raw, ", ".join(allowed))
        return raw

    def names(self, name: str) -> frozenset[str]:
        return frozenset(part.strip() for part in self.text(name, "").split(",") if part.strip())

    def agents(self, name: str) -> frozenset[str]:
        parts = self.names(name)
        for part in sorted(parts):
            if part != "*" and not AGENT_ID.fullmatch(part):
                _bad("SESSION_SEARCH_" + name, part, "agent ids separated by commas, or *")
        return parts

    def zone(self, name: str) -> str:
        raw = self.text(name, "")
        if raw:
            try:
                ZoneInfo(raw)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                _bad("SESSION_SEARCH_" + name, raw, "an IANA time zone such as Europe/Lisbon")
        return raw

    def cron(self, name: str) -> str:
        raw = self.text(name, "")
        if raw:
            try:
                parse_cron(raw)
            except BadCron as e:
                _bad("SESSION_SEARCH_" + name, raw, str(e))
        return raw


def _agent_modes(path: str) -> dict[str, Mode]:
    """The [agents.ID] tables of the TOML file: what each agent's callers may see."""
    if not path:
        return {}
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as e:
        _bad("SESSION_SEARCH_CONFIG", path, f"a readable TOML file ({e})")
    return {agent_id: _agent_mode(path, agent_id, table) for agent_id, table in _tables(path, document).items()}


def _tables(path: str, document: dict[str, Any]) -> dict[str, Any]:
    unknown = set(document) - {"agents"}
    agents = document.get("agents", {})
    if unknown or not isinstance(agents, dict):
        _bad("SESSION_SEARCH_CONFIG", f"{path}: {', '.join(sorted(unknown)) or 'agents'}", "tables named [agents.ID]")
    return agents


def _agent_mode(path: str, agent_id: str, table: Any) -> Mode:
    mode = table.get("visibility") if isinstance(table, dict) else None
    if not AGENT_ID.fullmatch(agent_id) or mode not in MODES or set(table) != {"visibility"}:
        _bad("SESSION_SEARCH_CONFIG", f"{path}: [agents.{agent_id}] {table!r}", f"visibility = one of {', '.join(MODES)}")
    return cast(Mode, mode)
