"""A copy of the data folder while writers run.

Each database is copied as it stood at one moment. Agents' databases come first and the registry after them, so that the copy's
registry knows every session that the copy holds; what it knows beyond that is invisible.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from shared.errors import BadRequest
from shared.store import Store
from shared.store.connect import failures_named, open_reader, open_writer

Report = Callable[[int, int], None]  # databases done, databases in all


def backup(store: Store, target: Path, report: Report = lambda done, total: None) -> int:
    """The folder `target` is a data folder of its own, readable by its owner alone; how many databases it holds.

    raises: BadRequest when the target is there already; StoreUnavailable.
    """
    if target.exists():
        raise BadRequest(f"{target} is there already; a backup needs a new folder", "path")
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    files = [store.agent_path(agent_id) for agent_id in store.agent_ids()]
    files += [path for path in (store.registry_path, store.settings.data / "queue.sqlite") if path.exists()]
    try:
        with failures_named(target):
            (partial / "agents").mkdir(parents=True, mode=0o700)
            partial.chmod(0o700)
        for done, path in enumerate(files, 1):
            copy_database(path, partial / path.relative_to(store.settings.data))
            report(done, len(files))
        with failures_named(target):
            partial.rename(target)  # whole or not there
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # of one that failed: a full disk has no room for half a copy
    return len(files)


def copy_database(source: Path, target: Path) -> None:
    """The target is the source as it stood at one moment, read in one transaction that holds up no writer."""
    with closing(open_reader(source)) as conn, closing(open_writer(target)) as copy, failures_named(source):
        conn.backup(copy)
