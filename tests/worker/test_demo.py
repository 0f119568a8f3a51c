"""The demo as people start it: a process that shows everything, cleans up, and says so when something is not as promised."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

DEMO = [sys.executable, "-c", "import sys; from worker.cli import run; sys.exit(run(sys.argv[1:]))", "demo"]
README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
LIMIT_S = 120


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Temporary folders go below tmp_path, so that what is left behind is seen there; the data folder is one that must stay unused."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    ours = {"TMPDIR": str(temporary), "SESSION_SEARCH_DATA": str(tmp_path / "data"), "SESSION_SEARCH_PORT": "0"}
    return {name: value for name, value in os.environ.items() if not name.startswith("SESSION_SEARCH_")} | ours


def test_the_demo_keeps_every_promise_ends_by_itself_and_leaves_nothing_behind(environment, tmp_path):
    done = subprocess.run([*DEMO, "--once", "--json"], env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    told = json.loads(done.stdout)
    assert told["notAsPromised"] == [] and done.returncode == 0, done.stderr
    assert nothing_left(environment) and not (tmp_path / "data").exists()


def test_the_demo_stays_up_on_a_free_port_and_goes_with_all_it_started_when_it_is_told_to(environment, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with started(environment, "--port", str(port)) as demo:
            lines = until_up(demo)
            address = next(line.split()[2] for line in lines if line.startswith("Search page"))
            alive = status(address)
            demo.send_signal(signal.SIGTERM)
            rest = demo.stdout.read()

    assert "Everything was as promised." in lines
    assert [line for line in shown_in_the_readme() if plain(line) not in set(map(plain, lines))] == []
    assert any('"indexing": true' in line for line in lines) and any('"indexing": false' in line for line in lines)
    assert f":{port}/" not in address and alive == 200
    assert demo.returncode == 0 and "nothing of it is left" in rest
    assert nothing_left(environment)


def test_a_demo_told_to_end_before_it_has_shown_everything_leaves_nothing_behind_and_is_no_success(environment):
    with started(environment) as demo:
        while not demo.stdout.readline().startswith("Transcripts"):
            pass
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()

    assert demo.returncode == 1
    assert nothing_left(environment)


def test_what_is_not_as_promised_is_named_and_makes_the_exit_code_1(environment, tmp_path):
    (tmp_path / "transcripts" / "openclaw").mkdir(parents=True)
    without_talk = (
        "import sys, pathlib; from worker import demo; from worker.cli import run;"
        f"demo.TRANSCRIPTS = pathlib.Path({str(tmp_path / 'transcripts')!r}); demo.WHOLE_S = 0.5; sys.exit(run(sys.argv[1:]))"
    )

    command = [sys.executable, "-c", without_talk, "demo", "--once"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    assert done.returncode == 1
    assert "NOT AS PROMISED: the whole answer has five results" in done.stdout and "Everything was as promised" not in done.stdout
    assert nothing_left(environment)


# -- the process


@contextmanager
def started(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    demo = subprocess.Popen([*DEMO, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        with demo:
            yield demo
    finally:
        if demo.poll() is None:
            demo.terminate()


def until_up(demo: "subprocess.Popen[str]") -> list[str]:
    """What the demo said until it stays up."""
    lines: list[str] = []
    while "Ctrl-C ends it." not in lines:
        line = demo.stdout.readline()
        assert line, lines
        lines.append(line.rstrip("\n"))
    return lines


def shown_in_the_readme() -> list[str]:
    """The lines of the demo that the README shows."""
    text = README[README.index("```text\nWeb answers") :].split("\n```")[0]
    return [line for line in text.split("\n")[1:] if line.strip() not in ("", "…")]


def plain(line: str) -> str:
    """The line without what differs from run to run: the port, tokens, seconds."""
    return re.sub(r"sst_[\w-]+|sst_…|(?<=127\.0\.0\.1:)\d+|\d+\.\d(?= s later)", "x", line)


def status(address: str) -> int:
    with closing(http.client.HTTPConnection(address.split("/")[2], timeout=10)) as connection:
        connection.request("GET", "/healthz")
        return connection.getresponse().status


def nothing_left(environment: dict[str, str]) -> bool:
    """Whether no file is left in the temporary folder and no process works there."""
    folder = environment["TMPDIR"]
    return os.listdir(folder) == [] and not any(f"SESSION_SEARCH_DATA={folder}" in text for text in environments())


def environments() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            yield path.read_text("utf-8", "replace")
        except OSError:
            continue
