"""What an operator does in a browser, with the pages following what happens."""

import pytest

from tests.browser.conftest import Site
from tests.browser.window import LOOKS, Window

UNTIL_NEWS_S = 12.0  # two seconds from one question to the next, on a busy machine


def newest_job(site: Site, **named: str) -> str:
    asked = "&".join(f"{name}={value}" for name, value in named.items())
    return str(site.get(f"/v1/ops/jobs?{asked}")["jobs"][0]["id"])


@pytest.fixture
def operating(window: Window, site: Site) -> Window:
    """The operators' page, signed in."""
    window.sign_in(site.operator)
    assert window.path == "/ops"
    return window


def test_a_bulk_reindex_is_ordered_and_watched_to_its_end_without_a_reload(operating: Window, site: Site):
    site.say("ada", sessions=40)
    site.idle()
    site.post("/v1/ops/queue/pause")
    operating.go("/ops")
    operating.one(".order summary").click()
    operating.one("#order-agent option:nth-child(2)").click()
    operating.one("#order-force").click()
    operating.press(".order button")
    operating.see("40, of which 0 pending and 0 parked")
    operating.shoot("reindex-asked")

    operating.press(".asking button")
    operating.see("sessions in it: 40", "#told")
    operating.see("0 of 40", "#live-batches")
    operating.run("window.sameDocument = true")
    operating.shoot("reindex-waiting")
    site.post("/v1/ops/queue/resume")

    operating.see("40 of 40", "#live-batches")
    operating.see("done", "#live-batches tbody tr:first-child")
    operating.see("Nothing is owed", "#live-standing")
    assert operating.run("return window.sameDocument") is True
    assert "did=" not in operating.path
    operating.shoot("reindex-done")


def test_the_filter_lives_in_the_address_and_a_deep_link_asks_for_the_sign_in_first(window: Window, site: Site):
    site.say("brita", sessions=2)
    site.post("/v1/ops/reindex", {"agentId": "brita", "force": True})
    site.idle()
    window.go("/ops?agentId=brita&state=done")
    assert window.path.startswith("/login?next=")

    window.one("#token").send_keys(site.operator)
    window.press("main form button")

    assert window.path == "/ops?agentId=brita&state=done"
    assert len(window.all("#live-jobs tbody tr")) == 2
    assert window.one("#agentId").get_attribute("value") == "brita"
    window.one("#sessionKey").send_keys("agent:brita:topic-1")
    window.press(".filter button")
    assert "sessionKey=agent%3Abrita%3Atopic-1" in window.path
    assert len(window.all("#live-jobs tbody tr")) == 1
    job = newest_job(site, agentId="brita")
    window.go("/ops")
    window.one("#q").send_keys(job)
    window.press(".filter button")
    assert [row.get_attribute("id") for row in window.all("#live-jobs tbody th a")] == [f"job-{job}"]
    window.driver.back()
    assert window.path == "/ops"


def test_a_failed_job_is_retried_after_a_question_and_its_page_follows_it_to_the_end(operating: Window, site: Site):
    (key,) = site.say("carl")
    mend = site.spoil("carl", key)
    site.post("/v1/ops/reindex", {"agentId": "carl"})
    site.idle()
    operating.go("/ops?agentId=carl&state=failed")
    operating.see("the event at position 1 cannot be read", "#live-jobs")
    operating.see(key, "#live-parked")
    assert "ferry" not in operating.driver.page_source
    operating.shoot("failed-jobs")
    mend()
    job = newest_job(site, agentId="carl", state="failed")

    operating.press(f"#retry-{job}")
    operating.see("Retry this job?")
    operating.shoot("retry-asked")
    operating.press(".asking button")

    assert operating.path.startswith(f"/ops/jobs/{job}")
    operating.see("done", "#live-job .facts")
    operating.see("retried by an operator", ".timeline")
    operating.shoot("job-done")


def test_the_queue_is_paused_and_resumed(operating: Window, site: Site):
    operating.press("#act-pause")
    operating.see("Pause the queue?")
    operating.press(".asking button")

    operating.see("The queue is paused", "#live-standing")
    assert site.get("/v1/ops/queue")["paused"] is True
    operating.shoot("paused")
    operating.press("#act-resume")
    operating.press(".asking button")
    operating.see("The queue goes on", "#told")
    assert site.get("/v1/ops/queue")["paused"] is False


