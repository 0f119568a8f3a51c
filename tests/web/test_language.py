"""The readers' pages in the reader's language: the browser's wish, the catalogue, and words, counts and times in both."""

import re
import string
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from tests.web.conftest import ADA, Visitor, message, say
from web.errors import CONSTANT_DETAILS, KINDS
from web.language import is_one, moment, number, preferred
from web.messages import DATES, DETAILS, LANGUAGES, MESSAGES, MONTHS, PROBLEMS, THOUSANDS

ROOT = Path(__file__).parent.parent.parent / "web"
TEMPLATES = ROOT / "templates"
READERS = ("base", "error", "history", "keys", "login", "search", "spoken", *(f"search/{path.stem}" for path in (TEMPLATES / "search").iterdir()))
PATHS = ("/", "/?query=quarter", "/?query=zebra", "/?query=quarter+zebra", "/?query=%22", "/history?sessionKey=agent:ada:main", "/login")
SAME_IN_ALL = {"session-search", "session-search token", "?", "/"}  # names and keys


@pytest.mark.parametrize(
    ("wish", "tongue"),
    [
        ("", "en"),
        ("pt", "pt"),
        ("pt-BR,pt;q=0.9,en-US;q=0.8,en;q=0.7", "pt"),
        ("pt-PT, en;q=0.5", "pt"),
        ("en;q=0.5, pt-BR;q=0.4", "en"),
        ("en;q=0.4, pt-BR;q=0.5", "pt"),
        ("de, fr;q=0.9, pt;q=0.1", "pt"),
        ("de, fr", "en"),
        ("pt;q=0", "en"),
        ("pt;q=0, *", "en"),
        ("en;q=0, *", "pt"),
        ("*", "en"),
        ("pt, en", "pt"),
        ("en, pt", "en"),
        ("PT-br", "pt"),
        ("ptx, en;q=0.1", "en"),
        ("pt;q=abc, ;;, en", "en"),
    ],
)
def test_the_browsers_wish_decides_with_its_quality_values(wish, tongue):
    assert preferred(parse_accept_header(wish, LanguageAccept)) == tongue


def texts(value):
    return value if isinstance(value, tuple) else (value,)


