"""What a name says about its value, and whether a value is a secret or only stands where one would.

A name is judged by its last parts (`DB_PASSWORD`, `accessToken`, `x-api-key`), a value by its form and by how it was
written: quoted, after a bare equals sign, at the end of a line.
"""

import re
from base64 import b64decode
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from shared.redaction_rules import (
    HARMLESS_PARTS,
    KEY_QUALIFIERS,
    NEUTRAL_TAILS,
    PASSWORD_ENDINGS,
    PASSWORD_PARTS,
    SECRET_ENDINGS,
    SECRET_PARTS,
    STOP_WORDS,
    WEAK_PARTS,
)
from shared.redaction_view import ragged

Kind = Literal["password", "secret", "weak"]

PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+|[0-9]+")
_REFERENCE = re.compile(
    r"\$[A-Za-z_{(\[][^\n]*|\$[0-9@*#?!$]|%[A-Za-z_]\w*%|%(?:\(\w+\))?[-0-9.]*[a-z]|\{\{?[^\n]*|<[^\n]*|@[\w.]+@|#\{[^\n]*|\[[^\n]*|!(?:Ref|Sub|vault|secret|ENV)[^\n]*"
    r"|\(?(?:[a-z]+ ){0,3}(?:process\.env|os\.environ|import\.meta|getenv|secrets?\.|vars?\.|env[.:(]|ENV\[|self\.|this\.)[^\n]*"
    r"|(?:op|vault|ssm|arn|secretsmanager|projects|keychain|pass|ref\+\w+|file|env):[/:]?[^\n]*"
)
_PLACEHOLDER = re.compile(
    r"(?i:[x*.#?_\-\u2022\u2026=~ ]{3,}|\u2026|[^\n]{0,16}?(?:x{5,}|\*{3,}|\.{3,}|\u2026+|\u2022{3,})[^\n]{0,8}"
    r"|(?:your|the|some|any|an?|new|old|enter|insert|put|paste|replace|change|add|set|fill|use|generate|choose)"
    r"(?:[ _\-.][a-z]+){1,8}[ _\-.!]*"
    r"|(?:your|my)[ _\-.]?(?:[a-z]{2,12}[ _\-.]?)?(?:password|passwd|secret|token|key|credentials?|api)"
    r"|[a-z_\-]{0,40}(?:placeholder|changeme|change[_\-]me|[_\-]here|[_\-]goes[_\-]|redacted|removed|censored|not[_\-]set|not[_\-]an?[_\-])[a-z_\-]{0,40}"
    r"|\W{0,2}(?:redacted|masked|hidden|secret|token|password|key|none|null|empty|removed|omitted)\W{0,2})"
)
_CALL = re.compile(r"(?:(?:await|new|yield|not|return|typeof) )?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*[!?]?[(\[{<]")
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[,;)]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_]*")
_FILE_ENDINGS = "pem|key|crt|json|ya?ml|txt|env|toml|py|js|ts|go|rs|md|sh|lock|cfg|ini|kdbx|p12|pfx|jks|pub"
_PATH = re.compile(
    r"(?:~|\.{1,2})?(?:/[\w.@+\-]+)+/?|[A-Za-z]:\\[^\n]*|[\w.\-]+(?:/[\w.\-]+)+\.[a-z]{1,5}" rf"|[\w\-]+\.(?:{_FILE_ENDINGS})"
)
_URL = re.compile(r"[a-z][a-z0-9+.\-]{1,15}://[^\n]*|#[0-9a-fA-F]{3,8}")
_VERSION = re.compile(
    r"v?[0-9]+(?:\.[0-9]+)+(?:[-+.][A-Za-z0-9.]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}[^\n]*|[0-9.,]+(?:[kKmMgG]?[bB]?|ms|s|m|h|d|px|em|rem|%)"
)
DIGEST = re.compile(
    r"(?i:(?:sha(?:1|224|256|384|512)|md5|blake[23]\w*)[-:=][^\n]+|[0-9a-f]{7,12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})"
)
UUID = re.compile(r"(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_SIMPLE = re.compile(r"[A-Za-z]+[0-9]{0,4}|[0-9]+")
_PUBLIC = re.compile(r"(?:ssh-(?:rsa|ed25519|dss)|ecdsa-|pk_|pub|-----BEGIN|AAAA[BCE])[^\n]*")
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_HUMPS = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_SYMBOL = re.compile(r"[!@#$%^&*?+=~]")
_BRACKETS = re.compile(r"[(){}\[\]|<>]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,4096}={0,2}")
_USER_AND_PASSWORD = re.compile(rb"[\x21-\x39\x3b-\x7e]+:[\x20-\x7e]+")
_SENTENCE = re.compile(r"[A-Za-z'\u2019,.;:!?] [A-Za-z]")


_HARMLESS, _QUALIFIERS, _TAILS = frozenset(HARMLESS_PARTS), frozenset(KEY_QUALIFIERS), frozenset(NEUTRAL_TAILS)
_PASSWORDS, _SECRETS, _WEAK, _STOPS = frozenset(PASSWORD_PARTS), frozenset(SECRET_PARTS), frozenset(WEAK_PARTS), frozenset(STOP_WORDS)
# Before "password" these make the name of something else.
_NO_VALUE = frozenset(("max", "min", "by", "no", "num", "show", "has", "is", "reset", "first", "last"))


@dataclass(frozen=True)
class Written:
    """How a value stands in the text.

    tight: name=value without spaces; told: "is" and the like before it; paired: quoted as the name is, or alone behind it;
    line_end: nothing follows on the line; line_start: the name is first on it; shouted: the name is in capitals.
    """

    quoted: bool = False
    tight: bool = False
    line_end: bool = False
    line_start: bool = False
    told: bool = False
    paired: bool = False
    shouted: bool = False


@lru_cache(maxsize=2048)
def kind_of(name: str) -> Kind | None:
    """What the value of a thing so named is: a password, a secret, perhaps one (`weak`), or nothing to hide (None)."""
    parts = [part.lower() for part in PARTS.findall(name)]
    while len(parts) > 1 and parts[-1] in _TAILS:
        parts.pop()
    if not parts or parts[-1] in _HARMLESS:
        return None
    last, before = parts[-1], parts[-3:-1]
    if last in _PASSWORDS or last.endswith(PASSWORD_ENDINGS):
        return None if _NO_VALUE.intersection(before[-1:]) else "password"
    if _HARMLESS.intersection(before):
        return None
    if last in _SECRETS or last.endswith(SECRET_ENDINGS) or (last == "key" and _QUALIFIERS.intersection(before)):
        return "secret"
    return "weak" if last in _WEAK else None


def is_secret(kind: Kind, name: str, value: str, how: Written) -> bool:
    """Whether this value of a thing of this kind has to be masked."""
    if stands_in(value, how.quoted):
        return False
    if kind == "password":
        return _is_password(name, value, how)
    if len(value) < 6 or is_open(value):
        return False
    if kind == "secret":
        return _is_token(name, value, how)
    if name.lower().endswith("auth") and is_basic(value):
        return True
    return ":" not in value and random_looking(value, 16) and not DIGEST.fullmatch(value) and not UUID.fullmatch(value)


def stands_in(value: str, quoted: bool = False) -> bool:
    """Whether a value is a reference, a call, a placeholder or a word of the language, and no secret itself."""
    if len(value) < 3 or len(set(value)) < 2 or _REFERENCE.fullmatch(value) or value.lower().strip(".,;:!?()*") in _STOPS:
        return True
    if len(value) <= 120 and _PLACEHOLDER.fullmatch(value):
        return True
    return not quoted and bool(_CALL.match(value) or (_DOTTED.fullmatch(value) and not random_looking(value, 12)))


def random_looking(value: str, least: int) -> bool:
    """Whether a value of at least this length mixes letters, capitals and digits as only random ones do."""
    if len(value) < least or not _DIGIT.search(value) or not _LETTER.search(value):
        return False
    return len(_HUMPS.findall(value)) * 5 >= len(value) and ragged(value)


def is_open(value: str) -> bool:
    """Whether a value is a path, an address, a version or a public key."""
    return bool(_PATH.fullmatch(value) or _URL.fullmatch(value) or _VERSION.fullmatch(value) or _PUBLIC.fullmatch(value)) and not (
        random_looking(value, 20) and value.count("/") <= 4 and "." not in value
    )


def _is_password(name: str, value: str, how: Written) -> bool:
    if " " in value:
        return how.quoted and not _is_sentence(name, value)
    mixed = _SIMPLE.fullmatch(value) is None and _IDENTIFIER.fullmatch(value) is None
    if _URL.fullmatch(value) and "@" not in value:
        return False
    if how.paired and how.shouted and "_" in name:
        return True
    if how.told or how.paired:
        return len(value) >= 6 and _DIGIT.search(value) is not None and not value.isdigit() and not _VERSION.fullmatch(value)
    short_name = name.lower() in ("pass", "pin", "pw", "pat", "psk")
    if short_name and not how.quoted and not how.tight:
        return len(value) >= 6 and (random_looking(value, 8) or (mixed and _SYMBOL.search(value) is not None))
    if how.quoted:
        return len(value) >= 3
    if value.isdigit():
        return len(value) >= 4 and (how.tight or how.line_end) and not short_name
    if mixed or _DIGIT.search(value) is not None:
        return not (_PATH.fullmatch(value) and value.startswith(("/", "~", "./", "../"))) and not _VERSION.fullmatch(value)
    if how.tight:
        return how.shouted or how.line_end
    return how.line_start and how.line_end and _IDENTIFIER.fullmatch(value) is not None and "_" not in value


def _is_sentence(name: str, value: str) -> bool:
    """Whether quoted text with spaces is a label or a message; a passphrase says in its name that it may have spaces."""
    if "phrase" in name.lower() or "mnemonic" in name.lower():
        return value[:1].isupper() and value[-1:] in ".!?:"
    return _SENTENCE.search(value) is not None and not _DIGIT.search(value)


def _is_token(name: str, value: str, how: Written) -> bool:
    if " " in value or "," in value[1:-1] or _BRACKETS.search(value):
        return False
    if is_basic(value):
        return True
    digits, letters = _DIGIT.search(value) is not None, _LETTER.search(value) is not None
    if how.told or how.paired:
        return random_looking(value, 8)
    if not digits:
        return _letters_only(value, how)
    if not letters:
        return len(value) >= 8 and (how.quoted or how.tight) and "token" not in name.lower()
    if _SIMPLE.fullmatch(value):
        return (how.quoted or how.tight) and (len(value) >= 10 or how.shouted)
    if not ragged(value):
        named = "secret" in name.lower() or how.shouted or len(value) >= 20
        return named and len(value) >= 8 and (how.quoted or how.tight or how.line_end)
    return how.quoted or how.tight or how.line_end or random_looking(value, 8)


def _letters_only(value: str, how: Written) -> bool:
    if how.tight and how.shouted:
        return len(value) >= 8 and not value.replace("_", "").isupper()
    if _SYMBOL.search(value):
        return (how.quoted or how.tight) and len(value) >= 8
    return (how.quoted or how.tight) and len(value) >= 16 and ragged(value)


def is_basic(value: str) -> bool:
    """Whether a value is base64 of user:password."""
    if len(value) < 8 or not _BASE64.fullmatch(value):
        return False
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return False
    return _USER_AND_PASSWORD.fullmatch(decoded) is not None
