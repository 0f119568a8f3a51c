"""Pages: the same rules as the API, everything from a transcript is text, sign-in holds and ends."""

import html
import re
from html.parser import HTMLParser

import pytest
from flask import Flask
from flask.testing import FlaskClient

from shared.tokens import revoke_token, verify_token
from tests.web.conftest import ADA, Visitor, message, say, services_of, visitor
from web.signin import COOKIE

CALLER = {"callerAgent": "ada", "callerSession": "agent:ada:main"}


class Outline(HTMLParser):
    """What a page is made of: its elements, the text in its marks, ids and labels."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.marks: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1] == "mark":
            self.marks.append(data)
            self.elements.append("#text")

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.attributes if name == tag]


@pytest.fixture
def harbour(platform: Visitor) -> Visitor:
    platform.post("/v1/sessions/put", {**ADA, "title": "Harbour <b>log</b>"})
    say(
        platform,
        message("e1", "quarter <img src=x onerror=alert(1) quarter"),
        message("e2", "<script>alert(2)</script> quarter"),
        message("e3", "[a](javascript:alert(3)) quarter & docker-compose isn't up"),
    )
    return platform


def test_hits_are_text_with_marks_of_ours_only(harbour: Visitor, ada: Visitor):
    page = ada.get("/", query="quarter")

    outline = Outline(page.text)
    assert page.status_code == 200
    assert set(outline.marks) == {"quarter"}
    assert all(row["src"].startswith("/static/") for row in outline.named("script"))
    assert "<script>" not in page.text
    assert all(image["src"] == "/static/icon.svg" for image in outline.named("img"))
    assert "&lt;img src=x onerror=alert(1)" in page.text
    assert "Harbour &lt;b&gt;log&lt;/b&gt;" in page.text


@pytest.mark.parametrize(("query", "found"), [("docker-compose", True), ("isn't", True), ("text:docker", False), ("nowhere", False)])
def test_the_page_and_the_api_search_alike(harbour: Visitor, ada: Visitor, query: str, found: bool):
    page = ada.get("/", query=query)
    answer = ada.get("/v1/sessions/search", query=query)

    assert page.status_code == 200
    assert bool(answer.get_json()["results"]) == found
    assert ('class="hit"' in page.text) == found


@pytest.mark.parametrize(
    ("named", "status", "words"),
    [
        ({"query": '"'}, 422, "query"),
        ({"query": ""}, 422, "query"),
        ({"query": "a", "scope": "everything"}, 422, "scope must be one of"),
        ({"query": "a", "limit": "51"}, 400, "limit must be"),
        ({"query": "a", "q": "b"}, 400, "unknown query parameter"),
        ({"query": "a", "after": "soon"}, 422, "after must be"),
    ],
)
def test_what_is_wrong_with_a_search_stands_on_the_page(harbour: Visitor, ada: Visitor, named: dict[str, str], status: int, words: str):
    page = ada.get("/", **named)

    assert page.status_code == status
    assert words in html.unescape(page.text)
    assert 'role="alert"' in page.text
    assert 'name="query"' in page.text


def test_fields_that_a_form_left_empty_are_left_out(harbour: Visitor, ada: Visitor):
    page = ada.get("/", query="quarter", role="", scope="", match="", order="", group="", after="", before="", sessionKey="", agentId="")

    assert page.status_code == 200
    assert page.text.count('class="hit"') == 1
    assert "2 more matches in this session" in page.text


def test_a_platform_chooses_a_caller_and_keeps_it_in_the_links(harbour: Visitor):
    empty = harbour.get("/")
    page = harbour.get("/", query="quarter", **CALLER)

    assert 'name="callerAgent"' in empty.text
    assert page.text.count('class="hit"') == 1
    assert "callerAgent=ada" in html.unescape(page.text)
    assert harbour.get("/", query="quarter").status_code == 422


def test_a_hit_leads_to_the_messages_around_it(harbour: Visitor, ada: Visitor):
    page = ada.get("/", query="docker-compose")
    link = html.unescape(re.findall(r'href="(/history[^"#]*)', page.text)[0])

    there = ada.ask("GET", link)

    assert there.status_code == 200
    assert there.text.count('id="around"') == 1
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in there.text
    assert "<script>" not in there.text


def test_a_conversation_is_headed_by_its_title_and_still_says_its_key(harbour: Visitor, ada: Visitor):
    page = ada.get("/history", sessionKey="agent:ada:main")

    assert '<h1 dir="auto">Harbour &lt;b&gt;log&lt;/b&gt;</h1>' in page.text
    assert "<title>Harbour &lt;b&gt;log&lt;/b&gt; ·" in page.text
    assert '<bdi class="key">agent:ada:main</bdi>' in page.text


def test_a_conversation_without_a_title_is_headed_by_its_key(platform: Visitor, ada: Visitor):
    say(platform, message("e1", "quarter"))

    page = ada.get("/history", sessionKey="agent:ada:main")

    assert '<h1 class="key">agent:ada:main</h1>' in page.text
    assert "<title>agent:ada:main ·" in page.text


def test_a_secret_in_a_title_is_masked_above_its_conversation(platform: Visitor, ada: Visitor):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    platform.post("/v1/sessions/put", {**ADA, "title": f"Rotate {secret}"})
    say(platform, message("e1", "quarter"))

    page = ada.get("/history", sessionKey="agent:ada:main")

    assert '<h1 dir="auto">Rotate [redacted:github-token]</h1>' in page.text
    assert secret not in page.text


def test_history_pages_lead_back_and_forth(platform: Visitor, ada: Visitor):
    say(platform, *(message(f"m{i}", f"turn {i}") for i in range(30)))
    newest = ada.get("/history", sessionKey="agent:ada:main")

    older = ada.ask("GET", html.unescape(re.findall(r'href="(/history\?[^"]*before=[^"]*)"', newest.text)[0]))
    back = ada.ask("GET", html.unescape(re.findall(r'href="(/history\?[^"]*after=[^"]*)"', older.text)[0]))

    assert "turn 29" in newest.text
    assert "turn 9<" in older.text
    assert "turn 29" not in older.text
    assert "turn 29" in back.text


def test_a_hidden_session_and_a_missing_one_show_the_same_page(harbour: Visitor, app: Flask):
    say(harbour, message("g", "ledger"), agent="grete", key="agent:grete:main")
    ada = visitor(app, "agent", agent_id="ada", session_key="agent:ada:main")

    hidden, missing = (ada.get("/history", sessionKey=key) for key in ("agent:grete:main", "agent:none:main"))

    assert hidden.status_code == missing.status_code == 404
    assert hidden.text == missing.text


@pytest.mark.parametrize("path", ["/", "/history?sessionKey=k", "/?query=quarter"])
def test_operators_read_no_transcript(harbour: Visitor, operator: Visitor, path: str):
    page = operator.ask("GET", path)

    assert page.status_code == 403
    assert "onerror" not in page.text


@pytest.mark.parametrize("path", ["/ops", "/ops/jobs/none"])
def test_the_operators_page_is_closed_to_others(ada: Visitor, platform: Visitor, path: str):
    assert ada.get(path).status_code == 403
    assert platform.get(path).status_code == 403


def test_the_operators_page_shows_agents_jobs_and_no_text(harbour: Visitor, operator: Visitor):
    harbour.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": "agent:ada:<img src=x>"})
    harbour.post("/v1/sessions/rewind", {**ADA, "toEventId": "e1"})
    harbour.post("/v1/sessions/search", {"query": "quarter", "caller": ADA})

    page = operator.get("/ops")
    job = operator.get("/v1/ops/jobs").get_json()["jobs"][0]["id"]
    one = operator.get(f"/ops/jobs/{job}")

    assert page.status_code == one.status_code == 200
    assert job in page.text
    assert job in one.text
    for text in (page.text, one.text):
        assert "<img src=x" not in text
        assert "onerror" not in text
        assert "quarter" not in text
    assert operator.get("/ops/jobs/none").status_code == 404


@pytest.mark.parametrize(
    ("named", "status"), [({"state": "queued"}, 200), ({"state": ""}, 200), ({"state": "lost"}, 400), ({"x": "1"}, 400)]
)
def test_the_filter_of_jobs_lives_in_the_address(operator: Visitor, named: dict[str, str], status: int):
    assert operator.get("/ops", **named).status_code == status


# ---- sign-in


@pytest.fixture
def browser(app: Flask) -> FlaskClient:
    return app.test_client()


def sign_in(browser: FlaskClient, who: Visitor, **named: str):
    return browser.post("/login", data={"token": who.token, **named}, headers={"Origin": "http://localhost"})


@pytest.mark.parametrize("path", ["/", "/ops", "/history?sessionKey=k", "/docs", "/?query=ferry", "/nowhere"])
def test_a_page_without_a_credential_leads_to_the_sign_in(browser: FlaskClient, path: str):
    answer = browser.get(path)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/login")
    assert answer.text == ""


def test_signing_in_sets_a_strict_cookie_that_does_not_hold_the_token(browser: FlaskClient, operator: Visitor):
    answer = sign_in(browser, operator)

    cookie = answer.headers["Set-Cookie"]
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/ops"
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert (operator.token or "") not in cookie
    assert browser.get("/ops").status_code == 200


def test_the_cookie_is_secure_over_https(browser: FlaskClient, operator: Visitor):
    answer = browser.post("/login", data={"token": operator.token}, base_url="https://localhost")

    assert "Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("token", ["", "sst_wrong", "é", "x" * 600, "a\x00b"])
def test_a_wrong_token_signs_nobody_in(browser: FlaskClient, token: str):
    answer = browser.post("/login", data={"token": token})

    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    assert 'role="alert"' in answer.text


def test_a_sign_in_ends_when_its_token_is_revoked(app: Flask, browser: FlaskClient, operator: Visitor):
    sign_in(browser, operator)
    here = services_of(app)

    revoke_token(here.store, verify_token(here.store, operator.token or "", here.now_ms()).token_id, here.now_ms())

    assert browser.get("/ops").status_code == 303


def test_a_sign_in_ends_by_itself(app: Flask, browser: FlaskClient, operator: Visitor, monkeypatch: pytest.MonkeyPatch):
    sign_in(browser, operator)
    now_ms = services_of(app).now_ms()

    monkeypatch.setattr(services_of(app), "now_ms", lambda: now_ms + 13 * 3_600_000)

    assert browser.get("/ops").status_code == 303


def test_a_cookie_that_was_touched_is_no_sign_in(browser: FlaskClient, operator: Visitor):
    sign_in(browser, operator)
    value = browser.get_cookie(COOKIE).value
    token_id, issued, nonce, mac = value.split(".")

    for forged in (
        f"{'0' * 12}.{issued}.{nonce}.{mac}",
        f"{token_id}.{int(issued) + 9}.{nonce}.{mac}",
        f"{token_id}.{issued}.{'0' * 32}.{mac}",
        f"{token_id}.{issued}.{nonce}.{'0' * 64}",
        f"{token_id}.{issued}.{nonce}",
        "é",
        "",
    ):
        browser.set_cookie(COOKIE, forged)
        assert browser.get("/ops").status_code == 303


def test_the_token_of_a_form_is_no_cookie(app: Flask, browser: FlaskClient, operator: Visitor):
    sign_in(browser, operator)
    form_token = re.findall(r'name="form_token" value="([0-9a-f]{64})"', browser.get("/ops").text)[0]
    value = browser.get_cookie(COOKIE).value

    browser.set_cookie(COOKIE, value.rsplit(".", 1)[0] + "." + form_token)

    assert browser.get("/ops").status_code == 303


def test_signing_out_needs_the_form_of_the_page_and_ends_the_sign_in(browser: FlaskClient, operator: Visitor):
    sign_in(browser, operator)
    form_token = re.findall(r'name="form_token" value="([0-9a-f]{64})"', browser.get("/ops").text)[0]

    assert browser.post("/logout").status_code == 403
    assert browser.post("/logout", data={"form_token": "é"}).status_code == 403
    assert browser.post("/logout", data={"form_token": form_token}, headers={"Origin": "http://evil.example"}).status_code == 403
    assert browser.get("/ops").status_code == 200
    assert browser.post("/logout", data={"form_token": form_token}).status_code == 303
    assert browser.get("/ops").status_code == 303


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("/ops?state=failed", "/ops?state=failed"),
        ("/?query=%E6%B8%AF", "/?query=%E6%B8%AF"),
        ("", "/ops"),
        ("https://evil.example/", "/ops"),
        ("//evil.example/", "/ops"),
        ("/\\evil.example/", "/ops"),
        ("/\t/evil.example", "/ops"),
        ("/x\r\nSet-Cookie: a=b", "/ops"),
        ("javascript:alert(1)", "/ops"),
        ("/" + "a" * 5000, "/ops"),
    ],
)
def test_the_way_on_after_a_sign_in_stays_on_this_site(browser: FlaskClient, operator: Visitor, wanted: str, there: str):
    answer = sign_in(browser, operator, next=wanted)

    assert answer.headers["Location"] == there


def test_a_way_on_from_the_address_is_kept_through_the_form(browser: FlaskClient):
    page = browser.get("/login", query_string={"next": '/ops?q="><script>'}).text
    other = browser.get("/login", query_string={"next": "//evil.example"}).text

    assert "<script" not in page
    assert "evil.example" not in other


def test_a_bearer_wins_over_a_cookie(browser: FlaskClient, operator: Visitor, platform: Visitor):
    sign_in(browser, operator)

    answer = browser.get("/ops", headers={"Authorization": f"Bearer {platform.token}"})

    assert answer.status_code == 403


# ---- form


@pytest.mark.parametrize("path", ["/login", "/", "/?query=quarter", "/history?sessionKey=agent:ada:main", "/docs", "/nowhere"])
def test_every_page_can_be_read_by_a_screen_reader(harbour: Visitor, ada: Visitor, path: str):
    page = ada.ask("GET", path).text

    outline = Outline(page)
    assert page.startswith("<!doctype html>")
    assert outline.named("html") == [{"lang": "en"}]
    assert len(outline.named("main")) == len(outline.named("h1")) == len(outline.named("title")) == 1
    labels = {label["for"] for label in outline.named("label")}
    fields = [field for tag in ("input", "select") for field in outline.named(tag) if field.get("type") != "hidden"]
    assert all(field.get("id") in labels for field in fields)
    ids = [attributes["id"] for _, attributes in outline.attributes if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all("alt" in image for image in outline.named("img"))


@pytest.mark.parametrize("path", ["/login", "/", "/?query=quarter", "/history?sessionKey=agent:ada:main", "/docs"])
def test_no_page_holds_script_or_style_of_its_own(harbour: Visitor, ada: Visitor, path: str):
    outline = Outline(ada.ask("GET", path).text)

    assert not {"style", "iframe", "object", "embed", "base"} & set(outline.elements)
    assert all(re.match(r"/static/", row.get("src") or "") for row in outline.named("script"))
    for _, attributes in outline.attributes:
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        for name in ("href", "src", "action"):
            assert re.match(r"[/#]", attributes.get(name) or "/")


def test_the_sheet_and_the_icon_need_no_credential_and_hold_nothing_secret(nobody: Visitor):
    for path in ("/static/style.css", "/static/icon.svg"):
        assert nobody.ask("GET", path, buffered=True).status_code == 200
    for path in ("/static/", "/static/../serving.py", "/static/..%2f__init__.py", "/static/none.css"):
        assert nobody.ask("GET", path, buffered=True).status_code in (303, 404)
