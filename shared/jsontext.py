"""JSON in and out, one way for the whole program: what a transcript may hold is decided here.

A lone surrogate (half an emoji, legal as a JSON escape) becomes U+FFFD, for UTF-8 cannot hold it; NaN and Infinity are refused,
for JSON has none; nesting is bounded, so that no input exhausts the stack.
"""

import json
import re
from typing import Any, NoReturn

import msgspec

MAX_LEVELS = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
_encoder = msgspec.json.Encoder()


class BadJson(ValueError):
    """Text that is not JSON, or JSON that is nested deeper than MAX_LEVELS."""


def loads(data: bytes | str, max_levels: int = MAX_LEVELS) -> Any:
    """The value of one JSON text (UTF-8 bytes or str), lone surrogates replaced by U+FFFD.

    raises: BadJson for what is not JSON, is not UTF-8, or is nested deeper than max_levels.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if _levels_at_most(data, max_levels):
        try:
            return msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _loads_slowly(data)
    raise BadJson(f"nested deeper than {max_levels} levels")


def dumps(value: Any) -> str:
    """The value as compact JSON text, key order kept."""
    return _encoder.encode(value).decode("utf-8")


def clean(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD."""
    return _SURROGATE.sub("�", text)


def _loads_slowly(data: bytes) -> Any:
    """What the fast decoder refuses but JSON allows: lone surrogates, numbers of any size."""
    try:
        text = data.decode("utf-8-sig", "surrogatepass")
        return _clean_deep(json.loads(text, parse_constant=_refuse, parse_float=_finite))
    except (ValueError, RecursionError) as e:
        reason = e.msg if isinstance(e, json.JSONDecodeError) else "not UTF-8" if isinstance(e, UnicodeDecodeError) else "not a JSON value"
        raise BadJson(reason) from None


def _clean_deep(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_deep(v) for v in value]
    if isinstance(value, dict):
        return {clean(k): _clean_deep(v) for k, v in value.items()}
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number out of range")
    return value


_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def _levels_at_most(data: bytes, limit: int) -> bool:
    """Whether the nesting stays within the limit; strings are skipped, so that brackets in text do not count."""
    if data.count(b"[") + data.count(b"{") <= limit:
        return True
    depth = 0
    for found in _NESTING.finditer(data):
        mark = found[0]
        if mark in (b"[", b"{"):
            depth += 1
            if depth > limit:
                return False
        elif mark in (b"]", b"}"):
            depth -= 1
    return True
