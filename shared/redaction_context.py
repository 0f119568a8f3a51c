"""Secrets that show by what stands around them: names, headers, addresses, commands.

Telling words are looked for as plain text in a lower-cased copy, which is what makes clean text cheap; what follows one
is then read in place. All repetition is bounded or possessive.
"""

import re
from collections.abc import Callable, Iterator

from shared.redaction_rules import COMMAND_FLAGS, KEY_QUALIFIERS, SCHEMES
from shared.redaction_tokens import ASSIGNED, FORM, HEADER, Found
from shared.redaction_values import Written, is_basic, is_secret, kind_of, random_looking, stands_in

Reader = Callable[[str, int], Found | None]

# What may stand between a telling word and the value: the rest of the name, closing marks, and one of these.
_BETWEEN = (
    r"(?=[a-z0-9_.\-]{0,40}+[\]\"'`*)}]{0,5}+"
    r"(?:[ \t]{0,8}+(?:=>|[:?|]{0,2}=|:)"  # name = value
    r"|[ \t]{1,4}+(?:is|was|are|to|as)[ \t:]"  # the name is value
    r"|[ \t]*+,[ \t]*+[\"']"  # 'name', 'value'
    r"|>[^\s<>]"  # <name>value</name>
    r"|[\s,]{1,40}+[\"'\-]?value\b"  # name: NAME, value: value
    r"|[ \t]{1,3}+[\"']))"  # PASSWORD 'value'
)
_QUERIES = r"(?:code|sid|session|sig|hmac|st|ticket|assertion|samlresponse|x-amz-[a-z][\w\-]{1,30}|x-goog-signature)="
_ENDS_WORD = r"(?![a-z])"


