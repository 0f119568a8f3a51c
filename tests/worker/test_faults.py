"""Disks that are full or read-only, and files that were damaged: what is answered is right, or says that it is not whole, or is an error."""

import json
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from shared.errors import StoreDamaged, StoreUnavailable
from shared.visibility import Caller
from tests.conftest import World, ids, message
from tests.web.conftest import ADA, Visitor, say, settings_for, visitor
from web import create_app
from worker.cli import run

BIG = "x" * 200_000


# -- a full disk


@contextmanager
def no_file_grows_past(size: int) -> Iterator[None]:
    """What a full disk does to whoever writes: the write fails, and what was there stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def largest(folder: Path) -> int:
    return max(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Visitor]:
    app = create_app(settings_for(tmp_path))
    yield visitor(app, "platform")
    from tests.web.conftest import services_of

    services_of(app).close()


def test_a_full_disk_is_507_nothing_is_half_stored_and_it_goes_on_once_there_is_room(platform: Visitor, tmp_path: Path):
    say(platform, message("a", "the ferry leaves at noon"))
    body = {**ADA, "events": [message(f"b{n}", f"lantern {BIG}") for n in range(8)]}

    with no_file_grows_past(largest(tmp_path) + 100_000):
        refused = platform.post("/v1/sessions/append", body)
        found = platform.post("/v1/sessions/search", {"query": "ferry", "caller": ADA})
        half = platform.post("/v1/sessions/search", {"query": "lantern", "caller": ADA})
    stored = platform.post("/v1/sessions/append", body)

    assert (refused.status_code, refused.content_type) == (507, "application/problem+json")
    assert (found.status_code, ids(found.get_json())) == (200, ["a"])
    assert (half.status_code, ids(half.get_json())) == (200, [])
    assert (stored.status_code, stored.get_json()["appended"]) == (200, 8)


def test_commands_on_a_full_disk_say_so_and_end_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    world = World(tmp_path / "data")
    world.session("ada").send(*(message(f"a{n}", f"ferry {BIG}") for n in range(8)))
    world.store.close()
    source = tmp_path / "s1.jsonl"
    lines = [{"type": "session", "version": 3, "id": "s1"}, *({**message(f"m{n}", f"barge {BIG}"), "parentId": None} for n in range(8))]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setenv("SESSION_SEARCH_DATA", str(tmp_path / "data"))

    with no_file_grows_past(400_000):
        ended = [run(["import", "openclaw", "--agent", "bob", str(source)]), run(["backup", str(tmp_path / "copy")])]
    told = capsys.readouterr()

    assert ended == [1, 1]
    assert (told.out + told.err).count("the disk is full") == 2
    assert run(["import", "openclaw", "--agent", "bob", str(source)]) == 0
    assert run(["backup", str(tmp_path / "copy")]) == 0


# -- a folder that cannot be written

READING = """
import json, sys
from pathlib import Path
from tests.web.conftest import ADA, message, settings_for, Visitor
from web import create_app
app = create_app(settings_for(Path(sys.argv[1])))
who = Visitor(app.test_client(use_cookies=False), sys.argv[2])
found = who.post("/v1/sessions/search", {"query": "ferry", "caller": ADA})
stored = who.post("/v1/sessions/append", {**ADA, "events": [message("b", "more")]})
print(json.dumps([found.status_code, found.get_json(), stored.status_code, stored.content_type]))
"""
MOUNTED = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


def test_a_read_only_folder_is_read_and_a_write_is_503(platform: Visitor, tmp_path: Path):
    say(platform, message("a", "the ferry leaves at noon"))
    data = str(tmp_path / "data")
    started = ["unshare", "--mount", "sh", "-c", MOUNTED, "sh", data]
    if subprocess.run([*started, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here: it takes root and util-linux")

    done = subprocess.run(
        [*started, sys.executable, "-c", READING, str(tmp_path), str(platform.token)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    found, body, stored, media = json.loads(done.stdout.splitlines()[-1])
    assert (found, ids(body)) == (200, ["a"])
    assert (stored, media) == (503, "application/problem+json")


# -- files that were damaged

WORDS = ("ferry", "lantern", "渡轮", "quay NOT lantern")
CALLER = Caller("ada", "agent:ada:main")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """A closed data folder of some sessions, and what each of the words finds in it."""
    folder = tmp_path_factory.mktemp("sound")
    world = World(folder, visibility="agent")
    for n in range(20):
        texts = ("the ferry leaves at noon", "a lantern on the quay", "渡轮中午出发", "the quay is empty")
        world.session("ada", f"k{n}").send(*(message(f"{n}-{place}", f"{text} {n}") for place, text in enumerate(texts)))
    right = {word: sorted(ids(world.search(CALLER, word, match="all", limit=50))) for word in WORDS}
    world.store.close()
    with closing(sqlite3.connect(folder / "agents" / "ada.sqlite")) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder, right


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits_never_take_a_hit_away_unsaid(sound: tuple[Path, dict[str, list[str]]], tmp_path: Path, seed: int):
    """Each answer is right, or an error, or says that it is not whole; what a query cannot notice, `verify` names."""
    folder, right = sound
    rng = random.Random(seed)
    size = (folder / "agents" / "ada.sqlite").stat().st_size
    unsaid = []
    for number in range(25):
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        offset = rng.randrange(100, size)
        with (copy / "agents" / "ada.sqlite").open("r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1 << rng.randrange(8)]))
        if wrong := _wrong_answers(copy, right):
            unsaid.append((seed, offset, wrong))
        shutil.rmtree(copy)

    assert unsaid == []


def _wrong_answers(folder: Path, right: dict[str, list[str]]) -> list[str]:
    """The words whose answer is neither right nor an error nor marked, where `verify` has nothing to say of it either."""
    world = World(folder, visibility="agent")
    wrong = []
    try:
        for word in WORDS:
            body = world.search(CALLER, word, match="all", limit=50)
            if sorted(ids(body)) != right[word] and not body["indexing"]:
                wrong.append(word)
        return wrong if wrong and not world.verify() else []
    except StoreUnavailable:
        return []
    finally:
        world.store.close()


@pytest.mark.parametrize("kept", [0, 1, 99, 4_096, 20_000, 100_000])
def test_a_file_that_was_cut_off_is_never_an_empty_answer(sound: tuple[Path, dict[str, list[str]]], tmp_path: Path, kept: int):
    copy = tmp_path / "data"
    shutil.copytree(sound[0], copy)
    path = copy / "agents" / "ada.sqlite"
    path.write_bytes(path.read_bytes()[:kept])
    world = World(copy, visibility="agent")

    with pytest.raises((StoreDamaged, StoreUnavailable)):
        world.search(CALLER, "ferry")
    with pytest.raises((StoreDamaged, StoreUnavailable)):
        world.session("ada").append("x", "not into a file that lost what it had")
    world.store.close()


def test_what_a_killed_process_left_of_a_database_it_was_making_is_no_agent_and_goes(tmp_path: Path):
    world = World(tmp_path / "data")
    left = tmp_path / "data" / "agents" / "ada.sqlite.new-999999999-1"
    left.write_bytes(b"half")

    world.session("bob").append("b", "the ferry")
    world.reopen()

    assert world.store.agent_ids() == ["bob"]
    assert [path.name for path in left.parent.iterdir() if ".new-" in path.name] == []
    world.store.close()
