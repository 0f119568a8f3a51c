import string

import pytest

from shared.analysis import analyse
from shared.errors import BadQuery
from shared.query import MAX_CHARACTERS, parse
from tests.shared.text_index import TextIndex


def finds(query, text, masks=()):
    """Whether the query finds the text, asked of SQLite and of the text itself."""
    index = TextIndex()
    index.add(text, masks)
    parsed = parse(query)
    holds = parsed.holds(analyse(text, masks))
    by_index = index.found(parsed.match_all()) == [1]
    assert by_index or not holds
    assert parsed.checked or by_index == holds
    return holds


SEEN = "see #417 in lib/lamp.py, it's 40% done; mail keeper@pier.example, cost $7, ok? yes,no"
LEVEL = "set lamp_max_level before start"
FITS = "lamp::fit in module text: see role:user"
LENS = 'the 12" lens and the foo"bar token'
DIM = "start it with --dim-level and -band 3"
PIN = "pin harbourctl 2.14.3 on debian 12.5"
DARK = "后天上午九点去港口检查灯塔电池"
STEP = "第2步重跑lens-itq后38条悬空引用清零"
KOREAN = "등대에서 배터리를 교체했다"
NANG = "Đường ra hải đăng ở Đà Nẵng"

FOUND = [
    # words stand anywhere and in any order
    ("tide database migration", "the migration of our tide database took an hour"),
    ("FERRY noon", "the ferry leaves at noon"),
    ("a a a", "a"),
    # punctuation inside a term, or at its end, is meant
    ("storm-proof", "the storm-proof lamp sits on shelf nine"),
    ("shelf storm-proof", "the storm-proof lamp sits on shelf nine"),
    *((term, SEEN) for term in ("#417", "lib/lamp.py", "it's", "it’s", "40%", "keeper@pier.example", "$7", "ok?", "yes,no", "lamp.py")),
    *((term, LENS) for term in ('foo"bar', '12"', '"lens', 'the "12', "lens")),
    *((term, PIN) for term in ("2.14.3", "2.14", "14.3", "debian 12.5", "12.5", "12.")),
    *((term, FITS) for term in ("lamp::fit", "role:user", "text:", "-text:", "module", "in")),
    *((term, DIM) for term in ("--dim-level", "-band 3", "dim-level", "start -band")),
    *((term, LEVEL) for term in ("lamp_max_level", "max_level", "LAMP_MAX_LEVEL", "lamp", "lamp_max")),
    ("C++", "C++"),
    ("C++", "in C++, mostly"),
    ("C++", "needs C++17"),
    ("c++17", "needs C++17"),
    ("12.5", "12.5.3"),
    ("foo->bar", "x = foo->bar;"),
    ("foo()", "call foo()."),
    ("{text}: lamp", "use {text}: the lamp"),
    ("(lamp", "lamp"),
    ("c*", "the c* files"),
    ("user_name@", "to user_name@host"),
    ("^lamp", "a lamp"),
    ("NEAR(a", "NEAR(a b)"),
    ("a AND b", "b and a"),
    # prefixes
    ("lam*", "the lamps"),
    ("lam*", "lam"),
    ("lamp_ma*", LEVEL),
    ("lib/la*", SEEN),
    ("灯塔*", DARK),
    ("-lam*", "lamp"),
    # phrases
    ('"at noon"', "leaves at noon"),
    ('"at noon"', "AT, noon"),
    ('"hello, world"', "say hello, world"),
    ('"hello, world"', "say hello,world"),
    ('say "hello world", now', "now say hello world"),
    ('"see foo.bar now"', "see foo.bar now"),
    ('"灯 塔"', "灯 塔楼"),
    ('"灯塔 电池"', "大灯塔 电池们"),
    ('"灯塔 lamp"', "大灯塔lamp"),
    ('"foo".bar', 'run "foo".bar'),
    ('"a - b"', "a b"),
    ('"OR" NOT', "not this or that"),
    # operators
    ("x NOT y", "x z"),
    ("a b OR c", "c"),
    ("a b OR c", "b a"),
    ("a OR b NOT c", "a c"),
    ("x NOT y OR x z", "x y z"),
    ('x NOT "y z"', "x z y"),
    ("x NOT 灯塔%", "x 灯塔 塔%"),
    ("OR b", "b or a"),
    ("a NOT", "not a"),
    # scripts without spaces: any part of a run, from one character up, and words glued to it
    *((term, DARK) for term in ("灯塔", "检查", "灯塔电池", "港口检查灯塔", "后", "池", "塔", DARK)),
    ("灯塔 港口 检查", "灯塔和港口都要检查"),
    ("lampd 日志", "请重启lampd服务再看日志"),
    ("重启lampd服", "请重启lampd服务再看日志"),
    ("lampd服务", "请重启lampd 服务再看日志"),
    ("ab", "错误代码ab确认"),
    *((term, STEP) for term in ("itq", "lens-itq", "38", "悬空", "重跑lens-itq后", "跑lens", "2步", "第2", "itq后")),
    *((term, KOREAN) for term in ("등대", "배터리", "교", "했다", "\u1103\u1173\u11bc대")),
    ("灯 cat", "灯塔的 cat 睡着了"),
    ("灯%", "100灯% 灯"),
    ("灯塔%", "灯塔%电池"),
    ("ｶﾞｲﾄﾞ", "旅行ガイドブック"),
    ("イド", "旅行ガイドブック"),
    ("ー", "サーバー"),
    ("นี่", "ที่นี่คือ"),
    ("ㅋㅋ", "ㅋㅋㅠㅠ"),
    ("ကြ", "မြန်မာကြိုး"),
    # one spelling for all
    *((term, "İnşaat bölümü") for term in ("inşaat", "İNŞAAT", "ınsaat", "bolumu")),
    *((term, "Ünlü Çan Şan") for term in ("ünlü", "çan", "şan", "UNLU")),
    *((term, "Die Straße zum Leuchtturm") for term in ("strasse", "STRASSE", "straße", "STRAẞE")),
    *((term, NANG) for term in ("duong", "hai dang", "da nang", "Đà Nẵng")),
    *((term, "كَتَبَ الحارسُ التقريرَ") for term in ("كتب", "الحارس", "كَتَبَ")),
    *((term, "Zu\u0308rich pier") for term in ("Zürich", "Zu\u0308rich", "zurich", "piér")),
    *((term, "light\u200bhouse keep\u00ader \u2060fog\ufeffhorn") for term in ("lighthouse", "keeper", "foghorn", "light\u200bhouse")),
    *((term, "Βορράς άνεμος") for term in ("ΒΟΡΡΑΣ", "βορρασ", "ανεμος")),
    ("５０％", "at 50%"),
    ("oﬃce", "OFFICE"),
    ("north\x00pier", "pier north"),
    # emoji are words
    ("👍", "fine👍🏽"),
    ("👍🏿", "fine 👍"),
    ("👩‍💻", "a 👩‍💻 b"),
    ("💻", "a 👩‍💻 b"),
    ("🇫🇷", "🇩🇪🇫🇷"),
    ("❤️", "i ❤ u"),
    ("ℹ️", "ℹ note"),
    ("ok👍!", "ok👍!"),
]

