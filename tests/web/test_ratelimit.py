"""Who asks too often gets a 429 that says when to come back; time is passed in, or frozen where it is the door's own."""

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from freezegun import freeze_time
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.config import Settings, read_settings
from shared.errors import BadSettings
from shared.tokens import revoke_token, verify_token
from tests.web.conftest import Visitor, services_of, visitor
from web import create_app
from web.ratelimit import BYTES, SLOTS, WAYS, Limiter

SECOND = 1_000_000
LIST = "/v1/sessions/list?callerAgent=ada&callerSession=k"


def limiter(a_minute: int, memory: memoryview | None = None) -> Limiter:
    return Limiter(memoryview(bytearray(BYTES)) if memory is None else memory, a_minute)


# -- the table


def test_a_minutes_worth_may_come_at_once_and_then_one_at_a_time():
    limit = limiter(60)

    at_once = [limit.take("a", 0) for _ in range(61)]
    after_one_second = [limit.take("a", SECOND) for _ in range(2)]

    assert at_once == [0] * 60 + [1]
    assert after_one_second == [0, 1]


def test_the_wait_that_is_told_is_enough_and_no_longer_than_needed():
    limit = limiter(6)  # one in ten seconds
    for _ in range(6):
        limit.take("a", 0)

    wait_s = limit.take("a", 3 * SECOND)

    assert wait_s == 7
    assert limit.take("a", 3 * SECOND + (wait_s - 1) * SECOND) == 1
    assert limit.take("a", 3 * SECOND + wait_s * SECOND) == 0


def test_what_is_refused_costs_nothing():
    limit = limiter(2)
    for _ in range(100):
        limit.take("a", 0)

    assert limit.take("a", 30 * SECOND) == 0


def test_keys_do_not_share_a_limit():
    limit = limiter(1)

    assert [limit.take(key, 0) for key in ("a", "b", "a", "\ud800")] == [0, 0, 60, 0]


def test_0_is_no_limit():
    limit = limiter(0)

    assert {limit.take("a", 0) for _ in range(10_000)} == {0}


def test_looking_counts_nothing_and_a_key_can_be_forgotten():
    limit = limiter(1)
    assert limit.wait_s("a", 0) == 0 and not limit.knows("a")
    limit.take("a", 0)

    assert (limit.wait_s("a", 0), limit.knows("a")) == (60, True)
    limit.forget("a")
    assert (limit.wait_s("a", 0), limit.knows("a")) == (0, False)


def test_two_processes_that_share_the_memory_share_the_limit():
    memory = memoryview(mmap.mmap(-1, BYTES))
    one, other = limiter(4, memory), limiter(4, memory)

    assert [one.take("a", 0), other.take("a", 0), one.take("a", 0), other.take("a", 0), one.take("a", 0)] == [0, 0, 0, 0, 15]


def test_very_many_keys_take_no_more_memory_and_the_busy_ones_are_remembered():
    limit = limiter(2)
    for _ in range(2):
        limit.take("busy", 3600 * SECOND)

    for number in range(SLOTS * 2):  # each is soon paid for
        limit.take(f"guest {number}", number)

    assert limit.take("busy", 3600 * SECOND) > 0
    assert len(limit._cells) * 8 == BYTES
    assert WAYS < SLOTS


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 1_000_000), st.lists(st.integers(0, 10 * SECOND), min_size=1, max_size=200))
def test_no_more_than_a_minutes_worth_passes_beyond_the_rate(a_minute: int, pauses: list[int]):
    limit, at_us, passed = limiter(a_minute), 5, 0

    for pause_us in pauses:
        at_us += pause_us
        passed += limit.take("a", at_us) == 0

    assert passed <= a_minute + 1 + (at_us - 5) * a_minute / (60 * SECOND)
    assert passed == len(pauses) or passed >= a_minute


# -- the door


