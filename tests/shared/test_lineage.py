"""The registry can be lost or left behind by a crash: the agent databases tell the lineage, and until then the narrower view holds."""

from shared.lineage import mend_lineage
from tests.conftest import World


def family(world: World) -> None:
    world.session("ada").append("a", "mast of the parent")
    child = world.session("ben", "agent:ben:child")
    child.put(spawnedBy="agent:ada:main")
    child.append("b", "mast of the child")


def test_a_lost_registry_is_filled_from_the_agent_databases(world: World) -> None:
    family(world)
    grandchild = world.session("ben", "agent:ben:grandchild")
    grandchild.put(spawnedBy="agent:ben:child")
    grandchild.append("c", "mast of the grandchild")
    world.session("ben", "agent:ben:child").delete()
    before = sorted(world.session("ada").found("mast"))

    world.store.close()
    for file in world.store.settings.data.glob("registry.sqlite*"):
        file.unlink()
    world.reopen()

    assert sorted(world.session("ada").found("mast")) == before == ["a", "c"]


def test_a_registry_row_that_a_crash_left_behind_shows_less_and_is_mended(world: World) -> None:
    family(world)
    with world.store.registry_writer() as conn:
        conn.execute("UPDATE lineage SET spawned_by = NULL WHERE session_key = 'agent:ben:child'")

    seen = world.session("ada").found("mast")
    mended = mend_lineage(world.store, "ben", world.now())

    assert (seen, mended) == (["a"], 1)
    assert sorted(world.session("ada").found("mast")) == ["a", "b"]
    assert mend_lineage(world.store, "ben", world.now()) == 0


def test_a_registry_row_that_shows_more_than_the_agent_database_shows_nothing_of_it(world: World) -> None:
    family(world)
    world.session("ben", "agent:ben:child").put(spawnedBy=None)
    with world.store.registry_writer() as conn:
        conn.execute("UPDATE lineage SET spawned_by = 'agent:ada:main' WHERE session_key = 'agent:ben:child'")

    assert world.session("ada").found("mast") == ["a"]
