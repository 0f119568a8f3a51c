"""What an automated check of accessibility finds on every page, wide and narrow, in light and dark."""

from collections.abc import Sequence

import pytest

from tests.browser.conftest import Site
from tests.browser.window import LOOKS, Window


@pytest.fixture(scope="module")
def furnished(site: Site) -> Site:
    """A site with something of everything: hits, jobs that are done and failed, a parked session, a bulk run."""
    site.say("ada", sessions=3, messages=4)
    (key,) = site.say("ilse")
    site.spoil("ilse", key)
    site.post("/v1/ops/reindex", {"all": True, "force": True})
    site.idle()
    return site


def grave(window: Window, *paths: str, looks: Sequence[tuple[int, bool]] = LOOKS, shot: bool = False) -> list[tuple[str, str, str]]:
    """(page, look, what is serious or critical) of every page in every look; each fits its window."""
    found = []
    for path in paths:
        window.go(path)
        window.run("for (const one of document.querySelectorAll('details')) one.open = true")
        for width, dark in looks:
            look = window.look(width, dark)
            found += [(path, look, violation) for violation in window.violations()]
            assert window.overflow() <= 0, (path, look)
            if shot:
                window.shoot(f"{path.partition('?')[0].strip('/') or 'search'}-{look}")
    return found


def test_the_operators_pages_have_nothing_serious(furnished: Site, window: Window):
    window.sign_in(furnished.operator)
    job = furnished.get("/v1/ops/jobs?state=failed")["jobs"][0]["id"]

    assert grave(window, "/ops?state=failed&task=reconcile", f"/ops/jobs/{job}", f"/ops/do/retry?job={job}") == []


def test_the_pages_of_readers_and_the_sign_in_have_nothing_serious(furnished: Site, window: Window):
    assert grave(window, "/login", shot=True) == []
    window.sign_in(furnished.agent, "/")

    assert grave(window, "/?query=ferry+noon", "/history?sessionKey=agent%3Aada%3Amain&found=query%3Dferry", shot=True) == []
    assert grave(window, "/", "/?query=zebra", "/?query=%22", "/history?sessionKey=none") == []
    assert grave(window, "/docs", looks=LOOKS[:1]) == []  # long, and made of the same parts
