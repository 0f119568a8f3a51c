"""What masking promises for any text: nothing of a secret is left, masking again changes nothing, spans tell the whole truth."""

import json
import re
import string
from random import Random
from urllib.parse import quote

from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.redaction import Masked, mask

LETTERS = string.ascii_letters + string.digits
LABEL = re.compile(r"\[redacted:[a-z0-9-]+\]")
HEX = "0123456789abcdef"
INVISIBLE = ["\u200b", "\u200d", "\u202e", "\u2060", "\ufeff", "\u00ad", "\x1b", "\x85", "\x00"]


def body(alphabet: str, length: int) -> st.SearchStrategy[str]:
    """Random characters as a provider would draw them: letters and digits mixed."""
    drawn = st.integers(0, 2**48).map(lambda seed: "".join(Random(seed).choices(alphabet, k=length)))
    return drawn.filter(lambda text: sum(c.isdigit() for c in text) >= 2 and any(c.isalpha() for c in text) and len(set(text)) > 5)


TOKENS = st.one_of(
    *(
        body(alphabet, length).map(lambda rest, prefix=prefix: prefix + rest)
        for prefix, alphabet, length in (
            ("ghp_", LETTERS, 36),
            ("github_pat_", LETTERS, 82),
            ("glpat-", LETTERS, 20),
            ("sk-", LETTERS, 48),
            ("sk-ant-api03-", LETTERS + "-_", 95),
            ("sk-proj-", LETTERS + "-_", 120),
            ("xoxb-", LETTERS, 40),
            ("AIza", LETTERS + "-_", 35),
            ("AKIA", string.ascii_uppercase + "234567", 16),
            ("sk_live_", LETTERS, 24),
            ("npm_", LETTERS, 36),
            ("hf_", LETTERS, 34),
            ("dop_v1_", HEX, 64),
            ("shpat_", HEX, 32),
            ("dapi", HEX, 32),
            ("hvs.", LETTERS, 90),
            ("SG.", LETTERS, 66),
            ("ya29.", LETTERS + "-_", 100),
        )
    )
)
NAMED = st.one_of(
    body(LETTERS + "!#%*+", 14).map(lambda value: ('{"password": "', value, '"}')),
    body(LETTERS, 20).map(lambda value: ("export API_KEY=", value, "\n")),
    body(LETTERS, 20).map(lambda value: ("client_secret: ", value, "\n")),
    body(LETTERS, 12).map(lambda value: ("mysql -uroot -p", value, " app")),
    body(LETTERS, 12).map(lambda value: ("postgres://app:", value, "@db/app")),
    body(LETTERS, 30).map(lambda value: ("Authorization: Bearer ", value, "\r\n")),
    TOKENS.map(lambda value: ("", value, "")),
)
# What may stand around a secret: anything, pieces of real texts, and pieces that look like the beginning of one.
PIECES = st.sampled_from(
    ["the ferry leaves at noon", '{"k": "v"}', "```\nfoo(bar)\n```", "password", "token:", "sk-", "ghp_", "[redacted:jwt]", "[redacted:", "-----BEGIN",
     "\\n", '\\"', "%20", "Cookie: a=b", "eyJ", "://", "@", "=", "&", "\r\n", "\u200b", "4111", "def f(x):\n    return x\n", "İ", "ﬁ", "日本語"]
)  # fmt: skip
FILLER = st.lists(st.one_of(st.text(max_size=12), PIECES), max_size=6).map("".join)
EDGES = st.sampled_from([" ", "\n", "\t", '"', "(", ", ", "> "])


def runs_left(secret: str, text: str, least: int = 6) -> list[str]:
    """Parts of the secret that the text still shows outside of labels."""
    text = LABEL.sub(" ", text)
    return [secret[at : at + least] for at in range(len(secret) - least + 1) if secret[at : at + least] in text]


def rebuilt(original: str, masked: Masked) -> str:
    """The masked text made again from the spans alone."""
    parts, at = [], 0
    for (start, end), (label_start, label_end) in zip(masked.spans, masked.masks, strict=True):
        parts += original[at:start], masked.text[label_start:label_end]
        at = end
    return "".join([*parts, original[at:]])


