"""In which language a page speaks, and how it writes words, counts and times in it.

The browser's wish decides (Accept-Language with its quality values, RFC 9110). The operators' pages and the reference speak English.
"""

from datetime import datetime
from typing import Any

from flask import Flask, Response, request
from markupsafe import Markup, escape
from werkzeug.datastructures import LanguageAccept

from web.messages import DATES, DETAILS, LANGUAGES, MESSAGES, MONTHS, PROBLEMS, THOUSANDS

ENGLISH_ONLY = ("/ops", "/docs")


def install(app: Flask) -> None:
    """Templates have the words; answers for people say their language, and that it depends on the browser's wish."""
    app.context_processor(lambda: {"t": t, "lang": language(), "problem_title": problem_title, "problem_detail": problem_detail})
    app.jinja_env.filters["moment"] = lambda iso: moment(iso, language())
    app.after_request(_named)


def language() -> str:
    """The language of this request's page."""
    if any(request.path == path or request.path.startswith(path + "/") for path in ENGLISH_ONLY):
        return "en"
    return preferred(request.accept_languages)


def preferred(wished: LanguageAccept) -> str:
    """The one of our languages that is wished for most; of equals the one named first, and English where none is."""
    named: dict[str, float] = {}
    for tag, quality in wished:
        named.setdefault(tag.replace("_", "-").partition("-")[0].lower(), quality)  # the best of pt-BR, pt-PT and pt comes first
    qualities = {ours: named.get(ours, named.get("*", 0)) for ours in LANGUAGES}
    order = [*named, *LANGUAGES]
    best = max(LANGUAGES, key=lambda ours: (qualities[ours], -order.index(ours)))
    return best if qualities[best] > 0 else LANGUAGES[0]


def t(key: str, count: int | None = None, **named: Any) -> Markup:
    """A message of the catalogue in the page's language; what is filled in is escaped.

    count: how many, for a message that has a form for one.
    """
    tongue = language()
    text = MESSAGES[key][tongue]
    if isinstance(text, tuple):
        text = text[0 if is_one(count or 0, tongue) else 1]
    return escape(text).format(count=number(count or 0, tongue), **named)


def is_one(count: int, tongue: str) -> bool:
    """Whether a count takes the form for one. source: CLDR plural rules: in Portuguese nought is singular, in English it is not."""
    return count == 1 or (count == 0 and tongue == "pt")


def number(count: int, tongue: str) -> str:
    """A count with its thousands set apart."""
    return f"{count:,}".replace(",", THOUSANDS[tongue])


def moment(iso: str | None, tongue: str) -> str:
    """A time as readers of the language write it, in UTC: 30 Nov 2026, 10:15."""
    if not iso:
        return "–"
    at = datetime.fromisoformat(iso)
    return DATES[tongue].format(day=at.day, month=MONTHS[tongue][at.month - 1], year=at.year, time=f"{at:%H:%M}")


def problem_title(name: str, title: str) -> str:
    """The title of a kind of problem in the page's language; `title` is the English one."""
    return PROBLEMS.get(language(), {}).get(name, title)


def problem_detail(status: int, detail: str) -> Markup:
    """The detail of a problem; one that only the kernel words stays English, and says so to those who read it out."""
    known = DETAILS.get(language(), {}).get(status)
    return escape(known) if known else Markup("<span lang=\"en\">{}</span>").format(detail)


def _named(answer: Response) -> Response:
    if answer.mimetype == "text/html" and request.endpoint != "static":
        answer.headers["Content-Language"] = language()
        answer.vary.add("Accept-Language")
    return answer
