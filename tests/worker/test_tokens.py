"""Credentials: what each kind may be, that only a hash is kept, that a revoked one is refused at once and everywhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.config import Settings
from shared.errors import BadRequest, NotFound, Unauthorised
from shared.store import Store, open_store
from shared.tokens import credential_by_id, issue_token, list_tokens, revoke_token, ttl_ms, verify_token
from shared.visibility import Caller

NOW = 1_800_000_000_000
HOUR = 3_600_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(Settings(data=tmp_path / "data"))
    yield store
    store.close()


def test_each_kind_is_told_from_its_token(store):
    platform = issue_token(store, "platform", NOW)
    agent = issue_token(store, "agent", NOW, agent_id="ada", session_key="agent:ada:main", sandboxed=True)
    operator = issue_token(store, "operator", NOW, read_only=True)

    found = [verify_token(store, made.text, NOW) for made in (platform, agent, operator)]

    assert [one.kind for one in found] == ["platform", "agent", "operator"]
    assert [one.caller for one in found] == [None, Caller("ada", "agent:ada:main", sandboxed=True), None]
    assert [one.read_only for one in found] == [False, False, True]
    assert [one.token_id for one in found] == [platform.token_id, agent.token_id, operator.token_id]


def test_tokens_are_recognisable_random_and_nowhere_in_the_files(store):
    made = [issue_token(store, "platform", NOW) for _ in range(20)]
    store.close()

    assert len({one.text for one in made}) == 20
    assert all(one.text.startswith("sst_") and len(one.text) == 47 for one in made)
    written = b"".join(path.read_bytes() for path in store.settings.data.rglob("*") if path.is_file())
    assert not any(one.text[4:].encode() in written for one in made)


@pytest.mark.parametrize("text", ["", "sst_", "sst_wrong", "Bearer x", "\x00", "\ud800", "日本" * 1000])
def test_what_is_no_token_is_refused(store, text):
    issue_token(store, "platform", NOW)

    with pytest.raises(Unauthorised):
        verify_token(store, text, NOW)


def test_a_token_is_refused_when_its_time_is_over(store):
    made = issue_token(store, "platform", NOW, ttl_ms=HOUR)

    assert verify_token(store, made.text, NOW + HOUR - 1).kind == "platform"
    with pytest.raises(Unauthorised):
        verify_token(store, made.text, NOW + HOUR)
    assert credential_by_id(store, made.token_id, NOW + HOUR) is None


def test_a_revoked_token_is_refused_at_once_also_by_a_process_that_used_it(store, tmp_path):
    made = issue_token(store, "platform", NOW)
    other = open_store(Settings(data=tmp_path / "data"))
    assert verify_token(other, made.text, NOW).token_id == made.token_id
    assert credential_by_id(other, made.token_id, NOW) is not None

    revoke_token(store, made.token_id, NOW)

    with pytest.raises(Unauthorised):
        verify_token(other, made.text, NOW)
    assert credential_by_id(other, made.token_id, NOW) is None
    other.close()


def test_the_list_tells_everything_but_the_token(store):
    made = issue_token(store, "agent", NOW, agent_id="ada", session_key="k", ttl_ms=HOUR, label="nightly")
    revoke_token(store, made.token_id, NOW + 1)
    revoke_token(store, made.token_id, NOW + 2)  # again changes nothing

    (row,) = list_tokens(store)

    assert row == {
        "id": made.token_id,
        "kind": "agent",
        "agentId": "ada",
        "sessionKey": "k",
        "sandboxed": False,
        "readOnly": False,
        "label": "nightly",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "expiresAt": "2027-01-15T09:00:00.000Z",
        "revokedAt": "2027-01-15T08:00:00.001Z",
    }
    with pytest.raises(NotFound):
        revoke_token(store, "nobody", NOW)


@pytest.mark.parametrize(
    ("kind", "fields", "named"),
    [
        ("agent", {}, "agentId"),
        ("agent", {"agent_id": "ada"}, "sessionKey"),
        ("agent", {"agent_id": "../x", "session_key": "k"}, "agentId"),
        ("agent", {"agent_id": "ada", "session_key": "k" * 513}, "sessionKey"),
        ("platform", {"agent_id": "ada"}, "agentId"),
        ("operator", {"sandboxed": True}, "agentId"),
        ("platform", {"read_only": True}, "readOnly"),
        ("platform", {"label": "x" * 101}, "label"),
        ("root", {}, "kind"),
    ],
)
def test_fields_that_do_not_belong_to_a_kind_are_refused_by_name(store, kind, fields, named):
    with pytest.raises(BadRequest) as refused:
        issue_token(store, kind, NOW, **fields)

    assert refused.value.field == named
    assert list_tokens(store) == []


@pytest.mark.parametrize(("text", "ms"), [("90s", 90_000), ("30m", 1_800_000), ("1h", HOUR), ("7d", 168 * HOUR)])
def test_a_time_to_live_is_a_number_with_its_unit(text, ms):
    assert ttl_ms(text) == ms


@pytest.mark.parametrize("text", ["", "1", "h", "0h", "-1h", "1.5h", "1w", "1h ", "１h", "9999999d"])
def test_a_time_to_live_without_sense_is_refused(text):
    with pytest.raises(BadRequest, match="ttl"):
        ttl_ms(text)