def test_the_keyboard_alone_is_enough(operating: Window, site: Site):
    from selenium.webdriver.common.keys import Keys

    operating.go("/ops")
    operating.keys(Keys.TAB)
    assert operating.focused() == "Skip to the content"
    operating.keys(Keys.ENTER)
    assert operating.focused() == "main"
    for _ in range(15):
        operating.keys(Keys.TAB)
        if operating.focused() == "act-pause":
            break
    assert operating.focused() == "act-pause"
    outline = operating.run("const s = getComputedStyle(document.activeElement); return s.outlineStyle + ' ' + s.outlineWidth")
    assert outline == "solid 3px"
    operating.keys(Keys.ENTER)
    operating.see("Pause the queue?")
    for _ in range(10):
        operating.keys(Keys.TAB)
        if operating.focused() == "Pause":
            break

    operating.keys(Keys.ENTER)

    operating.see("The queue is paused", "#live-standing")
    assert operating.focused() == "told"


def test_news_takes_neither_the_focus_nor_a_selection_away(operating: Window, site: Site):
    site.say("dora", sessions=2)
    site.post("/v1/ops/reindex", {"agentId": "dora", "force": True})
    site.idle()
    operating.go("/ops?agentId=dora")
    operating.run("document.querySelector('#live-jobs tbody a').focus()")
    focused = operating.focused()
    operating.run("window.parts = 0; document.addEventListener('htmx:oobAfterSwap', () => { window.parts += 1; })")

    site.post("/v1/ops/reindex", {"agentId": "dora", "force": True})
    operating.wait(lambda: len(operating.all("#live-jobs tbody tr")) == 4, "the new jobs", UNTIL_NEWS_S)

    assert operating.focused() == focused
    assert operating.run("return window.parts") > 0
    site.idle()
    operating.run("getSelection().selectAllChildren(document.querySelector('#live-jobs tbody td'))")
    done = operating.text("#depth-done")
    site.post("/v1/ops/reindex", {"agentId": "dora", "force": True})
    site.idle()
    operating.wait(lambda: operating.text("#depth-done") != done, "the new count", UNTIL_NEWS_S)

    assert operating.run("return getSelection().toString()") != ""
    assert len(operating.all("#live-jobs tbody tr")) == 4


def test_a_page_that_gets_no_news_says_so(operating: Window, site: Site):
    operating.see("Live", "#followed")
    operating.offline(True)

    operating.see("Not up to date: no answer since", "#followed")

    operating.offline(False)
    operating.see("Live", "#followed")
    operating.complaints()  # htmx told the console what it could not reach
    operating.one("#hold").click()
    operating.see("Held since", "#followed")
    assert operating.one("#hold").get_attribute("aria-pressed") == "true"


def test_a_sign_in_that_ended_leads_back_to_the_page(operating: Window, site: Site):
    operating.go("/ops?state=failed")
    operating.command("Network.clearBrowserCookies")

    operating.wait(lambda: operating.path == "/login?next=%2Fops%3Fstate%3Dfailed", "the sign-in")


def test_a_read_only_token_sees_everything_and_no_way_to_act(window: Window, site: Site):
    site.say("edda")
    site.post("/v1/ops/reindex", {"agentId": "edda", "force": True})
    site.idle()
    window.sign_in(site.onlooker)

    window.see("Your token is read-only", "#live-standing")
    assert window.all("a[href^='/ops/do/'], form[action^='/ops/do/']") == []
    assert "edda" in window.text("#live-agents")
    window.shoot("read-only")
    window.go("/ops/do/pause")
    window.see("A read-only operator token may look and not act.")


def test_without_javascript_the_page_reads_filters_and_acts(window: Window, site: Site):
    site.say("frida", sessions=2)
    site.post("/v1/ops/reindex", {"agentId": "frida", "force": True})
    site.idle()
    window.scripts(False)
    window.sign_in(site.operator, "/ops?agentId=frida")

    assert window.text("#followed") == "Reload the page for news."
    assert not window.one("#hold").is_displayed()
    assert len(window.all("#live-jobs tbody tr")) == 2
    assert len(window.all(".chart svg")) > 0
    window.press("#act-pause")
    window.press(".asking button")
    assert "The queue is paused" in window.text("#live-standing")
    window.shoot("without-javascript")
    window.press("#act-resume")
    window.press(".asking button")
    assert "The queue is paused" not in window.text("#live-standing")


def test_every_page_fits_a_wide_and_a_narrow_window(operating: Window, site: Site):
    long_key = "agent:greta:" + "a-very-long-name-without-an-end-" * 8
    site.append("greta", long_key, "x")
    site.spoil("greta", long_key)
    site.post("/v1/ops/reindex", {"agentId": "greta", "force": True})
    site.idle()
    job = newest_job(site, agentId="greta")

    for name, path in (("ops", "/ops"), ("job", f"/ops/jobs/{job}"), ("ask", f"/ops/do/retry?job={job}")):
        operating.go(path)
        for width, dark in LOOKS:
            look = operating.look(width, dark)
            assert operating.overflow() <= 0, (path, look)
            operating.shoot(f"{name}-{look}")
