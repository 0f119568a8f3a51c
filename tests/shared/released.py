"""Data folders as releases left them: `python -m tests.shared.released 0.1.0` writes those of this program to the fixtures.

Run once, with the program of the release; what is there already is left as it is, for a fixture is never made again. A schema that no
release has written alone (the registry's first ones) is made by applying the schema files up to it and copying the rows that it had.
"""

import gzip
import sqlite3
import sys
import tempfile
from pathlib import Path

from shared.config import Settings
from shared.queue import Queue
from shared.secrets import add_secret
from shared.store.migrate import newest_version
from shared.tokens import issue_token
from shared.transcript import iso
from tests.conftest import START_MS, World, message

FOLDER = Path(__file__).parent.parent / "fixtures" / "databases"
MIGRATIONS = Path(__file__).parent.parent.parent / "shared" / "store" / "migrations"


def main(version: str) -> None:
    target = FOLDER / version
    target.mkdir(parents=True)  # fails where it is: a release's databases stay what they were
    with tempfile.TemporaryDirectory() as scratch:
        world = World(Path(scratch))
        used(world)
        issue_token(world.store, "platform", world.now())
        world.store.close()
        data = world.store.settings.data
        for path in sorted([*data.glob("*.sqlite"), *data.glob("agents/*.sqlite")]):
            _pack(path, target / path.relative_to(data))
        for number in range(1, newest_version("registry")):
            older = Path(scratch) / f"registry-{number}.sqlite"
            _older(data / "registry.sqlite", older, number)
            _pack(older, target / older.name)


def used(world: World) -> None:
    """Every kind of session and of work that a folder can hold, among them one that is owed for each reason there is."""
    at = iso(START_MS)
    world.session("ada").append("a", "the ferry leaves at noon", timestamp=at).append("b", "from the north pier", "assistant").append(
        "c", "渡轮"
    )
    world.session("ada", "rewound").append("r1", "a lantern").append("r2", "an abandoned quay").append("r3", "more quay")
    world.session("ada", "rewound").rewind("r1")
    world.session("ada", "imported").take_in("i-1", [message("i", "an imported barge", timestamp=at)], title="Barges", kind="cron")
    world.session("ada", "edited").append("e1", "before the edit")
    world.session("ada", "edited").edit_outside("e1", message("e1", "after the edit"))
    world.session("ada", "hidden").put(incognito=True)
    world.session("ada", "hidden").append("h", "an incognito ferry")
    world.session("ada", "child").put(spawnedBy="agent:ada:main", title="A child")
    world.session("ada", "child").append("k", "the child's ferry").reset("second")
    world.session("ada", "child").append("l", "after the reset")
    world.session("ada", "gone").append("g", "a deleted ferry").delete()
    world.session("Bob", "bob").append("m", "bob's ferry, secret word tidewater-77")
    add_secret(world.store, "tide", "tidewater-77")
    Queue(world.store.settings).enqueue_drain("ada", world.now())


def _older(newest: Path, path: Path, number: int) -> None:
    """The registry as a schema of before had it."""
    with sqlite3.connect(path) as conn:
        for script in sorted((MIGRATIONS / "registry").glob("*.sql"))[:number]:
            conn.executescript(script.read_text("utf-8"))
        conn.execute("ATTACH ? AS newest", (str(newest),))
        for (table,) in conn.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            conn.execute(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM newest.{table}")  # names of our own schema
        conn.execute(f"PRAGMA user_version = {number}")
    conn.close()


def _pack(path: Path, target: Path) -> None:
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.close()
    target.parent.mkdir(exist_ok=True)
    packed = gzip.compress(path.read_bytes(), mtime=0)
    target.with_name(target.name + ".gz").write_bytes(packed)


def unpacked(version: str, data: Path, registry: str = "registry") -> Settings:
    """The data folder of a release, laid out at `data`, with one of its registries."""
    (data / "agents").mkdir(parents=True)
    for path in FOLDER.joinpath(version).rglob("*.gz"):
        name = path.name.removesuffix(".gz")
        if name.startswith("registry"):
            if name != f"{registry}.sqlite":
                continue
            name = "registry.sqlite"
        place = data / "agents" / name if path.parent.name == "agents" else data / name
        place.write_bytes(gzip.decompress(path.read_bytes()))
    return Settings(data=data, synchronous="NORMAL")


if __name__ == "__main__":
    main(*sys.argv[1:])
