"""Reads a name, the value it is given, and whether that value is a secret: `name = value` in all its spellings."""

import re
import string

from shared.redaction_headers import authorization, cookies
from shared.redaction_tokens import ASSIGNED, Found
from shared.redaction_values import DIGEST, UUID, Kind, Written, is_open, is_secret, kind_of, random_looking, stands_in

_OPERATOR = re.compile(
    r"[\]\"'`*)}]{0,5}+(?:(?P<tight>=(?![=>~ \t]))|(?P<sign>[ \t]*+(?:=>|[:?|]{0,2}={1,3}|:{1,2}(?!/))[ \t]*+)"
    r"|(?P<told>[ \t]{1,4}+(?:is|was|are|to|as)(?:[ \t]+(?:now|set to|still))?(?:[ \t]*:)?[ \t]++)"
    r"|(?P<valued>[\s,]{1,40}+[\"'\-]?[Vv]alue[\"']?[ \t]*+[:=][ \t]*+)|(?P<pair>[ \t]*+,[ \t]*+(?=[\"']))"
    r"|(?P<tag>>(?=[^\s<>]))|(?P<apart>[ \t]{1,3}+(?=[\"'])))"
)
_NAME_REST = re.compile(r"[A-Za-z0-9_.\-]{0,40}+")
_NAME_CHARS = string.ascii_letters + string.digits + "_.-$"
_BARE = re.compile(r"[^\s\"'`<>]{1,512}+")
_ON = re.compile(r"[^\s\"'`<>;&]*+")
_OPEN = re.compile(r"[rbfuRBFU@$]{0,2}(\"\"\"|'''|\\*[\"'`])")
_LINE_LEFT = re.compile(
    r"[ \t>*\-+#]*+(?:(?i:export|set|setx|env|arg|let|const|var|declare|local|readonly|public|private|static)[ \t]++){0,3}[\"'`*{\[]{0,3}\Z"
)
ENDS = re.compile(r"[ \t]*+(?:[,;]?[ \t]*+(?:#[^\n]*)?(?:\n|\r|\\n|\Z)|[}\]])")
_HEADER_LIKE = re.compile(r"(?i)(?:proxy-)?authorization\Z")


def named(text: str, at: int) -> Found | None:
    """Reads a name around a telling word that ends at `at`, and the value it is given."""
    name_end = _NAME_REST.match(text, at).end()  # type: ignore[union-attr]
    start = _name_start(text, at)
    name = text[start:name_end].strip(".-$")
    kind = kind_of(name) or ("secret" if _HEADER_LIKE.search(name) else None)
    if not kind or random_looking(name, 20):
        return None  # another thing's name, or letters of a token that happen to spell a word
    operator = _OPERATOR.match(text, name_end)
    if operator and _HEADER_LIKE.search(name):
        return authorization(text, operator.end())
    if operator and name.lower().endswith("cookie"):
        return cookies(text, operator.end())
    if kind == "weak" and _is_qualified(text, start, name):
        kind = "secret"
    return (_valued(text, start, name, operator, kind) if operator else None) or _near(text, name_end, kind)


_NEAR = re.compile(r"[^A-Za-z0-9]{1,12}+([^\s\"'`<>|,;(){}\[\]]{8,256}+)")


def _near(text: str, at: int, kind: Kind) -> Found | None:
    """A value that looks random and stands close behind the name, whatever is between them."""
    near = _NEAR.match(text, at)
    if not near:
        return None
    value = near.group(1).rstrip(".:!?*")
    least = 8 if kind == "password" else 12 if kind == "secret" else 16
    if not random_looking(value, least) or (kind == "weak" and ":" in value):
        return None
    if stands_in(value) or is_open(value) or DIGEST.fullmatch(value) or UUID.fullmatch(value):
        return None
    return Found(near.start(1), near.start(1) + len(value), ASSIGNED, "password" if kind == "password" else "secret")


def _name_start(text: str, at: int) -> int:
    before = text[max(0, at - 56) : at]
    return at - len(before) + len(before.rstrip(_NAME_CHARS))


def _is_qualified(text: str, start: int, name: str) -> bool:
    """Whether the word before the name makes it a secret's, as in "API key"."""
    if text[start - 1 : start] != " " or not name.isalpha():
        return False
    return kind_of(text[max(0, start - 16) : start - 1].rpartition(" ")[2].rpartition("\n")[2] + "_" + name) == "secret"


def _valued(text: str, start: int, name: str, operator: re.Match[str], kind: Kind) -> Found | None:
    manner = operator.lastgroup
    if _PAIRED.search(name) and (pair := _PAIR.match(text, operator.end())):
        return None if stands_in(pair.group(1)) or not any(map(str.isdigit, pair.group(1))) else Found(*pair.span(1), ASSIGNED, "password")
    span = value_span(text, operator.end(), manner == "tag")
    if span is None:
        return None
    begin, end, quoted = span
    if manner in ("pair", "apart") and not (quoted and end > begin and _belongs(text, start, begin, end, manner)):
        return None
    if not quoted and manner != "tag":
        end = _bare_end(text, begin, end, manner == "tight")
    line = text.rfind("\n", max(0, start - 80), start) + 1
    line_start = (line > 0 or start <= 80) and _LINE_LEFT.match(text, line, start) is not None
    how = Written(
        quoted=quoted or manner == "tag", tight=manner in ("tight", "valued"), line_end=ENDS.match(text, end) is not None,
        line_start=line_start, told=manner == "told", paired=manner in ("pair", "apart"), shouted=name.isupper(),
    )  # fmt: skip
    if not is_secret(kind, name, text[begin:end], how):
        return None
    if end - begin == 512:
        end = _ON.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing too
    return Found(begin, end, ASSIGNED, "password" if kind == "password" else "secret")


_PAIRED = re.compile(r"(?i)(?:auth|creds|credentials?|login|userpass)\Z")
_PAIR = re.compile(r"\(?[\"']?[\w.@\-]{1,64}+(?:[\"'], ?[\"']|:)([^\s:\"'/]{4,256}+)")


def _belongs(text: str, start: int, begin: int, end: int, manner: str) -> bool:
    """Whether a quoted value behind a name belongs to it: ("name", "value") as two arguments, or NAME 'value'."""
    if manner == "apart":
        return text[begin] != " "
    return text[start - 2 : start - 1] == "(" and text[end + 1 : end + 2] == ")"


def value_span(text: str, at: int, tagged: bool = False) -> tuple[int, int, bool] | None:
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


_CUT = re.compile(r"\)\]?\(|\]\(|&(?:amp;)?[\w.\-]{1,40}=|;[ \t]*[A-Za-z][\w ]{1,30}=|;\Z|\\+[nrt\"]|\\$|,[\"'\w]{1,24}[:=]")


def _bare_end(text: str, begin: int, end: int, tight: bool) -> int:
    """Where an unquoted value ends: before the next field, and before punctuation that closes what is around it."""
    if cut := _CUT.search(text, begin, end):
        end = cut.start()
    while end > begin and text[end - 1] in (",;)}]" if tight else ",;)}].:*") and not _opened_inside(text[begin:end]):
        end -= 1
    return end


def _opened_inside(value: str) -> bool:
    """Whether the bracket that closes a value was opened in it."""
    pair = {")": "(", "}": "{", "]": "["}.get(value[-1])
    return pair is not None and value.count(pair) >= value.count(value[-1])
