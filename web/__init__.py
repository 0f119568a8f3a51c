"""The callers' and operators' door: HTTP in, kernel verbs called, JSON and pages out.

It keeps three promises: nothing but /healthz and the sign-in page answers without a credential, every input is checked before anything
is stored, and every failure is an answer that names what is wrong.
"""

from flask import Flask

from shared.config import Settings, read_settings
from web import access, admission, errors, headers, language, mcp, pages, routes, views
from web.arriving import arriving
from web.operations import OPERATIONS
from web.reading import MAX_BODY_BYTES, drain
from web.services import EXTENSION, Services
from web.together import Together

MAX_FORM_BYTES = 64 << 10
OPERATION_NAMES = (*(operation.name for operation in OPERATIONS), mcp.NAME)  # under which requests are counted


def create_app(settings: Settings | None = None, together: Together | None = None) -> Flask:
    """The WSGI application of one data folder; nothing is opened before the first request that needs it.

    settings: read from SESSION_SEARCH_* variables when left out; together: what the server's other processes share, else its own.
    """
    settings = settings or read_settings()
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES + 1  # a chunked body is cut here without an error: one byte more tells
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_FORM_BYTES
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 300
    app.extensions[EXTENSION] = Services(settings, together or Together(settings, OPERATION_NAMES))
    errors.install(app, settings)
    access.install(app)
    admission.install(app, settings)
    headers.install(app)
    app.after_request(drain)
    routes.install(app)
    mcp.install(app)
    views.install(app)
    language.install(app)
    pages.install(app)
    app.wsgi_app = arriving(app.wsgi_app)  # type: ignore[method-assign, assignment]  # Flask's documented way to wrap an application
    return app
