"""Queries are drawn from the corpus' own words, each class by its frequency."""

import json
from pathlib import Path

import pytest

from bench import queries
from bench.corpus import Corpus
from bench.ground import Ground, Options
from bench.raw import Raw

MESSAGES = 4_000


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory):
    ground = Ground(Options(messages=MESSAGES), tmp_path_factory.mktemp("queries"))
    yield ground.raw
    ground.close()


def drawn(raw: Raw) -> dict[str, list[queries.Asked]]:
    return queries.draw(raw, MESSAGES, 10, 1)


def test_the_same_seed_draws_the_same_queries_and_every_class_has_some(raw: Raw):
    found = drawn(raw)

    assert found == drawn(raw)
    assert [name for name, asked in found.items() if not asked] == []


def test_rare_words_are_rare_common_ones_common_and_a_missing_one_is_nowhere(raw: Raw):
    found = drawn(raw)

    assert all(2 <= raw.count(one.raw or "") <= 10 for one in found["rare"])
    assert min(raw.count(one.raw or "") for one in found["commonest"]) > max(raw.count(one.raw or "") for one in found["common"])
    assert all(raw.count(one.raw or "") == 0 for one in found["no hit"])


def test_two_words_and_phrases_match_often_and_a_rare_phrase_of_common_words_seldom(raw: Raw):
    found, many = drawn(raw), MESSAGES // 500

    assert all(raw.count(one.raw or "") >= many for one in [*found["two words"], *found["phrase"]])
    assert all(raw.count(one.raw or "") == 1 for one in found["rare phrase"])


@pytest.mark.parametrize(("name", "length"), [("one CJK", 1), ("two CJK", 2), ("four CJK", 4)])
def test_characters_are_cut_from_runs_that_stand_in_the_corpus(raw: Raw, name: str, length: int):
    texts = list(raw.texts(range(1, raw.rows() + 1)))

    for asked in drawn(raw)[name]:
        assert len(asked.text) == length
        assert any(asked.text in text for text in texts)


def test_the_rows_beside_ours_are_the_searchable_texts_of_the_corpus(tmp_path: Path):
    ground = Ground(Options(messages=1_000), tmp_path)
    lines = (ground.files(Corpus(1_000, 1)) / "rows.jsonl").read_text("utf-8").splitlines()

    assert [json.loads(line) for line in lines] == [entry.text for s in Corpus(1_000, 1).sessions() for entry in s.entries if entry.active and entry.text]