def lowered(text: str) -> str:
    """The text in lower case with every character where it was."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def contexts(text: str) -> Iterator[Found]:
    """Secrets that their surroundings name; spans may overlap."""
    low = lowered(text)
    for needle, anchor, reader in _WATCHED:
        if needle in low:
            for found in anchor.finditer(low):
                if secret := reader(text, found.end()):
                    yield secret
    if "@" in text and "://" in text:
        yield from _addresses(text)


def _found(text: str, start: int, end: int, rank: int, label: str) -> Found | None:
    return Found(start, end, rank, label) if end > start and not stands_in(text[start:end], True) else None


# --- names and their values

_OPERATOR = re.compile(
    r"[\]\"'`*)}]{0,5}+(?:(?P<tight>=(?![=>~ \t]))|(?P<sign>[ \t]*+(?:=>|[:?|]{0,2}={1,3}|:{1,2}(?!/))[ \t]*+)"
    r"|(?P<told>[ \t]{1,4}+(?:is|was|are|to|as)(?:[ \t]+(?:now|set to|still))?(?:[ \t]*:)?[ \t]++)"
    r"|(?P<pair>[ \t]*+,[ \t]*+(?=[\"']))|(?P<tag>>(?=[^\s<>]))|(?P<valued>[\s,]{1,40}+[\"'\-]?[Vv]alue[\"']?[ \t]*+[:=][ \t]*+)|(?P<apart>[ \t]{1,3}+(?=[\"'])))"
)
_NAME_REST = re.compile(r"[A-Za-z0-9_.\-]{0,40}+")
_NAME_START = re.compile(r"[A-Za-z0-9_.\-$\u00e0-\u00ff]{0,48}\Z")
_BARE = re.compile(r"[^\s\"'`<>]{1,4096}+")
_OPEN = re.compile(r"[rbfuRBFU@$]{0,2}(\"\"\"|'''|\\*[\"'`])")
_LINE_LEFT = re.compile(r"[ \t>*\-+#]*+(?:(?i:export|set|setx|env|arg|let|const|var|declare|local|readonly|public|private|static)[ \t]++){0,3}[\"'`*{\[]{0,3}\Z")
_ENDS = re.compile(r"[ \t]*+(?:[,;]?[ \t]*+(?:#[^\n]*)?(?:\n|\r|\\n|\Z)|[}\])])")
_HEADER_LIKE = re.compile(r"(?i)(?:proxy-)?authorization\Z")


def _named(text: str, at: int) -> Found | None:
    """Reads a name around a telling word that ends at `at`, and the value it is given."""
    name_end = _NAME_REST.match(text, at).end()  # type: ignore[union-attr]
    start = _name_start(text, at)
    name = text[start:name_end].strip(".-$")
    operator = _OPERATOR.match(text, name_end)
    if not operator:
        return None
    if _HEADER_LIKE.search(name):
        return _authorization(text, operator.end())
    if name.lower().endswith("cookie"):
        return _cookies(text, operator.end())
    kind = kind_of(_qualified(text, start, name))
    return _valued(text, start, name, operator, kind) if kind else None


def _name_start(text: str, at: int) -> int:
    least = max(0, at - 56)
    while at > least and (text[at - 1].isalnum() or text[at - 1] in "_.-$"):
        at -= 1
    return at


def _qualified(text: str, start: int, name: str) -> str:
    """The name with the word before it when that belongs to it, as in "API key"."""
    if text[start - 1 : start] != " " or not name.isalpha():
        return name
    word = text[max(0, start - 16) : start - 1].rpartition(" ")[2]
    return f"{word}_{name}" if word.lower().rpartition("\n")[2] in KEY_QUALIFIERS else name


def _valued(text: str, start: int, name: str, operator: re.Match[str], kind: str) -> Found | None:
    manner = operator.lastgroup
    span = _value_span(text, operator.end(), manner == "tag")
    if span is None:
        return None
    begin, end, quoted = span
    if manner in ("pair", "apart") and not (quoted and kind == "password" or manner == "pair"):
        return None
    if not quoted and manner != "tag":
        end = _bare_end(text, begin, end, manner == "tight")
    line_start = _LINE_LEFT.search(text, max(0, text.rfind("\n", 0, start) + 1, start - 40), start) is not None
    how = Written(
        quoted=quoted or manner == "tag", tight=manner in ("tight", "valued"), line_end=_ENDS.match(text, end) is not None,
        line_start=line_start, told=manner == "told", shouted=name.isupper(),
    )  # fmt: skip
    if not is_secret(kind, name, text[begin:end], how):  # type: ignore[arg-type]
        return None
    return Found(begin, end, ASSIGNED, "password" if kind == "password" else "secret")


def _value_span(text: str, at: int, tagged: bool = False) -> tuple[int, int, bool] | None:
    """Where the value that begins at `at` lies, its quotes left out, and whether it had any."""
    if tagged:
        end = text.find("<", at, at + 4096)
        return (at, end, False) if end > at and text.startswith("</", end) else None
    opening = _OPEN.match(text, at)
    if not opening:
        bare = _BARE.match(text, at)
        return (at, bare.end(), False) if bare else None
    mark, begin = opening.group(1), opening.end()
    end = text.find(mark, begin, begin + 4096)
    while end > 0 and mark in ('"', "'") and text[end - 1] == "\\" and text[end - 2] != "\\":
        end = text.find(mark, end + 1, begin + 4096)
    line = text.find("\n", begin, begin + 4096)
    if len(mark) < 3 and 0 <= line < (end if end >= 0 else len(text)):
        end = line
    if end < 0:
        bare = _BARE.match(text, begin)
        end = bare.end() if bare else begin
    return begin, end, True


_CUT = re.compile(r"&(?:amp;)?[\w.\-]{1,40}=|;[ \t]*[A-Za-z][\w ]{1,30}=|;\Z|\\+[nrt\"]|\\$|,[\"'\w]{1,24}[:=]")


def _bare_end(text: str, begin: int, end: int, tight: bool) -> int:
    """Where an unquoted value ends: before the next field, and before punctuation that closes what is around it."""
    if cut := _CUT.search(text, begin, end):
        end = cut.start()
    value = text[begin:end]
    if tight and not re.search(r"[,;)}\]]\Z", value):
        return end
    while end > begin and text[end - 1] in ",;)}].:!?*" and not (text[end - 1] in ")}]" and value.count("([{"[")}]".index(text[end - 1])]) >= value.count(text[end - 1])):
        end -= 1
        value = text[begin:end]
    return end


# --- headers

_SCHEME = re.compile(rf"[\"'`]?[ \t]*+(?:(?i:{'|'.join(SCHEMES)}|aws4-hmac-sha256)(?:[ \t]++|%20|:[ \t]*))?+")
_CREDENTIAL = re.compile(r"(?:[A-Za-z][\w\-]{1,20}=\"?)?([^\s\"'`,;<>\\]{1,8192}+)")


def _authorization(text: str, at: int) -> Found | None:
    scheme = _SCHEME.match(text, at)
    credential = _CREDENTIAL.match(text, scheme.end() if scheme else at)
    if not credential:
        return None
    value, named = credential.group(1), bool(scheme and re.search(r"[A-Za-z]", scheme.group()))
    if len(value) < (4 if named else 8) or stands_in(value):
        return None
    if not named and not (random_looking(value, 12) or any(c.isdigit() for c in value)):
        return None
    return Found(credential.start(1), credential.end(1), HEADER, "authorization")


def _bearer(text: str, at: int) -> Found | None:
    credential = re.compile(r"[ \t]++[\"'`]?([^\s\"'`,;<>\\(){}\[\]]{6,8192}+)").match(text, at)
    if not credential or stands_in(credential.group(1).rstrip(".:!?)")):
        return None
    value = credential.group(1).rstrip(".:!?)")
    good = random_looking(value, 8) or (len(value) >= 6 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and value.count("-") < 3)
    return Found(credential.start(1), credential.start(1) + len(value), HEADER, "authorization") if good else None


def _basic(text: str, at: int) -> Found | None:
    credential = re.compile(r"[ \t]++[\"'`]?([A-Za-z0-9+/]{8,8192}+={0,2})").match(text, at)
    return Found(credential.start(1), credential.end(1), HEADER, "authorization") if credential and is_basic(credential.group(1)) else None


_COOKIES = re.compile(r"[\"'`]?[ \t]*+([\w.\-%]{1,80}=[^\s;\"'`,<>]{4,4096}+(?:; ?[\w.\-%]{1,80}(?:=[^\s;\"'`,<>]{0,4096}+)?)*+)")


def _cookies(text: str, at: int) -> Found | None:
    cookies = _COOKIES.match(text, at)
    if not cookies or all(stands_in(pair.partition("=")[2]) for pair in cookies.group(1).split(";")):
        return None
    return Found(cookies.start(1), cookies.end(1), HEADER, "cookie")


# --- addresses

_ADDRESS = re.compile(r"://([^\s/?#\"'<>`@:]{0,256}+)(?::([^\s/?#\"'<>`]{0,256}+))?")
_STORE = re.compile(r"://([^\s\"'<>`@:/]{0,128}+):([^\s\"'<>`]{1,256}+)")
_STORE_SCHEMES = re.compile(r"(?i)(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|sqlserver|oracle|clickhouse|nats|cockroachdb|smtps?|ftps?|sftp|ldaps?)(?:\+\w+)?\Z")


def _addresses(text: str) -> Iterator[Found]:
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


def _hook(text: str, at: int) -> Found | None:
    hook = _HOOK.match(text, at)
    if not hook or hook.lastindex is None:
        return None
    start, end = hook.span(hook.lastindex)
    last = text[start:end].rpartition("/")[2]
    shaped = hook.lastindex < 7 or random_looking(last, 20)
    return Found(start, end, HEADER, "webhook") if shaped and not stands_in(last) and len(set(last)) > 3 else None


_PARAMETER = re.compile(r"[^&\s\"'<>#\\]{8,4096}+")


def _parameter(text: str, at: int) -> Found | None:
    value = _PARAMETER.match(text, at)
    if not value or not (random_looking(value.group(), 12) or re.fullmatch(r"[0-9a-fA-F]{20,}", value.group())):
        return None
    return Found(at, value.end(), HEADER, "signature")


# --- commands

_FLAG = {"p": "p", "P": "P"}
_COMMANDS = tuple((re.compile(rf"(?:^|[\s/|;&(`$])(?:{name})(?:\.exe)?\b[^\n|;&]*\Z"), flag, manner, between) for name, flag, manner, between in COMMAND_FLAGS)
_ARGUMENT = re.compile(r"\"([^\"\n]{1,512}+)\"|'([^'\n]{1,512}+)'|([^\s\"'|;&<>]{1,512}+)")
_SECRET_OPTION = re.compile(r"(?:[a-z]+-)*(?:password|passwd|pass|pwd|passphrase|token|secret|apikey|api-key|access-key|secret-key|secret-access-key|auth-key|authkey|private-key|psk|storepass|keypass|requirepass|masterauth|credentials?|userpass|bearer|auth-token|pat|license-key|service-key)")
_PAIR_OPTION = re.compile(r"(?:proxy-)?user|basic-auth|http-auth|creds|auth")


def _flag(text: str, at: int) -> Found | None:
    """Reads the value of a command's short flag; `at` is behind the flag's letter."""
    flag, line = text[at - 1], max(text.rfind("\n", 0, at) + 1, at - 400)
    for command, letter, manner, between in _COMMANDS:
        if letter == flag and command.search(text, line, at - 2):
            return _argument(text, at, manner, between)
    return None


def _argument(text: str, at: int, manner: str, between: str) -> Found | None:
    begin = at
    while text[begin : begin + 1] in (" ", "\t", "=") and manner != "glued":
        begin += 1
    if manner == "apart" and begin == at:
        return None
    argument = _ARGUMENT.match(text, begin)
    if not argument:
        return None
    start, end = argument.span(argument.lastindex or 0)
    if between:
        cut = text.find(between, start, end)
        if cut < 0:
            return None
        start = cut + 1
    elif text[start:end].isdigit() and manner != "glued" and end - start < 6:
        return None  # a port
    return _found(text, start, end, HEADER, "password") if end - start >= 3 and not stands_in(text[start:end]) else None


def _option(text: str, at: int) -> Found | None:
    """Reads the value of a long option; `at` is at its name."""
    name = re.compile(r"[A-Za-z][A-Za-z\-_]{1,40}").match(text, at)
    if not name:
        return None
    if _PAIR_OPTION.fullmatch(name.group()):
        return _argument(text, name.end(), "apart", ":")
    if not _SECRET_OPTION.fullmatch(name.group().lower()):
        return None
    found = _argument(text, name.end(), "apart", "")
    return found if found and (text[name.end()] == "=" or not text[found.start : found.end].startswith("-")) and _hides(text, found) else None


def _hides(text: str, found: Found) -> bool:
    """Whether an option's value is no word of a sentence about the option."""
    value = text[found.start : found.end]
    return not value.isalpha() or len(value) > 12 or text[found.start - 1] in "='\"" or _ENDS.match(text, found.end) is not None


