import time

import pytest
import regex

from shared.excerpt import Excerpt, cut, places
from shared.query import parse
from shared.redaction import labels

FILLER = "The keeper counts the boats and writes them down. "
HAN = "后天上午九点去港口检查电池然后回家"


def excerpt(text, query, masks=(), limit=300):
    return cut(text, parse(query).terms, masks, limit)


def shown(found):
    return [found.text[start:end] for start, end in found.highlights]


def test_a_short_text_is_shown_whole_with_all_its_matches():
    text = "the ferry leaves at noon,\nFerry two later"

    assert excerpt(text, "ferry noon") == Excerpt(text, [[4, 9], [20, 24], [26, 31]], 0)


def test_the_places_of_a_query_are_those_that_an_excerpt_marks_and_none_is_in_a_mask():
    text = "Ferry [redacted:ferry-token] at noon, ferry"

    found = places(text, parse("ferry noon").terms, labels(text))

    assert [text[start:end] for start, end in found] == ["Ferry", "noon", "ferry"]
    assert [list(span) for span in found] == excerpt(text, "ferry noon", labels(text)).highlights


def test_a_text_of_exactly_the_limit_is_shown_whole():
    text = "ferry " + "x" * 294

    assert excerpt(text, "ferry") == Excerpt(text, [[0, 5]], 0)


def test_a_long_text_is_cut_around_its_match_at_spaces():
    found = excerpt(FILLER * 20 + "ferry " + FILLER * 20, "ferry")

    assert len(found.text) <= 300
    assert found.text.startswith("… ")
    assert found.text.endswith(" …")
    assert found.text[2:-2] in FILLER * 20 + "ferry " + FILLER * 20
    assert set(found.text[2:-2].split()) <= {*FILLER.split(), "ferry"}
    assert shown(found) == ["ferry"]
    assert 100 < found.highlights[0][0] < 200


def test_a_match_at_the_beginning_needs_no_mark_before_it():
    found = excerpt("ferry " + FILLER * 20, "ferry")

    assert found.text.startswith("ferry The")
    assert found.text.endswith(" …")


def test_a_match_at_the_end_needs_no_mark_after_it():
    found = excerpt(FILLER * 20 + "ferry", "ferry")

    assert found.text.startswith("… ")
    assert found.text.endswith("ferry")
    assert len(found.text) > 250


def test_without_a_match_the_beginning_is_shown():
    found = excerpt(FILLER * 20, "ferry")

    assert found.text.startswith(FILLER)
    assert found.text.endswith(" …")
    assert found.highlights == []


def test_the_place_with_the_most_different_terms_is_shown():
    text = "ferry ferry ferry " + FILLER * 20 + "ferry at noon " + FILLER * 20

    assert shown(excerpt(text, "ferry noon")) == ["ferry", "noon"]


def test_of_places_with_as_many_terms_the_one_with_more_matches_is_shown_and_of_equals_the_earliest():
    more = "one ferry " + FILLER * 20 + "ferry or ferry " + FILLER * 20
    equal = "one ferry " + FILLER * 20 + "two ferry " + FILLER * 20

    assert shown(excerpt(more, "ferry")) == ["ferry", "ferry"]
    assert "one ferry" in excerpt(equal, "ferry").text


def test_terms_far_apart_are_shown_in_two_pieces_in_the_order_of_the_text():
    text = FILLER * 10 + "a zebra came " + FILLER * 20 + "the omega end " + FILLER * 10

    found = excerpt(text, "omega zebra")

    first, second = found.text[2:-2].split(" … ")
    assert len(found.text) <= 300
    assert "a zebra came" in first
    assert first in text
    assert "the omega end" in second
    assert second in text
    assert shown(found) == ["zebra", "omega"]


def test_the_same_word_far_apart_is_no_reason_for_two_pieces():
    text = "a zebra " + FILLER * 20 + "a zebra " + FILLER * 20

    assert excerpt(text, "zebra").text.count("…") == 1