@given(before=FILLER, left=EDGES, named=NAMED, right=EDGES, after=FILLER)
def test_no_run_of_a_secret_is_left_whatever_stands_around_it(before, left, named, right, after):
    head, secret, tail = named
    assume(not runs_left(secret, before + left + head + tail + right + after))

    masked = mask(before + left + head + secret + tail + right + after)

    assert not runs_left(secret, masked.text)


@given(left=FILLER, token=TOKENS, invisible=st.lists(st.sampled_from(INVISIBLE), min_size=1, max_size=3).map("".join), at=st.integers(1, 30))
def test_invisible_characters_inside_a_token_do_not_save_it(left, token, invisible, at):
    assume(not runs_left(token, left))
    at = min(at, len(token) - 1)
    text = f"{left} {token[:at]}{invisible}{token[at:]} end"

    masked = mask(text).text

    assert not runs_left(token, "".join(c for c in masked if c not in INVISIBLE))


@given(token=TOKENS, line_break=st.sampled_from(["\n", "\r\n", "\\n", "\\r\\n", "\n    "]), at=st.integers(6, 24))
def test_a_line_break_inside_a_token_does_not_save_it(token, line_break, at):
    rest = token[at:]
    assume(len(rest) >= 8 and sum(c.isdigit() for c in rest[:10]) >= 1 and any(c.islower() for c in rest) and rest[0].isalnum())

    masked = mask(f"use {token[:at]}{line_break}{rest}\nand go on\n").text

    assert not runs_left(token, masked)
    assert masked.endswith("and go on\n")


@given(left=FILLER, token=TOKENS, every=st.booleans())
def test_percent_encoding_does_not_save_a_token(left, token, every):
    assume(not runs_left(token, left))
    encoded = "".join(f"%{ord(c):02X}" for c in token) if every else quote(token, safe="").replace("-", "%2D").replace("_", "%5f")

    masked = mask(f"{left} {encoded} end").text

    assert encoded not in masked
    assert not runs_left(token, masked)


@given(named=NAMED, depth=st.integers(1, 3))
def test_json_inside_json_inside_json_does_not_save_a_secret(named, depth):
    head, secret, tail = named
    text = head + secret + tail
    for _ in range(depth):
        text = json.dumps({"text": text})

    assert not runs_left(secret, mask(text).text)


@given(text=st.lists(st.one_of(FILLER, NAMED.map("".join)), max_size=5).map(" ".join))
@example("password=[redacted:jwt]secret99")
@example("Cookie: a=bbbb; token=[redacted:x]; c=dddd9999")
def test_masking_twice_is_masking_once(text):
    once = mask(text)

    assert mask(once.text) == Masked(once.text)


@given(text=st.lists(st.one_of(FILLER, NAMED.map("".join)), max_size=5).map(" ".join))
def test_spans_rebuild_the_masked_text(text):
    masked = mask(text)

    assert rebuilt(text, masked) == masked.text
    assert all(masked.text[start:end].startswith("[redacted:") for start, end in masked.masks)
    assert all(end > start for start, end in masked.spans)
    assert all(first[1] <= second[0] for first, second in zip(masked.spans, masked.spans[1:], strict=False))


WRITTEN = {
    "plain": lambda secret: secret,
    "percent": lambda secret: quote(secret, safe=""),
    "json": lambda secret: json.dumps(secret)[1:-1],
    "invisible": lambda secret: f"{secret[:3]}\u200b{secret[3:]}",
    "broken": lambda secret: f"{secret[:3]}\n{secret[3:]}",
}
TYPED = st.text(alphabet=st.characters(categories=["L", "N", "P", "S"], exclude_characters="\\\\%&\u3164\uffa0\u115f\u1160"), min_size=6, max_size=24)


@given(before=FILLER, secret=TYPED, after=FILLER, way=st.sampled_from(sorted(WRITTEN)))
def test_a_registered_secret_is_found_however_it_is_written(before, secret, after, way):
    written = WRITTEN[way](secret)
    assume("redacted:" not in secret and written not in before + after)

    masked = mask(f"{before} {written} {after}", [secret])

    assert written not in LABEL.sub(" ", masked.text)
    assert mask(masked.text, [secret]).text == masked.text
