"""What agents' tools answer, as short text: recalled text is quoted with its source, role and age, and cannot pass for anything else.

Two promises: every line of a recalled text begins with `> `, whatever it holds, and every name that others gave (keys, ids, titles) is a
JSON string on one line. So whatever stands outside of both was written here. Pure.
"""

import json
import re
from typing import Any

from shared.tools import NOTICE
from web.views import since

_WORD = re.compile(r"[A-Za-z]{1,32}", re.ASCII)
# What a terminal obeys, what turns the direction of what follows, and letters that nobody sees; lines are cut before.
_UNSEEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_HEAD = f'{NOTICE} Quoted lines begin with "> ".'


def found(body: dict[str, Any], now_ms: int, retry_after: str | None) -> str:
    """A page of hits, each with what sessions_history needs to read around it."""
    lines = [_HEAD, ""] if body["results"] else [f"Nothing was found for {literal(body['interpreted'])}."]
    if body["relaxed"]:
        lines.append("No message has every word; these have some of them.")
    lines += _incomplete(body, retry_after)
    for number, hit in enumerate(body["results"], 1):
        lines += [f"{number}. {_hit_head(hit, now_ms)}", f"   {_place(hit)}", *quoted(hit["excerpt"])]
    return _whole(lines, body["nextCursor"])


def page(body: dict[str, Any], now_ms: int, retry_after: str | None) -> str:
    """Messages of one session, oldest first."""
    where = f"Session {literal(body['sessionKey'])}, sessionId {literal(body['sessionId'])}"
    if not body["messages"]:
        lines = [f"{where}: nothing is here. It is empty, or the message is not on its active branch."]
    else:
        lines = [_HEAD, "", f"{where}, oldest first:"]
    for message in body["messages"]:
        lines += [_message_head(message, now_ms), *quoted(message["text"])]
    for name, which in (("before", "Older"), ("after", "Newer")):
        if body[name]:
            lines.append(f"{which}: call again with {name} {literal(body[name])}")
    return "\n".join(lines)


def sessions(body: dict[str, Any], now_ms: int, retry_after: str | None) -> str:
    """Sessions, most recently used first."""
    lines = [NOTICE] if body["sessions"] else ["No session is visible here."]
    for number, one in enumerate(body["sessions"], 1):
        title = f", title {literal(one['title'])}" if one["title"] else ""
        pending = ", still being indexed" if one["pending"] else ""
        used = _when(one["updatedAt"], now_ms)
        lines.append(f"{number}. sessionKey {literal(one['sessionKey'])}{title}, {one['messages']} messages, used {used}{pending}")
    return _whole(lines, body["nextCursor"])


def quoted(text: str) -> list[str]:
    """The text's lines, each marked as quoted; a line ends wherever anybody may see an end."""
    return [f"> {_UNSEEN.sub(_escaped, line)}" for line in text.splitlines() or [""]]


def literal(text: str) -> str:
    """The text as a JSON string on one line, with nothing in it that is not seen."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def _hit_head(hit: dict[str, Any], now_ms: int) -> str:
    title = f", title {literal(hit['title'])}" if hit["title"] else ""
    matches = f", one of {hit['matches']}{'+' if hit.get('matchesMore') else ''} matches in its session" if "matches" in hit else ""
    return f"{_word(hit['role'])}, {_when(hit['timestamp'], now_ms)}{title}{matches}"


def _place(hit: dict[str, Any]) -> str:
    return ", ".join(f"{name} {literal(hit[name])}" for name in ("sessionKey", "sessionId", "messageId"))


def _message_head(message: dict[str, Any], now_ms: int) -> str:
    kind = f", {_word(message['type'])}" if message.get("type") not in (None, "text") else ""
    name = f" {literal(message['name'])}" if message.get("name") else ""
    cut = ", cut here: it is longer" if message.get("cut") else ""
    omitted = f", {message['omitted']} parts left out" if message["omitted"] else ""
    return f"{_word(message['role'])}, {_when(message['timestamp'], now_ms)}, messageId {literal(message['id'])}{kind}{name}{cut}{omitted}"


def _word(text: str) -> str:
    return text if _WORD.fullmatch(text) else literal(text)


def _when(iso: str, now_ms: int) -> str:
    return f"{iso} ({since(iso, now_ms)})"


def _incomplete(body: dict[str, Any], retry_after: str | None) -> list[str]:
    if not body["indexing"]:
        return []
    again = f" Ask again in {retry_after} s." if retry_after else ""
    return [body["warning"] + again]


def _whole(lines: list[str], cursor: str | None) -> str:
    more = [f"More: call again with the same arguments and cursor {literal(cursor)}"] if cursor else []
    return "\n".join([*lines, *more])
