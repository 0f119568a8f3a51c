"""What a person does on the search page: at a desk and on a phone, by hand and by keyboard, in two languages."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Site, until
from tests.browser.window import LOOKS, NARROW, WIDE, Window

TITLE = "Planning the timetable"
TURNS = 60


@pytest.fixture(scope="module")
def harbour(site: Site) -> Site:
    """A session of many turns with a title, and short ones that it spawned."""
    site.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": "agent:ada:main", "title": TITLE})
    turns = [
        {
            "id": f"turn-{n}",
            "type": "message",
            "timestamp": f"2026-11-30T10:{n:02}:00Z",
            "message": {"role": ("user", "assistant")[n % 2], "content": f"turn {n}: the lantern on pier {n} is lit at dusk"},
        }
        for n in range(TURNS)
    ]
    site.post("/v1/sessions/append", {"agentId": "ada", "sessionKey": "agent:ada:main", "events": turns})
    for n in range(12):
        key = f"agent:ada:spawned-{n}"
        site.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": key, "spawnedBy": "agent:ada:main", "kind": "subagent"})
        site.append("ada", key, f"spawned {n} counts every lantern of the island", "and a second lantern")
    return site


@pytest.fixture
def searching(window: Window, harbour: Site) -> Iterator[Window]:
    """The search page, signed in as an agent."""
    window.sign_in(harbour.agent, "/")
    yield window
    window.offline(False)


def typed(window: Window, text: str) -> None:
    window.one("#query").send_keys(text)


def keys() -> Any:
    from selenium.webdriver.common.keys import Keys

    return Keys


def in_view(window: Window, selector: str) -> bool:
    script = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight"
    return bool(window.run(script, selector))


def owing(site: Site) -> None:
    """A spawned session is owed a reconcile and the queue is paused; only then `gangway` is found."""
    key = "agent:ada:moored"
    site.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": key, "spawnedBy": "agent:ada:main"})
    said = [("a", "moored since noon"), ("b", "a gangway that is new")]
    events = [{"id": name, "type": "message", "message": {"role": "user", "content": text}} for name, text in said]
    session = {"agentId": "ada", "sessionKey": key}
    site.post("/v1/sessions/append", {**session, "events": events})
    site.post("/v1/sessions/rewind", {**session, "toEventId": "a"})
    wanted = {"query": "gangway", "caller": {"agentId": "ada", "sessionKey": "agent:ada:main"}}
    until(lambda: not site.post("/v1/sessions/search", wanted)["indexing"], "the rewind is tidied up")
    site.post("/v1/ops/queue/pause")
    site.post("/v1/sessions/rewind", {**session, "toEventId": "b"})


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_persons_path_from_the_first_letter_to_the_conversation_and_back(searching: Window, width: int):
    window = searching
    window.size(width)
    window.see("Recent sessions")
    assert window.focused() == "query"
    window.run("window.sameDocument = true")

    typed(window, "lantern pier")
    window.see(TITLE, "#hits")
    assert window.run("return window.sameDocument") is True
    assert window.path == "/?query=lantern+pier"
    assert {mark.text for mark in window.all("#hits mark")} == {"lantern", "pier"}
    assert window.driver.title.startswith("lantern pier")
    window.shoot(f"search-path-{width}")
    window.one(".further a").click()
    window.wait(lambda: len(window.all("#hits .hit")) == 10, "more hits of the session")
    window.keys(keys().ARROW_DOWN)
    first = window.focused()
    window.keys("j", "k")
    assert window.focused() == first
    opened = window.text(f"#{first}")

    page = window.one("html")
    window.keys(keys().ENTER)
    window.wait(lambda: window._gone(page), "the conversation")
    assert window.path.startswith("/history?sessionKey=agent%3Aada%3Amain&")
    assert window.text("#around .text") == opened
    assert in_view(window, "#around mark")
    assert window.focused() == "around"
    window.shoot(f"conversation-path-{width}")
    before = window.text(".message:first-child .text")
    window.keys("o")
    window.wait(lambda: len(window.all(".message")) > 20, "older messages")
    assert window.text(".message:first-child .text") != before
    assert before in window.text(".message .text")

    window.keys(keys().ESCAPE)
    window.wait(lambda: window.path.startswith("/?query=lantern+pier"), "the way back")
    window.see(TITLE, "#hits")
    assert window.one("#query").get_attribute("value") == "lantern pier"
    assert window.overflow() <= 0


def test_an_answer_that_a_newer_question_overtook_is_never_shown(searching: Window):
    searching.run("""
        window.shown = [];
        new MutationObserver(() => shown.push(document.querySelector('#asked [data-title]').dataset.title))
            .observe(document.getElementById('asked'), {childList: true, subtree: true});
    """)
    searching.offline(False, latency_ms=1500)

    typed(searching, "lantern")
    searching.wait(lambda: searching.all("#search.htmx-request"), "the first question")
    typed(searching, " island")
    searching.wait(lambda: searching.path == "/?query=lantern+island", "the second answer")

    assert set(searching.run("return window.shown")) == {"lantern island · session-search"}
    searching.complaints()  # htmx told the console which question it gave up


def test_keys_move_and_can_be_switched_off(searching: Window):
    searching.go("/?query=lantern")
    searching.keys("/")
    assert searching.focused() == "query"
    assert searching.run("const s = getSelection().toString(); return s") == "lantern"
    typed(searching, keys().ARROW_DOWN)
    hits = [hit.get_attribute("id") for hit in searching.all("#hits .open")]
    assert searching.focused() == hits[0]
    style = searching.run("const s = getComputedStyle(document.activeElement, '::after'); return s.outlineStyle + ' ' + s.outlineWidth")
    assert style == "solid 3px"
    searching.keys("j", keys().ARROW_DOWN, "k")
    assert searching.focused() == hits[1]
    searching.keys(keys().ESCAPE)
    assert searching.focused() == "query"
    typed(searching, keys().ARROW_DOWN)
    searching.keys(keys().ARROW_UP)
    assert searching.focused() == "query"

    typed(searching, keys().ARROW_DOWN)
    searching.keys("?")
    searching.see("go to the search box", "#keys")
    searching.shoot("keys")
    assert searching.violations() == []
    searching.one("#single-keys").click()
    searching.keys(keys().ESCAPE)
    assert not searching.one("#keys").is_displayed()
    searching.go("/?query=lantern")
    searching.keys("j")
    assert searching.focused() not in hits
    searching.run("localStorage.clear()")


def test_the_letters_of_a_word_in_the_box_are_letters(searching: Window):
    typed(searching, "jk?/")

    assert searching.one("#query").get_attribute("value") == "jk?/"
    assert searching.focused() == "query"


def test_what_is_being_indexed_is_said_until_the_worker_is_done(searching: Window, harbour: Site):
    owing(harbour)

    typed(searching, "gangway")
    searching.see("1 session is still being indexed", "#notices")
    searching.see("Nothing found yet.", "#notices")
    searching.shoot("indexing")
    harbour.post("/v1/ops/queue/resume")

    searching.see("a gangway that is new", "#hits")
    searching.wait(lambda: "indexed" not in searching.text("#notices"), "no notice any more")
    assert searching.all("#polling") == []


def test_hits_that_were_opened_further_stay_when_the_index_is_whole(searching: Window, harbour: Site):
    owing(harbour)
    searching.go("/?query=lantern")
    searching.see("1 session is still being indexed", "#notices")
    searching.one("#more").click()
    searching.wait(lambda: len(searching.all(".group")) == 13, "all sessions")
    assert not searching.one("#fresher").is_displayed()
    focused = searching.focused()

    harbour.post("/v1/ops/queue/resume")

    searching.see("Everything is indexed now.", "#fresher")
    assert len(searching.all(".group")) == 13
    assert searching.focused() == focused
    searching.press("#again")
    assert searching.path == "/?query=lantern"


def test_more_hits_are_put_below_and_the_focus_goes_on_with_them(searching: Window):
    searching.go("/?query=lantern")
    assert len(searching.all(".group")) == 10

    searching.one("#more").click()
    searching.wait(lambda: len(searching.all(".group")) == 13, "all sessions")

    all_hits = [hit.get_attribute("id") for hit in searching.all("#hits .open")]
    assert searching.focused() == all_hits[10]
    assert len(set(all_hits)) == 13
    assert searching.all("#more") == []


def test_older_messages_keep_the_place_of_the_reader(searching: Window):
    searching.go("/history?sessionKey=agent%3Aada%3Amain")
    first = "return document.evaluate(\"//li[contains(., 'turn 40:')]\", document, null, 9).singleNodeValue.getBoundingClientRect().top"
    at = searching.run(first)

    searching.one("#to-older").click()
    searching.wait(lambda: len(searching.all(".message")) == 40, "older messages")

    assert abs(searching.run(first) - at) < 2
    assert [text.text.split(":")[0] for text in searching.all(".message .text")] == [f"turn {n}" for n in range(20, 60)]
    searching.keys("o")
    searching.wait(lambda: len(searching.all(".message")) == TURNS, "the oldest messages")
    assert searching.all("#to-older") == []


def test_filters_answer_at_once_and_stay_in_the_address(searching: Window):
    searching.go("/?query=lantern")
    searching.one("summary").click()
    searching.one("#order").send_keys(keys().ARROW_DOWN)
    searching.wait(lambda: searching.path == "/?query=lantern&order=recent", "the address")
    searching.one("#sessionKey").send_keys("agent:ada:spawned-3")
    searching.wait(lambda: len(searching.all(".group")) == 1, "one session")
    address = searching.path

    searching.go(address)

    assert searching.one("#sessionKey").get_attribute("value") == "agent:ada:spawned-3"
    assert len(searching.all(".group")) == 1


def test_a_search_without_an_answer_says_so(searching: Window):
    searching.offline(True)
    typed(searching, "lantern")

    searching.see("The search got no answer", "#unanswered")

    searching.offline(False)
    typed(searching, " island")
    searching.see("island", "#hits")
    assert not searching.one("#unanswered").is_displayed()
    searching.complaints()  # htmx told the console what it could not reach


def test_a_sign_in_that_ended_leads_back_to_the_search(searching: Window):
    searching.go("/?query=lantern")
    searching.command("Network.clearBrowserCookies")

    typed(searching, " island")

    searching.wait(lambda: searching.path.startswith("/login?next="), "the sign-in")


def test_a_portuguese_browser_gets_portuguese_throughout(window: Window, harbour: Site):
    window.wish("pt-BR,pt;q=0.9,en;q=0.5")
    window.go("/login")
    window.see("Cole um token")
    window.sign_in(harbour.agent, "/")
    window.see("Sessões recentes")
    window.size(NARROW, dark=True)

    typed(window, "lantern")
    window.see("e mais", "#notices")
    window.see("mais 1 ocorrência nesta sessão", "#hits")
    window.shoot("portuguese")

    assert window.run("return document.documentElement.lang") == "pt"
    assert window.run("return getComputedStyle(document.body).backgroundColor") == "rgb(19, 24, 22)"
    window.press("#hits .open")
    window.see("este é o resultado", "#around")


def test_without_javascript_search_filters_and_conversation_work(window: Window, harbour: Site):
    window.scripts(False)
    window.sign_in(harbour.agent, "/?query=lantern")

    assert len(window.all(".group")) == 10
    assert not window.one("#keys").is_displayed()
    window.press("#more")
    assert len(window.all(".group")) == 3
    window.press("#hits .open")
    assert len(window.all("#around mark")) >= 1
    window.press("#back")
    assert window.one("#query").get_attribute("value") == "lantern"


def test_every_page_of_readers_fits_down_to_360_pixels(searching: Window, harbour: Site):
    key = "agent:ada:" + "a-very-long-name-without-an-end-" * 8
    harbour.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": key, "spawnedBy": "agent:ada:main"})
    harbour.append("ada", key, "unbreakable " + "x" * 900 + " lantern")
    for path in ("/?query=unbreakable&role=user", f"/history?sessionKey={key}", "/", "/?query=%22"):
        searching.go(path)
        for width, dark in (*LOOKS, (360, False)):
            look = searching.look(width, dark)
            assert searching.overflow() <= 0, (path, look)
