"""Sign-in for people: a token typed once, then a signed cookie that names the token and does not hold it.

The cookie is HttpOnly and SameSite=Strict; the token it names is looked up at every request, so that a revoked or expired token
ends the sign-in at once, in every process. Forms carry a token made from the cookie, which a foreign page cannot know.
"""

import hashlib
import hmac
import re
import secrets
from urllib.parse import urlsplit

from flask import Flask, Response, g, render_template, request

from shared.errors import Forbidden, Unauthorised
from shared.tokens import Credential, credential_by_id, verify_token
from web import language, limiting
from web.services import Services, services

COOKIE = "session_search_sign_in"
LIFETIME_S = 12 * 3600
_VALUE = re.compile(r"([0-9A-Za-z_-]{1,64})\.(\d{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})", re.ASCII)


def install(app: Flask) -> None:
    """/login and /logout."""
    app.add_url_rule("/login", "login", login, methods=("GET", "POST"), provide_automatic_options=False)
    app.add_url_rule("/logout", "logout", logout, methods=("POST",), provide_automatic_options=False)


def login() -> Response:
    """The form; and after it, a cookie and the way on."""
    if request.method != "POST":
        return _form(request.args.get("next", ""))
    here, text = services(), request.form.get("token", "").strip()
    try:
        with limiting.guess(here, text):
            credential = verify_token(here.store, text, here.now_ms())
    except Unauthorised:
        return _form(request.form.get("next", ""), language.t("wrong_token"), 401)
    answer = Response(status=303, headers={"Location": _way_on(request.form.get("next", ""), credential)})
    value = _signed(here, credential.token_id)
    answer.set_cookie(COOKIE, value, max_age=LIFETIME_S, httponly=True, samesite="Strict", secure=request.is_secure, path="/")
    return answer


def logout() -> Response:
    """The cookie is gone."""
    check_form()
    answer = Response(status=303, headers={"Location": "/login"})
    answer.delete_cookie(COOKIE, httponly=True, samesite="Strict", secure=request.is_secure, path="/")
    return answer


def credential(here: Services) -> Credential | None:
    """What the token that this request's cookie names may do now; None without a cookie that is ours and still good."""
    found = _VALUE.fullmatch(request.cookies.get(COOKIE, ""))
    if found is None:
        return None
    token_id, issued_s, nonce, mac = found.groups()
    if not hmac.compare_digest(mac, _mac(here, "cookie", f"{token_id}.{issued_s}.{nonce}")):
        return None
    now_ms = here.now_ms()
    if not 0 <= now_ms // 1000 - int(issued_s) <= LIFETIME_S:
        return None
    g.sign_in = found[0]
    return credential_by_id(here.store, token_id, now_ms)


def form_token() -> str:
    """What a form on a page for this sign-in has to carry; empty without a cookie."""
    return _mac(services(), "form", g.sign_in) if "sign_in" in g else ""


def check_form() -> None:
    """Passes when a form was sent from a page of this sign-in; a bearer needs no proof, for no browser sends one by itself.

    raises: Forbidden otherwise.
    """
    if "sign_in" in g and not hmac.compare_digest(request.form.get("form_token", "").encode(), form_token().encode()):
        raise Forbidden("The form was not sent from a page of this sign-in. Load the page again.")


def _form(next_path: str, message: str = "", status: int = 200) -> Response:
    return Response(render_template("login.html", next=_local(next_path), message=message), status)


def _way_on(next_path: str, credential: Credential) -> str:
    return _local(next_path) or ("/ops" if credential.kind == "operator" else "/")


def _local(path: str) -> str:
    """A path of this site, or nothing: no scheme, no host, no trick that a browser would read as one."""
    parts = urlsplit(path) if re.fullmatch(r"/(?![/\\])[!-~]{0,4000}", path, re.ASCII) and "\\" not in path else None
    return path if parts and not parts.scheme and not parts.netloc else ""


def _signed(here: Services, token_id: str) -> str:
    value = f"{token_id}.{here.now_ms() // 1000}.{secrets.token_hex(16)}"
    return f"{value}.{_mac(here, 'cookie', value)}"


def _mac(here: Services, purpose: str, value: str) -> str:
    """The mark that only this data folder's processes can make. Cursors are signed with the same key, and never begin with these words."""
    return hmac.new(here.store.cursor_key(), f"sign-in {purpose}:{value}".encode(), hashlib.sha256).hexdigest()