_NETRC = re.compile(r"[ \t\n]+\S{1,200}+[ \t\n]+login[ \t\n]+\S{1,200}+[ \t\n]+password[ \t\n]+(\S{1,512}+)")
_ENV_PAIR = re.compile(r"[A-Z][A-Z0-9_]{2,60}+")


def _netrc(text: str, at: int) -> Found | None:
    entry = _NETRC.match(text, at)
    return _found(text, *entry.span(1), HEADER, "password") if entry else None


def _spaced(text: str, at: int) -> Found | None:
    """Reads NAME value after ENV or setenv; `at` is at the name."""
    name = _ENV_PAIR.match(text, at)
    kind = kind_of(name.group()) if name else None
    if not name or not kind:
        return None
    span = _value_span(text, name.end() + len(text[name.end() : name.end() + 4]) - len(text[name.end() : name.end() + 4].lstrip(" \t")))
    if not span or not is_secret(kind, name.group(), text[span[0] : span[1]], Written(quoted=span[2], tight=True, shouted=True, line_end=True)):
        return None
    return Found(span[0], span[1], ASSIGNED, "password" if kind == "password" else "secret")


def _quoted(text: str, at: int) -> Found | None:
    span = _value_span(text, at)
    return _found(text, span[0], span[1], HEADER, "password") if span and span[2] else None