def placeholders(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", MESSAGES)
def test_every_message_stands_in_every_language_with_the_same_places_to_fill(key):
    versions = MESSAGES[key]

    assert tuple(versions) == LANGUAGES
    assert all(text.strip() for version in versions.values() for text in texts(version))
    assert len({type(version) for version in versions.values()}) == 1
    assert len({frozenset(placeholders(text)) for version in versions.values() for text in texts(version)}) == 1


def test_everything_else_that_depends_on_the_language_is_there_in_each():
    assert set(MONTHS) == set(DATES) == set(THOUSANDS) == set(LANGUAGES)
    assert all(len(set(names)) == 12 for names in MONTHS.values())
    for tongue in LANGUAGES[1:]:
        assert set(PROBLEMS[tongue]) == {*KINDS, "bad-query", "bad-cursor"}
        assert set(DETAILS[tongue]) == set(CONSTANT_DETAILS)


def test_templates_and_code_use_every_message_and_no_other():
    sources = [path.read_text("utf-8") for path in (*TEMPLATES.rglob("*.html"), *ROOT.glob("*.py"))]
    calls = [call for source in sources for call in re.findall(r"\bt\(([^()]*)", source)]
    used = {key for call in calls for key in re.findall(r"""['"]([a-z_]+(?:\.[a-z]+)?)['"]""", call)} & set(MESSAGES)
    first = {found[1] for call in calls if (found := re.match(r"""['"]([a-z_.]+)['"] *(?:,|$)""", call))}

    assert first <= set(MESSAGES)
    assert set(MESSAGES) - used == {"role.user", "role.assistant"} - used


class Words(HTMLParser):
    """The text a reader meets: between elements, and in attributes that are shown or read out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._within: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in ("input", "meta", "link", "img", "br"):
            self._within.append(tag)
        self.found += [value for name, value in attrs if name in ("placeholder", "title", "alt", "aria-label") and value]

    def handle_endtag(self, tag):
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data):
        if data.strip() and self._within[-1:] not in (["kbd"], ["code"], ["script"]):
            self.found.append(data.strip())


@pytest.mark.parametrize("name", READERS)
def test_a_readers_template_holds_no_words_of_its_own(name):
    source = (TEMPLATES / f"{name}.html").read_text("utf-8")
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", source, flags=re.DOTALL)

    left = {word for word in Words(bare).found if re.search(r"[^\W\d_]", word)} - SAME_IN_ALL - {"· session-search"}

    assert left == set()


@pytest.fixture
def harbour(platform: Visitor) -> Visitor:
    platform.post("/v1/sessions/put", {**ADA, "title": "1234"})
    say(platform, *(message(f"e{n}", f"quarter {n}") for n in range(3)))
    return platform


@pytest.mark.parametrize("path", PATHS)
def test_a_portuguese_page_is_portuguese_throughout(harbour: Visitor, ada: Visitor, path: str):
    page = ada.ask("GET", path, headers={"Accept-Language": "pt-BR,pt;q=0.9,en;q=0.5"})

    english = {version["en"] for version in MESSAGES.values() if isinstance(version["en"], str) and version["en"] != version["pt"]}
    assert '<html lang="pt">' in page.text
    assert page.headers["Content-Language"] == "pt"
    assert "Accept-Language" in page.headers["Vary"]
    assert english & set(Words(page.text).found) == set()
    assert "Ir para o conteúdo" in page.text


def test_what_the_kernel_says_in_english_is_marked_as_english(harbour: Visitor, ada: Visitor):
    page = ada.get("/", query='"').text
    portuguese = ada.ask("GET", "/?query=%22", headers={"Accept-Language": "pt"}).text

    assert '<span lang="en">query holds nothing searchable' in page
    assert "Esta pesquisa não pode ser feita." in portuguese


def test_an_error_is_told_in_the_readers_language(ada: Visitor):
    page = ada.ask("GET", "/history?sessionKey=none", headers={"Accept-Language": "pt"})

    assert page.status_code == 404
    assert "Não encontrado" in page.text
    assert "nada que quem pede possa ver" in page.text
    assert "There is nothing" not in page.text


def test_a_wrong_token_is_refused_in_the_readers_language(app: Flask):
    answer = app.test_client().post("/login", data={"token": "x"}, headers={"Accept-Language": "pt"})

    assert answer.status_code == 401
    assert "Esse token não é conhecido" in answer.text


def test_the_operators_pages_stay_english(operator: Visitor):
    page = operator.ask("GET", "/ops", headers={"Accept-Language": "pt"})

    assert '<html lang="en">' in page.text
    assert page.headers["Content-Language"] == "en"
    assert "Sign out" not in page.text  # a bearer has nothing to sign out of
    assert "Operate" in page.text


@pytest.mark.parametrize(
    ("iso", "en", "pt"),
    [
        ("2026-11-30T10:15:00.000Z", "30 Nov 2026, 10:15", "30 de nov. de 2026, 10:15"),
        ("2026-05-01T00:05:59.999Z", "1 May 2026, 00:05", "1 de mai. de 2026, 00:05"),
        (None, "–", "–"),
    ],
)
def test_times_are_written_as_readers_write_them(iso, en, pt):
    assert (moment(iso, "en"), moment(iso, "pt")) == (en, pt)


def test_counts_take_the_form_and_the_separators_of_the_language():
    assert [is_one(count, "en") for count in (0, 1, 2, 1000)] == [False, True, False, False]
    assert [is_one(count, "pt") for count in (0, 1, 2, 1000)] == [True, True, False, False]
    assert (number(1_234_567, "en"), number(1_234_567, "pt"), number(12, "pt")) == ("1,234,567", "1.234.567", "12")