def test_matches_that_overlap_are_one_highlight_and_neighbours_stay_two():
    assert excerpt("灯灯灯塔", "灯灯").highlights == [[0, 3]]
    assert excerpt("灯灯塔", "灯").highlights == [[0, 1], [1, 2]]
    assert excerpt("at noon", '"at noon" noon').highlights == [[0, 7]]


def test_no_match_is_shown_in_part():
    for shift in range(40):
        found = excerpt("x" * shift + " " + "鹿灯塔" * 200, "灯塔")

        assert set(shown(found)) == {"灯塔"}


def test_a_match_longer_than_the_excerpt_is_highlighted_as_far_as_it_is_shown():
    found = excerpt(HAN * 40, '"' + HAN * 30 + '"')

    assert len(found.text) <= 300
    assert found.highlights == [[found.text.index("后"), len(found.text) - 2]]


@pytest.mark.parametrize("unit", ["e\u0301", "👩‍👩‍👧", "🇩🇪", "ก็", "한"[:1] + "글", "किं", "👍🏽", "\r\n", "❤️"])
@pytest.mark.parametrize("shift", range(4))
def test_no_cut_falls_into_a_grapheme(unit, shift):
    text = "a" * shift + unit * 300 + " ferry " + unit * 300
    whole = set(regex.findall(r"\X", text))

    found = excerpt(text, "ferry")

    assert len(found.text) <= 300
    assert len(found.text) > 250
    assert set(regex.findall(r"\X", found.text.strip("…").strip(" "))) <= whole
    assert shown(found) == ["ferry"]


def test_letters_heaped_with_marks_do_not_make_an_excerpt_longer_or_slow():
    found = excerpt("a" + "\u0301" * 200_000 + " ferry", "a")

    assert len(found.text) <= 300


@pytest.mark.parametrize("gap", range(100, 180))
def test_a_label_is_shown_whole_or_not_at_all_and_counted(gap):
    label = "[redacted:github-token]"
    text = "x " * 200 + label + "y" * gap + " ferry " + "z" * gap + label + " x" * 200
    first = 400
    second = first + len(label) + gap + 7 + gap
    masks = [(first, first + len(label)), (second, second + len(label))]

    found = excerpt(text, "ferry token", masks)

    assert len(found.text) <= 300
    assert found.text.count("redacted") == found.text.count(label) == found.masks
    assert "github" not in found.text.replace(label, "")
    assert shown(found) == ["ferry"]


def test_a_match_beside_a_mask_is_shown_with_it():
    text = "key=[redacted:api-key] ferry"

    assert excerpt(text, "key ferry", [(4, 22)]) == Excerpt(text, [[0, 3], [23, 28]], 1)


def test_a_secret_in_the_query_is_not_highlighted():
    terms = parse("ferry hunter", [(6, 12)]).terms

    assert cut("ferry hunter", terms).highlights == [[0, 5]]


def test_markup_and_private_use_characters_are_text():
    text = "if [[ -f x ]]; then echo \ue000oops\ue001 <b>burgee</b> fi burgee"

    found = excerpt(text, "burgee")

    assert found.text == text
    assert shown(found) == ["burgee", "burgee"]


def test_the_accent_and_the_joiner_of_a_match_are_highlighted_with_it():
    text = "Zu\u0308rich, light\u200bhouse, ❤️, oﬃce"

    assert shown(excerpt(text, "zürich lighthouse ❤ office")) == ["Zu\u0308rich", "light\u200bhouse", "❤️", "oﬃce"]


@pytest.mark.parametrize("piece", ["the ferry leaves at noon, ", "the ferry — leaves at noon, ", "渡轮 ferry 在中午出发，"])
def test_a_text_of_a_megabyte_is_cut_in_well_under_a_second(piece):
    """Analysing is linear and done once; only what is near the cut is traced back to the original."""
    text = piece * (1_000_000 // len(piece))
    terms = parse("ferry noon nowhere").terms
    before = time.process_time()

    found = cut(text, terms)

    assert time.process_time() - before < 1.5
    assert 250 < len(found.text) <= 300