NOT_FOUND = [
    ("storm-proof", "proof of the storm came later"),
    ("storm-proof", "the storm proof lamp"),
    ("2.14.3", "version 2 has 14 bugs, 3 fixed"),
    ("2.14.3", "2.14 or 14.3"),
    ("2.14 14.3 2.14.3", "2.14 or 14.3"),
    ("12.5", "112.5"),
    ("12.5", "12.55"),
    ("v1.2", "v1 2"),
    ("v1.2", "v1.22"),
    ("v1.2", "v1..2"),
    ("C++", "C"),
    ("C++", "C+ c-+"),
    ("C", "Ca"),
    ("ok?", "ok"),
    ("lamp_max_level", "the lamp was at max level"),
    ("max_level", "maximum lamp"),
    ("text:module", FITS),
    ("session_id:x", FITS),
    ("-text:lamp", FITS),
    ("lamp::fit", "user guide, no role here"),
    ("role:user", "user guide, no role here"),
    ("start -nosuchword", DIM),
    ("tide database migration", "database only"),
    ("don't", "don t"),
    ("c*", "cat c"),
    ("灯*", "灯塔"),
    ("灯_", "灯塔"),
    ("灯%", "进度 50% 灯塔"),
    ("灯%", "灯 %"),
    ("灯塔%", "灯塔 高塔%"),
    ("see lamp.py", "see lamp py"),
    ('"see foo.bar now"', "see foo bar now; foo.bar"),
    ('"at noon"', "noon at"),
    ('"at noon"', "at the noon"),
    ('"hello, world"', "hello world"),
    ('"灯 塔"', "灯塔"),
    ('"lam*"', "lamps"),
    ("x NOT y", "x y"),
    ('x NOT "y z"', "x y z"),
    ("x NOT 灯塔%", "x 灯塔%"),
    ("a b OR c", "a"),
    ("灯塔 港口", "灯塔在北岸"),
    ("灯塔电池", "灯塔 电池"),
    ("灯塔电池", "灯塔。电池"),
    ("塔灯", "灯塔"),
    ("灯塔 cat", "灯塔 concatenate 脚本"),
    ("塔lamp", "lamp塔"),
    ("🇪🇫", "🇩🇪🇫🇷"),
    ("🇩", "🇩🇪"),
    ("🇪", "🇩🇪"),
    ("ℹ️", "i"),
    ("a.灯灯.b", "a.灯.b"),
    ("lamp", "lamps"),
    ("north\x00pier", "northpier"),
]