def _rest(text: str, at: int) -> Found | None:
    argument = re.compile(r"[^\s\"'`<>]{4,512}+").match(text, at)
    return _found(text, at, argument.end(), HEADER, "password") if argument and text[at - 6 : at - 5] in (" ", "=", "'", '"') else None


def _pgpass(text: str, at: int) -> Found | None:
    entry = re.compile(r"[\w*.\-]{1,64}+:[\w*.\-]{1,64}+:(\S{4,200}+)").match(text, at)
    return _found(text, *entry.span(1), HEADER, "password") if entry else None


# Plain text to look for in lower case, the pattern that begins with it, and who reads on from the pattern's end.
_WATCHED: tuple[tuple[str, re.Pattern[str], Reader], ...] = tuple(
    (needle, re.compile(re.escape(needle) + around), reader)
    for needle, around, reader in (
        ("ke", rf"(?:y|n(?<=token)){_BETWEEN}", _named),
        ("cre", rf"(?:t(?<=secret)|d){_BETWEEN}", _named),
        ("pass", _BETWEEN, _named),
        ("pw", rf"(?:d|{_ENDS_WORD}){_BETWEEN}", _named),
        ("auth", _BETWEEN, _named),
        ("ookie", rf"(?<=cookie){_BETWEEN}", _named),
        ("psk", _ENDS_WORD + _BETWEEN, _named),
        ("jwt", _BETWEEN, _named),
        ("mnemonic", _BETWEEN, _named),
        ("sig", rf"(?:nature)?={_ENDS_WORD[:0]}", _parameter),
        ("bearer", r"(?=[ \t]{1,3}[^\s])", _bearer),
        ("basic ", r"(?<=(.))(?=[ \t]{0,2}[a-z0-9+/=]{8})", lambda text, at: _basic(text, at - 1)),
        ("hook", r"(?=[a-z0-9.\-]{0,40}/)", _hook),
        ("?", _QUERIES, _parameter),
        ("&", _QUERIES, _parameter),
        (" -", r"[upawknh](?=[ \t=]?[\"']?[^\s\-])", _flag),
        (" --", r"(?=[a-z][a-z\-_]{1,40}[ \t=][\"']?[^\s])", _option),
        ("env ", r"(?=[ \t]{0,3}[a-z][a-z0-9_]{2,60}[ \t]+[^\s=])", _spaced),
        ("machine ", r"(?<=(.))(?=\S+[ \t\n]+login)", lambda text, at: _netrc(text, at - 1)),
        ("identified by ", r"(?:password )?(?=['\"])", _quoted),
        (":5432:", r"", _pgpass),
        ("pass:", r"", _rest),
    )
)
