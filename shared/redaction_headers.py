"""Reads the secrets of HTTP headers and of addresses: authorization, cookies, user:password@, webhooks, signed queries."""

import re
from collections.abc import Iterator

from shared.redaction_rules import SCHEMES
from shared.redaction_tokens import HEADER, Found
from shared.redaction_values import random_looking, stands_in

_SCHEME = re.compile(rf"[\"'`]?[ \t]*+(?:(?i:{'|'.join(SCHEMES)}|aws4-hmac-sha256)(?:[ \t]++|%20|:[ \t]*))?+")
_CREDENTIAL = re.compile(r"(?:[A-Za-z][\w\-]{1,20}=\"?)?([^\s\"'`,;<>\\]{1,8192}+)")


def authorization(text: str, at: int) -> Found | None:
    scheme = _SCHEME.match(text, at)
    credential = _CREDENTIAL.match(text, scheme.end() if scheme else at)
    if not credential:
        return None
    value, named = credential.group(1), bool(scheme and scheme.group().strip(" \t\"'`"))
    if len(value) < (4 if named else 8) or stands_in(value, named and any(map(str.isdigit, value))):
        return None
    if not named and not (random_looking(value, 12) or any(c.isdigit() for c in value)):
        return None
    return Found(credential.start(1), credential.end(1), HEADER, "authorization")


_BEARER = re.compile(r"[ \t]*+[\"'`]?([^\s\"'`,;<>\\(){}\[\]]{6,8192}+)")


def bearer(text: str, at: int) -> Found | None:
    credential = _BEARER.match(text, at)
    if not credential or stands_in(value := credential.group(1).rstrip(".:!?)"), True):
        return None
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    good = mixed and (random_looking(value, 8) or value.count("-") < 3)
    return Found(credential.start(1), credential.start(1) + len(value), HEADER, "authorization") if good else None


_COOKIES = re.compile(r"[\"'`]?[ \t]*+([\w.\-%]{1,80}=[^\s;\"'`,<>\\]{4,4096}+(?:; ?[\w.\-%]{1,80}(?:=[^\s;\"'`,<>\\]{0,4096}+)?)*+)")
_SESSION = re.compile(r"(?i)sess|sid|token|auth|jwt|login|remember|id\\Z|key")


def cookies(text: str, at: int) -> Found | None:
    pairs = _COOKIES.match(text, at)
    if not pairs or not any(_is_session(*pair.strip().partition("=")[::2]) for pair in pairs.group(1).split(";")):
        return None
    return Found(*pairs.span(1), HEADER, "cookie")


def _is_session(name: str, value: str) -> bool:
    if len(value) < 6 or stands_in(value, True) or value.lower().startswith(("/", "strict", "lax")):
        return False
    return bool(_SESSION.search(name)) or (len(value) >= 8 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)))


_ADDRESS = re.compile(r"://([^\s/?#\"'<>`@:]{0,256}+)(?::([^\s/?#\"'<>`]{0,256}+))?")
_STORE = re.compile(r"://([^\s\"'<>`@:/]{0,128}+):([^\s\"'<>`]{1,256}+)")
_STORE_SCHEMES = re.compile(
    r"(?i)(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|nats|cockroachdb|smtps?|ftps?|sftp|ldaps?)(?:\+\w+)?\Z"
)


def addresses(text: str) -> Iterator[Found]:
    at = text.find("://")
    while at >= 0:
        if found := _userinfo(text, at):
            yield found
        at = text.find("://", at + 3)


def _userinfo(text: str, at: int) -> Found | None:
    address = _ADDRESS.match(text, at)
    if not address:
        return None
    user, password = address.group(1), address.group(2)
    if password is None:
        alone = text[address.end() : address.end() + 1] == "@" and (random_looking(user, 16) or re.fullmatch(r"[0-9a-f]{32}", user))
        return Found(address.start(1), address.end(1), HEADER, "url-credential") if alone else None
    cut = password.rfind("@")
    if cut < 0:
        return _store_password(text, at)
    start, end = address.start(2), address.start(2) + cut
    if random_looking(user, 20):
        start = address.start(1)
    return Found(start, end, HEADER, "url-password") if end > start and not stands_in(text[start:end]) else None


def _store_password(text: str, at: int) -> Found | None:
    """The password of a data store's address, in which characters that end a host are common."""
    address = _STORE.match(text, at)
    if not address or not _STORE_SCHEMES.search(text, max(0, at - 24), at):
        return None
    cut = address.group(2).rfind("@")
    start, end = address.start(2), address.start(2) + cut
    return Found(start, end, HEADER, "url-password") if cut > 0 and not stands_in(text[start:end]) else None


_HOOK = re.compile(
    r"(?i)s?(?:\.slack\.com/(?:services|workflows|triggers)/([\w/+\-]{16,200}+)|/[0-9]{8,25}/([\w\-]{20,200}+)|\.office\.com/webhookb?2?/([\w/@\-]{30,400}+)"
    r"|b2/([\w/@\-]{30,400}+)|\.zapier\.com/hooks/catch/([\w/]{8,100}+)|\.make\.com/([\w]{20,64}+)|/([A-Za-z0-9\-_]{20,64}+)(?![/\w]))"
)


def hook(text: str, at: int) -> Found | None:
    found = _HOOK.match(text, at)
    if not found or found.lastindex is None:
        return None
    start, end = found.span(found.lastindex)
    longest = max(text[start:end].split("/"), key=len)
    shaped = found.lastindex < 7 or random_looking(longest, 20)
    return Found(start, end, HEADER, "webhook") if shaped and not stands_in(longest) and len(set(longest)) > 3 else None


_QUERY_NAMES = r"(?:code|sid|session|sig|signature|hmac|st|ticket|assertion|samlresponse|x-amz-[a-z][\w\-]{1,30}|x-goog-signature)="
_QUERIES = (("?", re.compile(r"\?" + _QUERY_NAMES)), ("&", re.compile("&" + _QUERY_NAMES)))
_PARAMETER = re.compile(r"[^&\s\"'<>#\\]{8,4096}+")


def parameters(text: str, low: str) -> Iterator[Found]:
    for mark, pattern in _QUERIES:
        for name in pattern.finditer(low) if mark in low else ():
            value = _PARAMETER.match(text, name.end())
            if value and (random_looking(value.group(), 12) or re.fullmatch(r"[0-9a-fA-F]{20,}", value.group())):
                yield Found(value.start(), value.end(), HEADER, "signature")
