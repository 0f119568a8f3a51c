"""The analyser's promise: index, query and excerpt see the same text, whatever is in it."""

import re

import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.analysis import analyse, document
from shared.errors import BadQuery
from shared.excerpt import cut
from shared.folding import fold
from shared.query import parse
from tests.shared.text_index import TextIndex

# What folds, melts, joins or separates in a way of its own; a few letters, so that texts repeat themselves and queries hit.
TRICKY = [
    *"ab1I_.-'\"* ",
    *"灯塔電かーﾞ゛ｶ가각ㅏㅋกำ่ຳကြក្",
    *"éßŁøđıİﬁﬃ½²æςΣё",
    *"\u0301\u0308\u0338\u064b\u0640\u0654\u05b0\u093f\u093c\u3099\u20e3",
    *"\u200b\u200d\u00ad\ufe0f\ufeff\u2060\ue000\u3000\x00\n",
    *"👍🏽👩💻❤ℹ™🇩🇪🇫",
    *"，。「’…％ﷺﱞ´¨�",
]
any_text = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(exclude_categories=["Cs"])), max_size=30)
tricky_text = st.text(st.sampled_from(TRICKY), max_size=20)
texts = st.one_of(any_text, tricky_text, st.sampled_from(TRICKY).flatmap(lambda one: st.text(st.sampled_from([one, *"a灯. "]), max_size=12)))
dense_runs = st.text(st.sampled_from("灯塔電かー가กาเຳကខ"), min_size=1, max_size=8)


@st.composite
def masked_texts(draw):
    """A text and ascending, separate spans of it."""
    text = draw(texts)
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
    return text, list(zip(edges[::2], edges[1::2], strict=False))


def found_by_index(match, text, masks=()):
    index = TextIndex()
    index.add(text, masks)
    return index.found(match) == [1]


@given(masked_texts())
@settings(max_examples=400, deadline=None)
def test_index_and_excerpt_see_the_same_tokens(masked):
    text, masks = masked

    assert analyse(text, masks).document == document(text, masks)


@given(texts)
@settings(deadline=None)
def test_sqlite_cuts_and_folds_nothing_of_its_own(text):
    index = TextIndex()

    index.add(text)

    assert index.tokens("text") == document(text).text.split()
    assert index.tokens("parts") == document(text).parts.split()


@given(st.text("ab1._-'\" \n\x00", max_size=40))
@settings(max_examples=400, deadline=None)
def test_ascii_alone_has_the_same_tokens_as_beside_other_characters(text):
    """Text of ASCII alone goes a faster way."""
    assert document(text) == document(text + " —")


@given(texts)
@settings(max_examples=300, deadline=None)
def test_every_place_of_the_folded_text_leads_to_a_piece_of_the_original_in_order(text):
    analysed = analyse(text)
    places = [analysed.span(at, at + 1) for at in range(len(analysed.folded))]

    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)
    assert "".join(fold(text[start:end]) for start, end in dict.fromkeys(places)) == analysed.folded


@given(masked_texts(), texts, st.data())
@settings(max_examples=600, deadline=None)
def test_the_index_finds_what_the_text_holds(masked, other, data):
    """Exactly that for most queries; for those that must be checked never less."""
    text, masks = masked
    start = data.draw(st.integers(0, len(text)))
    typed = data.draw(st.sampled_from([text[start : start + 8], other, f'"{text[start : start + 8]}"', f"{text[start:start + 4]} NOT {other}"]))
    query = parsed(typed)

    holds = query.holds(analyse(text, masks))
    found = found_by_index(query.match_all(), text, masks)

    assert found or not holds
    assert query.checked or found == holds


@given(masked_texts(), texts)
@settings(max_examples=300, deadline=None)
def test_a_term_stands_only_where_it_may_be_shown(masked, typed):
    text, masks = masked
    analysed = analyse(text, masks)

    for term in parsed(typed).terms:
        spans = term.spans(analysed)
        assert spans == sorted(spans)
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(end <= begin or stop <= start for start, end in spans for begin, stop in masks if begin < stop)


@given(texts)
@settings(max_examples=300, deadline=None)
def test_every_piece_of_a_text_between_spaces_finds_the_text(text):
    for typed in re.findall(r"[^\s\x00-\x1f\x7f-\x9f]+", text):
        if typed.startswith('"'):
            continue  # opens a phrase
        try:
            query = parse(typed)
        except BadQuery:
            continue

        assert found_by_index(query.match_all(), text)
        assert all(term.spans(analyse(text)) for term in query.terms)


@given(st.lists(dense_runs, min_size=1, max_size=4), dense_runs, st.data())
@settings(max_examples=400, deadline=None)
def test_any_part_of_a_run_without_spaces_is_found_and_nothing_else_is(runs, other, data):
    text = " ".join(fold(run) for run in runs)
    run = data.draw(st.sampled_from(text.split(" ")))
    start = data.draw(st.integers(0, len(run) - 1))
    part = run[start : data.draw(st.integers(start + 1, len(run)))]

    assert found_by_index(parse(part).match_all(), text)
    assert found_by_index(parse(other).match_all(), text) == (fold(other) in text)


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=2))
@settings(max_examples=400, deadline=None)
def test_no_typed_text_makes_search_fail_except_with_bad_query(typed, masks):
    try:
        query = parse(typed, masks)
    except BadQuery:
        return

    found_by_index(query.match_all(), typed)
    assert query.interpreted
    assert query.terms
    assert all(found_by_index(term.match, typed) in (True, False) for term in query.terms)


@given(masked_texts(), tricky_text, st.integers(1, 30), st.integers(40, 300))
@settings(max_examples=400, deadline=None)
def test_an_excerpt_is_whole_pieces_of_the_text_with_its_matches(masked, typed, times, limit):
    text, masks = masked
    length = len(text)
    text = (text + "a ") * times
    masks = [(start + at * (length + 2), end + at * (length + 2)) for at in range(times) for start, end in masks if 0 < end - start <= 10]
    terms = parsed(typed).terms
    stands = any(term.stands_in(analyse(text, masks)) for term in terms)

    found = cut(text, terms, masks, limit)

    assert len(found.text) <= limit
    edges = [0, *(edge for span in found.highlights for edge in span), len(found.text)]
    assert edges == sorted(edges)
    assert all(start < end for start, end in found.highlights)
    assert bool(found.highlights) == stands
    if len(text) <= limit:
        assert found.text == text
        assert found.masks == len(masks)


@given(tricky_text, st.integers(2, 40))
@settings(deadline=None)
def test_an_excerpt_without_a_match_ends_between_graphemes(text, times):
    text = (text + "a") * times
    assume(len(text) > 60)
    ends = {found.end() for found in regex.finditer(r"\X", text)} | {0}

    found = cut(text, (), (), 60)

    assert found.text.endswith(" …")
    assert len(found.text) - 2 in ends
    assert text.startswith(found.text[:-2])


def parsed(typed):
    try:
        return parse(typed)
    except BadQuery:
        return parse("a")
