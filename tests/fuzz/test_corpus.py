"""What fuzzing found out stays true: every input of the corpus is taken as promised."""

import pytest

from tests.fuzz import files
from tests.fuzz.targets import CORPUS, TARGETS, corpus

INPUTS = [(name, path) for name in TARGETS for path in corpus(name)]


@pytest.mark.parametrize(("name", "path"), INPUTS, ids=[f"{name}/{path.name}" for name, path in INPUTS])
def test_an_input_of_the_corpus_breaks_no_promise(name, path, monkeypatch):
    monkeypatch.setattr(files, "STORED_EVERY", 1)

    TARGETS[name](path.read_bytes())


def test_every_target_has_a_corpus_and_all_of_it_is_small():
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 200_000
