"""Registered secrets: masked from the next request on, never in the index under strict, never given out."""

import pytest

from shared.errors import BadRequest, NotFound
from shared.secrets import add_secret, remove_secret, secret_names
from tests.conftest import Session

SECRET = "harbour gate code nine"


def test_a_registered_secret_is_masked_at_once_and_unfindable_though_it_was_indexed_before(agent: Session) -> None:
    agent.append("a", f"the word is {SECRET} for today")
    assert agent.found("harbour") == ["a"]

    add_secret(agent.world.store, "gate", SECRET)
    shown = agent.search("today")

    assert shown["indexing"] is True
    assert "harbour" not in shown["results"][0]["excerpt"] and shown["results"][0]["redacted"] == 1
    assert agent.search("harbour", match="all")["results"] == []
    agent.reconcile()
    assert agent.found("harbour") == [] and agent.found("today") == ["a"]
    assert agent.search("today")["indexing"] is False


def test_a_removed_secret_is_found_again_once_the_index_has_followed(agent: Session) -> None:
    add_secret(agent.world.store, "gate", SECRET)
    agent.append("a", f"the word is {SECRET} for today")

    remove_secret(agent.world.store, "gate")
    agent.search("today")
    agent.reconcile()

    assert agent.found("harbour") == ["a"]


def test_only_the_names_of_secrets_are_given_out(agent: Session) -> None:
    add_secret(agent.world.store, "gate", SECRET)
    add_secret(agent.world.store, "alarm", "another text")

    assert secret_names(agent.world.store) == ["alarm", "gate"]


@pytest.mark.parametrize(("name", "value", "field"), [("", SECRET, "name"), ("a b", SECRET, "name"), ("gate", "short", "value")])
def test_a_secret_that_would_mask_ordinary_words_or_has_no_name_is_refused(agent: Session, name: str, value: str, field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        add_secret(agent.world.store, name, value)

    assert refused.value.field == field


def test_removing_an_unknown_secret_says_so(agent: Session) -> None:
    with pytest.raises(NotFound):
        remove_secret(agent.world.store, "gate")
