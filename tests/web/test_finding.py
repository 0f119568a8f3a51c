"""The search page and the conversation: what they show of an answer, and the addresses they lead to."""

import html
import re

import pytest
from flask import Flask

from tests.web.conftest import ADA, Visitor, message, say, visitor
from tests.web.test_pages import Outline

SECRET = "ghp_0FAKE1fake2FAKE3fake4FAKE5fake6FAKE7"
CALLER = {"callerAgent": "ada", "callerSession": "agent:ada:main"}


def at(event_id: str, text: str, time: str, role: str = "user"):
    return {**message(event_id, text, role), "timestamp": time}


def hits(page: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", html.unescape(found)) for found in re.findall(r'<p class="excerpt".*?</p>', page, re.DOTALL)]


def link_of(page: str, what: str) -> str:
    return html.unescape(re.findall(rf'<a[^>]*{what}[^>]*href="([^"]*)"', page)[0])


@pytest.fixture
def quay(platform: Visitor) -> Visitor:
    """A parent with two children of two agents, a day apart."""
    platform.post("/v1/sessions/put", {**ADA, "title": "Quay & pier"})
    for agent in ("ada", "bob"):
        key = f"agent:{agent}:child"
        platform.post("/v1/sessions/put", {"agentId": agent, "sessionKey": key, "spawnedBy": ADA["sessionKey"], "kind": "subagent"})
        say(platform, at(f"{agent}1", f"lantern of {agent}", "2026-11-02T12:00:00Z"), agent=agent, key=key)
    say(
        platform,
        at("m1", "lantern one", "2026-11-01T23:30:00Z"),
        at("m2", "the lantern two", "2026-11-02T00:30:00Z", "assistant"),
        at("m3", f"lantern three {SECRET}", "2026-11-03T00:00:00Z"),
    )
    return platform


def test_each_session_shows_its_best_hit_and_the_way_to_all_of_them(quay: Visitor, ada: Visitor):
    page = ada.get("/", query="lantern")
    within = html.unescape(re.findall(r'hx-get="(/search/within[^"]*)"', page.text)[0])
    whole = link_of(page.text, 'id="all-hit-')

    assert len(hits(page.text)) == 3
    assert page.text.count("2 more matches in this session") == 1
    assert sorted(hits(ada.ask("GET", within).text)) == sorted(hits(ada.ask("GET", whole).text))
    assert len(hits(ada.ask("GET", within).text)) == 3


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({"agentId": "bob"}, {"bob"}),
        ({"agentId": "ada"}, {"ada", "one", "two", "three"}),
        ({"agentId": "nobody"}, set()),
        ({"role": "assistant"}, {"two"}),
        ({"sessionKey": "agent:bob:child"}, {"bob"}),
        ({"before": "2026-11-01"}, {"one"}),
        ({"before": "2026-11-02"}, {"one", "two", "ada", "bob"}),
        ({"after": "2026-11-03"}, {"three"}),
        ({"after": "2026-11-02", "before": "2026-11-02"}, {"two", "ada", "bob"}),
        ({"before": "2026-11-02T00:00:00Z"}, {"one"}),
        ({"scope": "self"}, {"one", "two", "three"}),
    ],
)
def test_filters_narrow_and_a_day_is_meant_whole(quay: Visitor, ada: Visitor, named: dict[str, str], found: set[str]):
    page = ada.get("/", query="lantern", group="message", **named)

    assert {word for word in ("ada", "bob", "one", "two", "three") if any(word in hit for hit in hits(page.text))} == found
    assert "<details open>" in page.text


@pytest.mark.parametrize("day", ["9999-12-31", "2026-02-30", "2026-13-01"])
def test_a_day_that_has_no_next_one_or_is_none_is_no_failure(quay: Visitor, ada: Visitor, day: str):
    assert ada.get("/", query="lantern", before=day).status_code in (200, 422)