@pytest.mark.parametrize(("query", "text"), FOUND)
def test_a_query_finds_the_texts_that_hold_what_was_typed(query, text):
    assert finds(query, text)


@pytest.mark.parametrize(("query", "text"), NOT_FOUND)
def test_a_query_finds_no_text_that_does_not(query, text):
    assert not finds(query, text)


@pytest.mark.parametrize("sign", [sign for sign in string.punctuation + "—…·→§€×。、「" if sign != "*"])
def test_every_sign_is_literal_inside_a_term_and_at_its_end_and_nothing_before_it(sign):
    assert finds(f"lamp{sign}fit", f"the lamp{sign}fit is")
    assert finds(f"fit lamp{sign}", f"lamp{sign} fit")
    assert finds(f"{sign}lamp", "a lamp")
    assert not finds(f"lamp{sign}fit", "lamp fit lampfit")
    assert not finds(f"lamp{sign} fit", "lamp fit")


INTERPRETED = [
    ('ferry "at noon"', 'ferry AND "at noon"'),
    ("a b OR c", "(a AND b) OR c"),
    ("x NOT y", "x NOT y"),
    ("a OR b NOT c NOT d", "a OR (b NOT c NOT d)"),
    ("Ferry  word*", "Ferry AND word*"),
    ("a a A b a", "a AND b"),
    ("OR b", '"OR" AND b'),
    ("a OR", 'a AND "OR"'),
    ("NOT a", '"NOT" AND a'),
    ("a OR OR b", 'a OR ("OR" AND b)'),
    ("a NOT OR b", 'a AND b NOT "OR"'),
    ("a OR - NOT b", 'a OR ("NOT" AND b)'),
    ("a AND b", 'a AND "AND" AND b'),
    ("a or b not c", "a AND or AND b AND not AND c"),
    ("c* é* 灯*", '"c*" AND "é*" AND "灯*"'),
    ("ab* 灯塔*", "ab* AND 灯塔*"),
    ("#417 (--flag C++", "417 AND flag AND C++"),
    ('"lens', "lens"),
    ('" a  b "', '"a b"'),
    ('say "hello world", now', 'say AND "hello world" AND now'),
    ('a - ! "" b', "a AND b"),
    ('"foo"bar baz"', '"foo"bar baz"'),
    ('"a" "b"', '"a" AND "b"'),
]


@pytest.mark.parametrize(("query", "interpreted"), INTERPRETED)
def test_a_query_says_how_it_was_understood(query, interpreted):
    assert parse(query).interpreted == interpreted


@pytest.mark.parametrize("query", ["", " ", "\n\x00\t", "\u3000"])
def test_an_empty_query_is_refused_as_such(query):
    with pytest.raises(BadQuery, match="empty"):
        parse(query)


@pytest.mark.parametrize("query", ['"', '""', "％", "* ? !", "\u200b", "\u0301", "->", "�", "\ue000", "§"])
def test_a_query_without_letter_digit_or_emoji_is_refused_as_such(query):
    with pytest.raises(BadQuery, match="nothing searchable"):
        parse(query)


def test_a_query_may_have_4096_characters_and_no_more():
    assert parse("é" * MAX_CHARACTERS).words == 1

    with pytest.raises(BadQuery, match=r"4,097 characters; at most 4,096"):
        parse("a" * (MAX_CHARACTERS + 1))


LARGE = {
    "2,000 words of one letter": " ".join(chr(0x4E00 + number) for number in range(2000)),
    "the same word 2,000 times": "a " * 2000,
    "operators between all words": " ".join(f"{chr(0x4E00 + number)} {'OR' if number % 2 else 'NOT'}" for number in range(700)) + " a",
    "as many groups as fit": " OR ".join(chr(0x4E00 + number) for number in range(800)),
    "as many exclusions as fit": " NOT ".join(chr(0x4E00 + number) for number in range(600)),
    "one run": "".join(chr(0x4E00 + number) for number in range(4096)),
    "one chain of joints": "a." * 2048,
    "quotes": '"a" ' * 1000,
    "nothing but quotes and letters": '"a' * 2048,
    "one long phrase": '"' + "a " * 2000 + '"',
    "signs": "a" + "?" * 4095,
    "stars": "ab* " * 1000,
}


@pytest.mark.parametrize("query", LARGE.values(), ids=LARGE)
def test_a_query_of_any_make_stays_within_what_sqlite_takes(query):
    index = TextIndex()
    index.add(query)

    parsed = parse(query)

    assert index.found(parsed.match_all()) in ([], [1])
    assert parsed.holds(analyse(query)) in (True, False)
    assert parsed.interpreted


