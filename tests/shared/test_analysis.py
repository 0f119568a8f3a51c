import string
import unicodedata

import pytest

from shared.analysis import Document, analyse, document
from shared.folding import blocks, fold, origins
from shared.scripts import BREAK, DENSE, FLAG_END, PICTURE, SIGN, WORD
from tests.shared.text_index import TextIndex

EVERY_CHARACTER = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE1000))]

STREAMS = [
    ("", "", ""),
    ("The ferry leaves at noon", "the ferry leaves at noon", ""),
    ("at noon, he said.", "at noon he said", "noon, said."),
    ("foo.bar.baz", "foo bar baz", "foo.bar bar.baz"),
    ("C++, c++17 and C++", "c c 17 and c", "c++, c++17 c++"),
    ("lamp_max_level", "lamp max level", "lamp_max max_level"),
    ("--dim-level -band #417 $7 /usr/bin", "dim level band 417 7 usr bin", "dim-level usr/bin"),
    ("don't don’t donʼt don＇t", "don t don t don t don t", "don't don't don't don't"),
    ("2.14 or 14.3", "2 14 or 14 3", f"2.14 {BREAK} 14.3"),
    ("2.14.3", "2 14 3", "2.14 14.3"),
    ("a.b b c b.d", "a b b c b d", f"a.b {BREAK} b.d"),
    ("— a—b “c” —", "a b c", "a—b c”"),
    ("灯", "灯", "灯"),
    ("后天九点", "后天 天九 九点 点", "后 天 九 点"),
    ("请重启lampd服务", "请重 重启 启 lampd 服务 务", "请 重 启 服 务"),
    ("灯塔%电池", "灯塔 塔 电池 池", "塔%电 灯 塔 电 池"),
    ("a.灯灯.b", "a 灯灯 灯 b", f"a.灯 {BREAK} 灯.b 灯"),
    ("a.灯.b", "a 灯 b", "a.灯 灯.b 灯"),
    ("ｶﾞｰﾄﾞ", "ガー ード ド", "ガ ー ド"),
    ("か゛ が か\u3099", "が が が", "が"),
    ("ㅋㅋㅠㅠ", "ㅋㅋ ㅋㅠ ㅠㅠ ㅠ", "ㅋ ㅠ"),
    ("\u1112\u1161\u11ab 한", "한 한", "한"),
    ("ที่นี่", "ที ี่ ่น นี ี่ ่", "ท ี ่ น"),
    ("ok👍🏽!", "ok 👍", "👍!"),
    ("👩‍💻❤️", "👩 💻 ❤", ""),
    ("🇩🇪🇫🇷", f"🇩🇪{FLAG_END} 🇫🇷{FLAG_END}", ""),
    ("1️⃣ ℹ️ ‼️ ™️", "1 ℹ ‼ ™", ""),
    ("a\x00b\x1bc\x7fd", "a b c d", ""),
    ("किताब, की", "किताब की", "किताब,"),
]


@pytest.mark.parametrize(("text", "words", "parts"), STREAMS)
def test_a_text_becomes_a_stream_of_words_and_one_of_joints_and_single_characters(text, words, parts):
    assert document(text) == Document(words, parts)
    assert analyse(text).document == Document(words, parts)


ALIKE = [
    ("İNŞAAT", "inşaat"),
    ("ISPARTA", "ısparta"),
    ("Straße", "STRASSE"),
    ("STRAẞE", "strasse"),
    ("Đường hải đăng", "duong hai dang"),
    ("Łódź", "lodz"),
    ("Øst ǿ", "ost o"),
    ("Ёлка", "елка"),
    ("Ħamrun", "hamrun"),
    ("كَتَبَ الحارسُ", "كتب الحارس"),
    ("كـــتب", "كتب"),
    ("שָׁלוֹם", "שלום"),
    ("Zu\u0308rich", "zürich"),
    ("ΒΟΡΡΑΣ", "βορρασ"),
    ("Βορράς άνεμος", "βορρασ ανεμοσ"),
    ("τῷ", "τω"),
    ("ＬＡＭＰ　１２", "lamp 12"),
    ("oﬃce ﬁle", "office file"),
    ("light\u200bhouse keep\u00ader \u2060fog\ufeffhorn", "lighthouse keeper foghorn"),
    ("می\u200cخواهم", "میخواهم"),
    ("\u202eabc\u202c", "abc"),
    ("½…", "1⁄2..."),
    ("don´t", "don't"),
    ("\u1fbd\u1ffd", "''"),
    ("ﾡﾢ", "ㄱㄲ"),
]


@pytest.mark.parametrize(("written", "folded"), ALIKE)
def test_what_a_search_does_not_tell_apart_folds_alike(written, folded):
    assert fold(written) == fold(folded)
    assert fold(unicodedata.normalize("NFD", written)) == fold(unicodedata.normalize("NFC", written))