def test_the_part_for_typing_shows_what_the_page_shows(quay: Visitor, ada: Visitor):
    for asked in ({"query": "lantern"}, {"query": "lantern", "role": "assistant", "after": ""}, {"query": "nowhere"}):
        page, part = ada.get("/", **asked), ada.get("/search/live", **asked)

        assert part.status_code == 200
        assert hits(page.text) == hits(part.text)
        assert part.headers["Cache-Control"] == "no-store"
        assert "<html" not in part.text
        assert part.text.count("hx-swap-oob") == 3


def test_the_part_for_typing_names_the_address_to_share(quay: Visitor, ada: Visitor):
    part = ada.get("/search/live", query="lantern & quay", role="user", after="", sessionKey="")

    address = html.unescape(re.findall(r'data-address="([^"]*)"', part.text)[0])

    assert address == "/?query=lantern+%26+quay&role=user"
    assert hits(ada.ask("GET", address).text) == hits(part.text)


def test_an_emptied_box_leads_back_to_the_recent_sessions(quay: Visitor, ada: Visitor):
    part = ada.get("/search/live", query=" ")

    assert part.status_code == 200
    assert "Recent sessions" in part.text
    assert 'data-address="/"' in part.text
    assert "Quay &amp; pier" in part.text


def test_what_is_wrong_while_typing_is_said_with_its_status(quay: Visitor, ada: Visitor):
    part = ada.get("/search/live", query='"')

    assert part.status_code == 422
    assert 'role="alert"' in part.text


def test_more_hits_go_on_where_the_page_ended(platform: Visitor, ada: Visitor):
    for n in range(23):
        key = f"agent:ada:{n}"
        platform.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": key, "spawnedBy": ADA["sessionKey"]})
        say(platform, message("e", f"beacon {n}"), key=key)

    page = ada.get("/", query="beacon")
    seen = hits(page.text)
    while found := re.findall(r'id="more" href="([^"]*)" hx-get="([^"]*)"', page.text):
        whole, part = (ada.ask("GET", html.unescape(address)) for address in found[0])
        assert hits(whole.text) == hits(part.text)
        seen += hits(part.text)
        page = part

    assert len(seen) == len(set(seen)) == 23


def test_what_is_being_indexed_is_said_and_asked_again_until_it_is_whole(quay: Visitor, ada: Visitor):
    quay.post("/v1/sessions/rewind", {**ADA, "toEventId": "m1"})

    page = ada.get("/", query="nowhere")
    again = html.unescape(re.findall(r'id="polling" hx-get="([^"]*)"', page.text)[0])

    assert page.headers["Retry-After"] == "1"
    assert "1 session is still being indexed" in page.text
    assert "Nothing found yet." in page.text
    assert again == "/search/live?query=nowhere"
    assert "Nothing found yet." in ada.ask("GET", again).text


def test_what_only_an_operator_can_mend_is_said_and_not_asked_again(quay: Visitor, ada: Visitor, operator: Visitor):
    quay.post("/v1/sessions/rewind", {**ADA, "toEventId": "m1"})
    quay.post("/v1/sessions/search", {"query": "lantern", "caller": ADA})
    job = operator.get("/v1/ops/jobs").get_json()["jobs"][0]["id"]
    operator.post(f"/ops/do/park?job={job}")

    page = ada.get("/", query="lantern")

    assert "Retry-After" not in page.headers
    assert "1 session could not be indexed and needs an operator" in page.text
    assert "polling" not in page.text


def test_a_relaxed_search_says_so(quay: Visitor, ada: Visitor):
    assert "No message has every word" in ada.get("/", query="lantern zebra").text
    assert "No message has every word" not in ada.get("/", query="lantern").text


def test_masks_are_shown_as_such_and_secrets_never(quay: Visitor, ada: Visitor):
    found = ada.get("/", query="three")
    conversation = ada.ask("GET", link_of(found.text, 'id="hit-'))

    for page in (found, conversation):
        assert re.search(r'<span class="mask"[^>]*>\[redacted:github-token\]</span>', page.text)
        assert "1 secret masked" in page.text
        assert SECRET not in page.text