def test_two_thousand_different_words_are_all_wanted():
    words = [chr(0x4E00 + number) for number in range(2000)]
    index = TextIndex()
    index.add(" ".join(words))
    index.add(" ".join(words[:-1]))

    assert index.found(parse(" ".join(words)).match_all()) == [1]


PLACES = [
    ("lamp", "a lamp, LAMP lamps", ["lamp", "LAMP"]),
    ("lam*", "a lamp, lamination", ["lamp", "lamination"]),
    ("C++", "C C++, c++17", ["C++", "c++"]),
    ("lib/lamp.py", "lib lib/lamp.py.", ["lib/lamp.py"]),
    ("lib/la*", "lib/lamps.py", ["lib/lamps"]),
    ('"at noon"', "at noon, at: noon at", ["at noon", "at: noon"]),
    ("灯", "灯塔灯", ["灯", "灯"]),
    ("灯灯", "灯灯灯", ["灯灯", "灯灯"]),
    ("x灯", "x灯塔 x 灯", ["x灯", "x 灯"]),
    ("灯塔%", "灯塔 灯塔%", ["灯塔%"]),
    ("a.a", "a.a.a", ["a.a", "a.a"]),
    ("👍", "👍🏽👍", ["👍🏽", "👍"]),
    ("🇫🇷", "🇩🇪🇫🇷", ["🇫🇷"]),
    ("zurich", "Zu\u0308rich", ["Zu\u0308rich"]),
    ("keeper", "keep\u00ader", ["keep\u00ader"]),
    ("fi*", "ﬁle", ["ﬁle"]),
    ("it's", "it’s it s", ["it’s"]),
    ("ม", "กำ มา", ["ม"]),
]


@pytest.mark.parametrize(("query", "text", "places"), PLACES)
def test_a_term_says_where_it_stands(query, text, places):
    (term,) = parse(query).terms

    assert [text[start:end] for start, end in term.spans(analyse(text))] == places


def test_no_phrase_and_no_joint_reaches_across_a_mask():
    text = "north [redacted:x] south key=[redacted:x]tail"
    masks = [(6, 18), (29, 41)]

    assert finds("north south key= tail", text, masks)
    assert not finds('"north south"', text, masks)
    assert not finds("key=tail", text, masks)
    assert not finds("redacted", text, masks)


def test_a_term_that_touches_a_secret_stands_nowhere_and_is_not_shown():
    query = parse('deploy key=hunter "the hunter2" NOT hunter3', [(11, 17), (23, 30), (36, 43)])
    text = "deploy key=hunter the hunter2"
    index = TextIndex()
    index.add(text)

    assert query.interpreted == "deploy AND [redacted] AND [redacted] NOT [redacted]"
    assert query.words == parse('deploy word "a phrase" NOT other').words
    assert index.found(query.match_all()) == []
    assert not query.holds(analyse(text))
    assert [term.nowhere for term in query.terms] == [False, True, True]
    assert all(term.loose() is term and term.spans(analyse(text)) == [] for term in query.terms if term.nowhere)


def test_excluding_a_secret_excludes_nothing():
    query = parse("deploy NOT hunter2", [(11, 18)])
    index = TextIndex()
    index.add("deploy hunter2")

    assert index.found(query.match_all()) == [1]
    assert query.holds(analyse("deploy hunter2"))


LOOSE = [
    ("lamp?", "lamp"),
    ("lamp...", "lamp"),
    ("lamp…", "lamp"),
    ("lamp)?!", "lamp"),
    ("lamp.”", "lamp"),
    ("灯塔？", "灯塔"),
    ("灯塔。」", "灯塔"),
    ("lib/lamp.py,", "lib/lamp.py"),
    ("C++?", "C++"),
    ("C++", "C++"),
    ("50%", "50%"),
    ("it's", "it's"),
    ("lam*", "lam*"),
    ('"at noon?"', '"at noon?"'),
]


@pytest.mark.parametrize(("typed", "loose"), LOOSE)
def test_a_loose_term_is_without_the_punctuation_of_its_sentence(typed, loose):
    (term,) = parse(typed).terms

    assert term.loose().match == parse(loose).terms[0].match


def test_what_an_expression_cannot_tell_apart_is_checked_on_the_text():
    assert parse("灯塔%").checked
    assert parse('"see lamp.py"').checked
    assert parse("a NOT 灯塔%").checked
    assert not parse('lib/lamp.py C++ 灯% "at noon" 灯塔电池 lampd服务').checked


def test_a_piece_is_a_row_of_tokens_of_its_column():
    (term,) = parse('"see lib/lamp.py, now"').terms

    assert [(piece.column, piece.needle, piece.open_end) for piece in term.pieces] == [
        ("text", "see lib lamp py now", False),
        ("parts", "lib/lamp lamp.py py,", True),
    ]