UNLIKE = [("≠", "="), ("आ", "अ"), ("की", "क"), ("が", "か"), ("أ", "ا"), ("ก่", "ก"), ("ㅋ", "ㄱ"), ("ℹ", "i"), ("a b", "ab"), ("æ", "ae")]


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_letters_and_signs_that_differ_in_more_than_accents_stay_apart(one, other):
    assert fold(one) != fold(other)


@pytest.mark.parametrize("text", [text for text, _, _ in STREAMS] + [f"a{sign}b {sign}c d{sign} {sign}" for sign in string.punctuation])
def test_sqlite_reads_exactly_our_tokens(text):
    index = TextIndex()

    index.add(text)

    assert index.tokens("text") == document(text).text.split()
    assert index.tokens("parts") == document(text).parts.split()


def test_nothing_in_a_mask_is_a_token_and_the_streams_break_there():
    text = "key=[redacted:api-key]def 灯[redacted:x]塔"
    masks = [(4, 22), (27, 39)]

    assert document(text, masks) == Document(f"key {BREAK} def 灯 {BREAK} 塔", f"key= {BREAK} {BREAK} 灯 塔")
    assert analyse(text, masks).document == document(text, masks)


@pytest.mark.parametrize("typed", [BREAK, f"a {BREAK} b", f"a.b {BREAK} b.c", FLAG_END, f"🇩{FLAG_END}", "\ud83d"])
def test_the_signs_of_our_own_cannot_be_typed(typed):
    folded = fold(typed)

    assert BREAK not in folded
    assert FLAG_END not in folded
    folded.encode()


SPANS = [
    ("Zu\u0308rich pie\u0301r", ["Zu\u0308rich", "pie\u0301r"]),
    ("oﬃce ﬁle", ["oﬃce", "ﬁle"]),
    ("안녕ㅠㅠ lamp", ["안녕ㅠㅠ", "lamp"]),
    ("x light\u200bhouse y", ["x", "light\u200bhouse", "y"]),
    ("❤️ ok 👍🏽 👩‍💻x", ["❤️", "ok", "👍🏽", "👩‍", "💻", "x"]),
    ("🇩🇪🇫🇷 a", ["🇩🇪", "🇫🇷", "a"]),
    ("½ cup", ["½", "½", "cup"]),
    ("ﷺ end", ["ﷺ", "ﷺ", "ﷺ", "ﷺ", "end"]),
    ("—" * 600 + " lamp", ["lamp"]),
    ("é" * 600 + " e\u0301", ["é" * 600, "e\u0301"]),
]


@pytest.mark.parametrize(("text", "units"), SPANS)
def test_every_folded_character_leads_back_to_where_it_came_from(text, units):
    analysed = analyse(text)
    seen = []
    at = 0
    for unit in _units(analysed.folded):
        at = analysed.folded.index(unit, at)
        start, end = analysed.span(at, at + len(unit))
        seen.append(text[start:end])
        at += len(unit)

    assert seen == units


def _units(folded):
    """Words, dense runs and emoji in order, without looking at how the streams are made."""
    units = [""]
    for character in folded:
        kind = next((kind for kind in (WORD, DENSE, PICTURE) if kind.holds(character)), None)
        if character == FLAG_END:
            continue
        flag = len(units[-1]) == 1 and "🇦" <= units[-1] <= "🇿" and "🇦" <= character <= "🇿"
        goes_on = units[-1] and kind is not None and kind.holds(units[-1][-1]) and (kind is not PICTURE or flag)
        if goes_on:
            units[-1] += character
        else:
            units.append(character if kind else "")
    return [unit for unit in units if unit]


def test_every_character_is_of_one_kind():
    """A character of two kinds, or of none, would be a token in one place and not in another."""
    for character in EVERY_CHARACTER:
        kinds = [kind for kind in (WORD, DENSE, PICTURE, SIGN) if kind.holds(character)]
        alone = character in (BREAK, FLAG_END) or character.isspace() or unicodedata.category(character) == "Cc"

        assert len(kinds) == (0 if alone else 1), ascii(character)


def test_no_character_but_a_space_folds_to_a_separator_and_each_folds_alone_as_in_company():
    """Spacing accents decompose to a space and a mark; Hangul vowels and voiced marks melt into what stands before them."""
    for character in EVERY_CHARACTER:
        if character in "ﷺﷻ":  # phrases written as one character
            continue
        if not character.isspace():
            assert " " not in fold(character), ascii(character)
        for before in "aか가\u1100ا":
            both = before + character

            assert "".join(_folded_parts(both)) == fold(both), ascii(both)


def _folded_parts(text):
    return [fold(block) for block in blocks(text)] if len(blocks(text)) > 1 else _folded_segments(text)


def _folded_segments(text):
    """The folded text put together from what each place of the text folds to."""
    places = list(dict.fromkeys(origins(text)))
    return [fold(text[start:end]) for start, end in places]


def test_a_word_of_any_length_is_one_token():
    index = TextIndex()
    word = "x" * 40_000

    index.add(f"a {word} b")

    assert document(f"a {word} b").text == f"a {word} b"
    assert index.found('text : "xxxx" *') == [1]
