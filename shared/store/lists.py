"""Lists of texts in a statement. SQLite's JSON functions cut a text at a NUL, which a key or an id may hold: it is bound by itself."""

from collections.abc import Iterable

from shared import jsontext


def in_texts(texts: Iterable[str]) -> tuple[str, dict[str, str]]:
    """`IN` and its list, for a statement with named parameters, and the values to bind."""
    wanted = list(texts)
    plain = [text for text in wanted if "\0" not in text]
    bound = {f"text{number}": text for number, text in enumerate(wanted) if "\0" in text}
    rows = f" UNION ALL VALUES {', '.join(f'(:{name})' for name in bound)}" if bound else ""
    return f"IN (SELECT value FROM json_each(:texts){rows})", {"texts": jsontext.dumps(plain), **bound}
