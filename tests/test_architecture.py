"""Who may import whom: read from the import statements, each ban with its reason."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOPS = ("shared", "web", "worker", "bench", "docs")
MAX_LINES = 400  # past it there is a second job inside

# Decide and compute; they know no row and no file, so that a table of cases is all they need for a test. A module named after one of
# them (redaction_rules after redaction) is one too.
PURE = {
    "analysis",
    "branch",
    "clock",
    "config",
    "cron",
    "cursors",
    "excerpt",
    "folding",
    "forms",
    "garbage",
    "growth",
    "jsontext",
    "logs",
    "matching",
    "message",
    "query",
    "ranking",
    "redaction",
    "scripts",
    "searchable",
    "shown",
    "terms",
    "tokenizer",
    "tools",
    "validate",
    "wordforms",
}
# What everything else may lean on, from the innermost outwards.
ORDER = ("errors", "transcript", "pure", "store", "verbs")

# (who, must not import, but for, why)
BANS = (
    ("shared", ("web", "worker"), (), "the kernel knows neither of its doors: imports point inward"),
    ("worker", ("web",), (), "a job and a command need no web door"),
    ("shared", ("bench",), (), "the benchmark is no part of the product"),
    ("worker", ("bench",), (), "the benchmark is no part of the product"),
    ("web", ("bench",), (), "the benchmark is no part of the product"),
    ("bench", ("shared", "web", "worker"), (), "what is measured from outside must not be touched from inside"),
    ("web", ("worker",), ("worker.tasks",), "the web door may name a task to enqueue it; anything more would load the importers"),
    ("shared", ("flask", "werkzeug", "gunicorn", "click", "rich"), (), "what the doors are built of is no business of the kernel's"),
    ("web", ("huey", "sqlite3"), (), "nothing above shared/queue.py may know which queue it is, nothing above the store which database"),
    ("shared.store", ("huey",), (), "rows are written the same whatever runs the jobs"),
)
HUEY = {"shared.broker", "worker.consumer", "worker.tasks"}  # the queue's side: all that another storage of Huey's would touch
# What every connection of ours must be (its pragmas, time-outs, guards) is written in one place; bench.raw is SQLite without us.
CONNECTS = {"shared.store.connect", "bench.raw"}


def test_the_kernel_knows_no_door_and_the_doors_do_not_know_each_other():
    broken = [
        f"{module} imports {name}: {why}"
        for who, banned, allowed, why in BANS
        for module in modules()
        if within(module, who)
        for name in imports(module)
        if any(within(name, top) for top in banned) and not any(within(name, one) for one in allowed)
    ]

    assert broken == []


def test_inside_the_kernel_imports_go_from_verbs_to_the_store_to_pure_modules_to_transcript_to_errors():
    broken = [
        f"{module} ({layer(module)}) imports {name} ({layer(name)})"
        for module in modules()
        if within(module, "shared")
        for name in imports(module)
        if within(name, "shared") and ORDER.index(layer(name)) > ORDER.index(layer(module))
    ]

    assert broken == []


def test_pure_modules_touch_no_database_and_no_queue():
    broken = [
        f"{module} imports {name}"
        for module in modules()
        if within(module, "shared") and layer(module) in ("errors", "transcript", "pure")
        for name in imports(module)
        if any(within(name, one) for one in ("sqlite3", "huey", "subprocess", "threading"))
    ]

    assert broken == []


def test_every_module_called_pure_is_there():
    assert {f"shared.{name}" for name in PURE} - set(modules()) == set()


def test_only_one_module_opens_databases():
    found = {module for module in modules() if calls(module, "sqlite3", "connect")}

    assert found == CONNECTS


def test_only_the_queues_side_imports_huey():
    found = {module for module in modules() if any(within(name, "huey") for name in imports(module))}

    assert found == HUEY


def test_the_client_needs_nothing_but_the_standard_library():
    """It is one file that people may copy into programs of their own."""
    assert {name.split(".")[0] for name in imports("shared.client")} <= sys.stdlib_module_names


def test_naming_a_task_loads_no_importer():
    loaded = {"worker.tasks"} | {name for name in imports("worker.tasks", top_level=True) if within(name, "worker")}

    assert not any(within(name, "worker.importers") or within(name, "worker.importing") for name in loaded)


@pytest.mark.parametrize("top", TOPS)
def test_no_module_has_grown_a_second_job(top):
    long = {module: lines for module in modules() if within(module, top) and (lines := len(source(module).splitlines())) > MAX_LINES}

    assert long == {}


# -- reading


@cache
def modules() -> dict[str, Path]:
    """Every module of the product, and of the benchmark, by its name."""
    paths = (path for top in TOPS for path in (ROOT / top).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def source(module: str) -> str:
    return modules()[module].read_text("utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(source(module))


@cache
def imports(module: str, *, top_level: bool = False) -> set[str]:
    """What a module imports, by full names; what is imported for types alone loads nothing and does not count."""
    tree = tree_of(module)
    return {name for node in (tree.body if top_level else running(tree)) for name in names(node)}


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those below `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from running(node)


def names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (found if (found := f"{node.module}.{alias.name}") in modules() else str(node.module) for alias in node.names)


def calls(module: str, owner: str, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name) and node.value.id == owner
        for node in ast.walk(tree_of(module))
    )


def within(name: str, top: str) -> bool:
    return name == top or name.startswith(top + ".")


def layer(module: str) -> str:
    """The layer of a module of the kernel; one that is not named above is a verb."""
    part = module.split(".")[1] if "." in module else "errors"
    return part if part in ORDER else "pure" if part.split("_")[0] in PURE else "verbs"
