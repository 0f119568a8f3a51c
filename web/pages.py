"""The pages' routes and who may open each; the reference. Readers' pages are in finding.py and conversation.py, the operators' in
watching.py and acting.py.
"""

from collections.abc import Callable

from flask import Flask, Response, render_template

from web import acting, conversation, documents, finding, signin, watching
from web.address import credential
from web.auth import check_kind
from web.operations import ANYBODY, OPERATORS, READERS

View = Callable[..., Response]


def install(app: Flask) -> None:
    """The pages' routes; each names the kinds of credential that it takes."""
    signin.install(app)
    watching.install(app)
    for rule, kinds, view in (
        ("/", READERS, finding.search_page),
        ("/search/<any(live, more, within):part>", READERS, finding.search_part),
        ("/history", READERS, conversation.history_page),
        ("/ops", OPERATORS, watching.ops_page),
        ("/ops/live", OPERATORS, watching.live_parts),
        ("/ops/charts", OPERATORS, watching.charts_part),
        ("/ops/jobs/<id:job_id>", OPERATORS, watching.job_page),
        ("/docs", ANYBODY, docs_page),
    ):
        _add(app, rule, view, kinds, ("GET",))
    _add(app, "/ops/do/<name>", acting.act_page, OPERATORS, ("GET", "POST"), acts=True)


def _add(app: Flask, rule: str, view: View, kinds: frozenset[str], methods: tuple[str, ...], acts: bool = False) -> None:
    app.add_url_rule(rule, view.__name__, _admitted(view, kinds, acts), methods=methods, provide_automatic_options=False)


def _admitted(view: View, kinds: frozenset[str], acts: bool) -> View:
    def admitted(**path: str) -> Response:
        check_kind(credential(), kinds, acts)
        return view(**path)

    return admitted


def docs_page() -> Response:
    """The reference: every operation of the table, in words."""
    return Response(render_template("docs.html", operations=documents.reference(), version=documents.program_version()))
