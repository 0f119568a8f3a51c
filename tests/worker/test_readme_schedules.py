"""The manual's crontab line and systemd unit are run as they are written, with the folder and the program of this machine in them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.cron import parse
from tests.conftest import World, message

MANUAL = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")
BIN = Path(sys.executable).parent


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", MANUAL, re.DOTALL)
    assert found is not None, kind
    return found[1]


def here(text: str, data: Path) -> str:
    return text.replace("/opt/session-search/.venv/bin", str(BIN)).replace("/srv/session-search", str(data))


@pytest.fixture
def owed(world: World) -> Iterator[Path]:
    """A data folder with an imported session that is not indexed yet, and a worker that runs on it."""
    data = world.store.settings.data
    world.session().take_in("s1", [message("a", "the gudgeon", parentId=None)])
    worker = subprocess.Popen(
        [BIN / "session-search", "worker"],
        env={**os.environ, "SESSION_SEARCH_DATA": str(data), "SESSION_SEARCH_SWEEP_S": "3600"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield data
    worker.send_signal(signal.SIGTERM)
    worker.wait(30)


def ends(command: str, data: Path) -> int:
    environ = {"PATH": os.environ["PATH"], "SESSION_SEARCH_DATA": str(data)}
    return subprocess.run(["/bin/sh", "-c", command], env=environ, timeout=60, capture_output=True, check=False).returncode


def test_the_crontab_line_does_the_work_and_ends_with_0(owed: Path, world: World) -> None:
    lines = here(block("crontab"), owed).splitlines()
    assert f"SESSION_SEARCH_DATA={owed}" in lines
    *when, command = lines[-1].split(maxsplit=5)

    parse(" ".join(when))
    code = ends(command, owed)

    assert code == 0
    assert world.session().found("gudgeon") == ["a"]


def test_the_systemd_service_does_the_work_and_its_timer_names_a_time(owed: Path, world: World) -> None:
    unit = dict(line.split("=", 1) for line in here(block("ini"), owed).splitlines() if "=" in line and not line.startswith("#"))
    assert unit["Environment"] == f"SESSION_SEARCH_DATA={owed}"
    assert re.fullmatch(r"\*-\*-\* \d\d:\d\d:\d\d", unit["OnCalendar"])

    code = ends(unit["ExecStart"], owed)

    assert code == 0 and unit["SuccessExitStatus"] == "75"
    assert world.session().found("gudgeon") == ["a"]