@pytest.fixture
def app_with(tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    made: list[Flask] = []

    def make(**limits: int) -> Flask:
        made.append(create_app(Settings(data=tmp_path / "data", synchronous="NORMAL", **limits)))
        return made[-1]

    yield make
    for app in made:
        services_of(app).close()


def test_a_token_over_its_limit_gets_a_429_that_says_when_to_come_back(app_with: Callable[..., Flask]):
    app = app_with(rate_limit=3)
    busy, calm = visitor(app, "platform"), visitor(app, "platform")

    with freeze_time("2026-11-30 10:00:00") as clock:
        statuses = [busy.get("/openapi.json").status_code for _ in range(4)]
        refused = busy.ask("GET", LIST)
        other = calm.ask("GET", LIST)
        clock.tick(int(refused.headers["Retry-After"]))
        later = busy.ask("GET", LIST)

    assert statuses == [200, 200, 200, 429]
    assert refused.mimetype == "application/problem+json"
    assert refused.get_json()["type"] == "urn:session-search:problem:too-many-requests"
    assert refused.get_json()["detail"] == "A token may ask 3 times a minute. Ask again in 20 s."
    assert refused.headers["Retry-After"] == "20"
    assert (other.status_code, later.status_code) == (200, 200)


def test_a_refused_write_stores_nothing(app_with: Callable[..., Flask]):
    app = app_with(rate_limit=1)
    platform = visitor(app, "platform")
    body = {"agentId": "ada", "sessionKey": "agent:ada:main"}
    platform.get("/openapi.json")

    assert platform.post("/v1/sessions/put", body).status_code == 429
    assert services_of(app).store.agent_ids() == []


def test_healthz_is_never_limited(app_with: Callable[..., Flask]):
    app = app_with(rate_limit=1, failure_limit=1)
    wrong = Visitor(app.test_client(use_cookies=False), "wrong")

    statuses = {wrong.get("/healthz").status_code for _ in range(20)}

    assert statuses == {200}


def test_a_signed_in_person_is_limited_as_their_token_is(app_with: Callable[..., Flask]):
    app = app_with(rate_limit=2)
    operator, browser = visitor(app, "operator"), app.test_client()

    with freeze_time("2026-11-30 10:00:00"):
        browser.post("/login", data={"token": operator.token})
        statuses = [browser.get("/docs").status_code, operator.get("/openapi.json").status_code, browser.get("/docs").status_code]
        page = browser.get("/docs")

    assert statuses == [200, 200, 429]
    assert page.mimetype == "text/html" and page.headers["Retry-After"]


@pytest.mark.parametrize("way", ["header", "no bearer", "form"])
def test_wrong_credentials_are_limited_by_address_and_a_guess_beyond_is_not_looked_at(app_with: Callable[..., Flask], way: str):
    app = app_with(failure_limit=5)
    right = visitor(app, "operator").token
    client = app.test_client(use_cookies=False)

    def send(token: str | None, peer: str = "203.0.113.7"):
        where = {"REMOTE_ADDR": peer}
        if way == "form":
            return client.post("/login", data={"token": token}, environ_overrides=where)
        scheme = "Bearer" if way == "header" or token == right else "Basic"
        return client.get("/v1/ops/agents", headers={"Authorization": f"{scheme} {token}"}, environ_overrides=where)

    with freeze_time("2026-11-30 10:00:00") as clock:
        statuses = [send(f"guess{n}").status_code for n in range(7)]
        right_guess = send(right)
        elsewhere = send(right, "203.0.113.8")
        clock.tick(12)
        later = send("guess")

    assert statuses == [401] * 5 + [429] * 2
    assert right_guess.status_code == 429 and right_guess.headers["Retry-After"] == "12"
    assert elsewhere.status_code < 429
    assert later.status_code == 401


def test_who_was_right_lately_is_not_locked_out_by_others_at_the_same_address(app_with: Callable[..., Flask]):
    app = app_with(failure_limit=2)
    platform, wrong = visitor(app, "platform"), Visitor(app.test_client(use_cookies=False), "wrong")
    platform.get("/openapi.json")

    guesses = [wrong.get("/openapi.json").status_code for _ in range(4)]

    assert guesses == [401, 401, 429, 429]
    assert platform.get("/openapi.json").status_code == 200


def test_a_revoked_token_is_a_wrong_credential_like_any_other(app_with: Callable[..., Flask]):
    app = app_with(failure_limit=2)
    here, platform = services_of(app), visitor(app, "platform")
    platform.get("/openapi.json")
    revoke_token(here.store, verify_token(here.store, platform.token or "", here.now_ms()).token_id, here.now_ms())

    assert [platform.get("/openapi.json").status_code for _ in range(4)] == [401, 401, 429, 429]


def test_one_network_of_ipv6_counts_as_one_address(app_with: Callable[..., Flask]):
    client = app_with(failure_limit=3).test_client(use_cookies=False)

    def guess(peer: str) -> int:
        return client.get(LIST, headers={"Authorization": "Bearer guess"}, environ_overrides={"REMOTE_ADDR": peer}).status_code

    assert [guess(f"2001:db8::{n:x}") for n in range(1, 6)] == [401, 401, 401, 429, 429]
    assert guess("2001:db8:0:1::1") == 401
    assert [guess("::ffff:203.0.113.9"), guess("203.0.113.9"), guess("::ffff:203.0.113.9"), guess("203.0.113.9")] == [401, 401, 401, 429]
    assert guess("") == 401


def test_no_credential_at_all_is_no_guess(app_with: Callable[..., Flask]):
    client = app_with(failure_limit=1).test_client(use_cookies=False)

    assert {client.get(LIST).status_code for _ in range(5)} == {401}


@pytest.mark.parametrize("name", ["RATE_LIMIT", "FAILURE_LIMIT"])
def test_limits_are_whole_numbers_up_to_a_million(name: str):
    assert getattr(read_settings({f"SESSION_SEARCH_{name}": "0"}), name.lower()) == 0
    with pytest.raises(BadSettings, match="a whole number from 0 to 1000000"):
        read_settings({f"SESSION_SEARCH_{name}": "1000001"})