def test_a_label_that_somebody_typed_is_no_mask(platform: Visitor, ada: Visitor):
    say(platform, message("e1", "the label [redacted:github-token] as such"))

    assert 'class="mask"' not in ada.get("/", query="label").text


def test_a_conversation_marks_the_words_of_the_search_it_came_from(quay: Visitor, ada: Visitor):
    found = ada.get("/", query="LANTERN two")
    there = ada.ask("GET", link_of(found.text, 'id="hit-'))

    outline = Outline(there.text)
    assert outline.marks == ["lantern", "lantern", "two", "lantern"]
    assert there.text.count('id="around"') == 1
    assert Outline(ada.get("/history", sessionKey=ADA["sessionKey"]).text).marks == []


def test_a_relaxed_search_is_marked_as_it_was_found(platform: Visitor, ada: Visitor):
    say(platform, message("e1", "Where does the lantern stand, they ask"))
    found = ada.get("/", query="lantern? zebra!")

    there = ada.ask("GET", link_of(found.text, 'id="hit-'))

    assert Outline(there.text).marks == ["lantern"]


@pytest.mark.parametrize("found", ["query=%22", "query=" + "x" * 5000, "query=%ff", "x=1&x=2", "&&&", "query", "=", "a=1" + "&b=2" * 40])
def test_a_search_that_cannot_be_remembered_marks_nothing(quay: Visitor, ada: Visitor, found: str):
    page = ada.get("/history", sessionKey=ADA["sessionKey"], found=found)

    assert page.status_code == 200
    assert Outline(page.text).marks == []


def test_the_way_back_keeps_the_search_and_leads_nowhere_else(quay: Visitor, ada: Visitor):
    found = ada.get("/", query="lantern", role="user", order="recent")
    back = link_of(ada.ask("GET", link_of(found.text, 'id="hit-')).text, 'id="back"')
    forged = ada.get("/history", sessionKey=ADA["sessionKey"], found="query=a&next=https://evil.example/&cursor=x&callerAgent=eve").text

    address, _, place = back.partition("#")
    assert address == "/?query=lantern&role=user&order=recent"
    assert f'id="{place}"' in ada.ask("GET", address).text
    assert link_of(forged, 'id="back"') == "/?query=a"


def test_a_platforms_conversation_keeps_whose_name_it_reads_in(quay: Visitor):
    page = quay.get("/", query="lantern", **CALLER)
    there = quay.ask("GET", link_of(page.text, 'id="hit-'))

    assert there.status_code == 200
    assert "callerAgent=ada" in link_of(there.text, 'id="back"')
    assert "Choose in whose name" in quay.get("/").text
    assert "Quay &amp; pier" in quay.get("/", **CALLER).text


def test_the_fields_suggest_only_what_the_token_sees(quay: Visitor, ada: Visitor, app: Flask):
    say(quay, message("g", "ledger"), agent="grete", key="agent:grete:main")
    bob = visitor(app, "agent", agent_id="bob", session_key="agent:bob:child")

    assert 'value="agent:bob:child"' in ada.get("/").text
    assert "grete" not in ada.get("/").text
    assert "agent:ada:" not in bob.get("/").text


@pytest.mark.parametrize("part", ["live", "more", "within"])
def test_the_parts_are_closed_to_operators_and_to_strangers(quay: Visitor, operator: Visitor, nobody: Visitor, part: str):
    assert operator.get(f"/search/{part}", query="lantern").status_code == 403
    assert nobody.get(f"/search/{part}", query="lantern").status_code == 303
    assert operator.get("/search/none").status_code == 404


def test_every_part_that_is_swapped_in_can_keep_the_focus(quay: Visitor, ada: Visitor):
    outline = Outline(ada.get("/search/live", query="lantern").text)

    assert all("id" in row for row in outline.named("a"))
