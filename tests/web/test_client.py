"""The Python client against the real application over HTTP: every verb, every page, and what goes wrong on the way."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from shared.client import NotIndexed, Problem, SessionSearch, Unreachable, Wire
from shared.config import Settings
from shared.tokens import issue_token
from tests.conftest import message
from tests.web.conftest import services_of
from web import create_app
from worker.reconcile import reconcile_session

ADA: Any = {"agentId": "ada", "sessionKey": "agent:ada:main"}
KEY = ("ada", "agent:ada:main")


class Quiet(WSGIRequestHandler):
    """Keeps connections, as the real server does, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *arguments: Any) -> None:
        pass


@dataclass
class Service:
    """The application behind a real socket, and trouble that is put before it, one for each of the next requests."""

    app: Flask
    trouble: list[str] = field(default_factory=list)
    seen: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        self.seen.append((environ["PATH_INFO"], environ.get("HTTP_IDEMPOTENCY_KEY")))
        what = self.trouble.pop(0) if self.trouble else ""
        if what.isdigit():
            environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            start(f"{what} Trouble", [("Content-Length", "0"), ("Retry-After", "0")])
            return [b""]
        answer = list(self.app(environ, start))
        if what == "lost":  # done, and nobody hears of it
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return answer

    def client(self, kind: Any = "platform", caller: Any = ADA, **named: Any) -> SessionSearch:
        here = services_of(self.app)
        return SessionSearch(self.address, issue_token(here.store, kind, here.now_ms(), **named).text, caller=caller)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(create_app(Settings(data=tmp_path / "data", synchronous="NORMAL")))
    server = make_server("127.0.0.1", 0, made, threaded=True, request_handler=Quiet)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()
    services_of(made.app).close()


def test_a_session_is_written_read_and_deleted(service: Service):
    with service.client() as sessions:
        made = sessions.put(*KEY, title="Ferry plans", spawnedBy=None)
        stored = sessions.append(*KEY, [message("e1", "When does the ferry leave?"), message("e2", "At noon.", "assistant")])
        hit = sessions.search("ferry", role="user")["results"][0]
        around = sessions.history("agent:ada:main", messageId=hit["messageId"], limit=1)
        rewound = sessions.rewind(*KEY, "e1")
        later = sessions.search("noon")
        reset = sessions.reset(*KEY, new_session_id="second")
        listed = sessions.list(scope="self")["sessions"]
        sessions.delete(*KEY)

        assert (made["title"], stored["appended"], hit["excerpt"]) == ("Ferry plans", 2, "When does the ferry leave?")
        assert [one["id"] for one in around["messages"]] == ["e1"]
        assert rewound["pending"] and later["indexing"] and later["results"] == []
        assert (reset, listed[0]["sessionId"]) == ("second", "second")
        assert sessions.list()["sessions"] == []


def test_pages_are_turned_to_the_last(service: Service):
    with service.client() as sessions:
        sessions.append(*KEY, [message(f"e{n}", f"ferry {n}") for n in range(7)])
        for n in range(3):
            sessions.put("ada", f"agent:ada:child{n}", spawnedBy="agent:ada:main")

        assert sorted(hit["messageId"] for hit in sessions.hits("ferry", limit=2)) == [f"e{n}" for n in range(7)]
        assert [one["id"] for one in sessions.messages("agent:ada:main", limit=3)] == [f"e{n}" for n in reversed(range(7))]
        assert len({one["sessionKey"] for one in sessions.sessions(limit=1)}) == 4


def test_a_refusal_is_an_error_with_its_kind_and_field(service: Service):
    with service.client() as sessions, service.client("agent", None, agent_id="ada", session_key="agent:ada:main") as agent:
        with pytest.raises(Problem, match="nothing searchable") as bad:
            sessions.search("...")
        with pytest.raises(Problem) as hidden:
            agent.history("agent:bob:main")
        with pytest.raises(Problem) as forbidden:
            agent.append(*KEY, [message("e1", "x")])

    assert (bad.value.status, bad.value.kind, bad.value.field) == (422, "bad-query", "query")
    assert [(one.value.status, one.value.kind) for one in (hidden, forbidden)] == [(404, "not-found"), (403, "forbidden")]
    assert len(service.seen) == 3


@pytest.mark.parametrize("status", ["429", "503"])
def test_what_is_refused_for_now_is_asked_again(service: Service, status: str):
    service.trouble = [status, status]

    with service.client() as sessions:
        assert sessions.list()["sessions"] == []

    assert len(service.seen) == 3


def test_it_is_asked_again_a_few_times_at_most(service: Service):
    service.trouble = ["503"] * 9

    with service.client() as sessions, pytest.raises(Problem) as refused:
        sessions.list()

    assert (refused.value.status, refused.value.kind, str(refused.value)) == (503, "", "the service answered 503")
    assert len(service.seen) == 4


@pytest.mark.parametrize("status", ["500", "502", "401"])
def test_other_failures_are_not_asked_again(service: Service, status: str):
    service.trouble = [status]

    with service.client() as sessions, pytest.raises(Problem):
        sessions.list()

    assert len(service.seen) == 1


@pytest.mark.parametrize("status", ["200", "204", "302"])
def test_an_answer_of_somebody_else_is_an_error_of_this_client(service: Service, status: str):
    """A proxy's page, whatever its status, came out as a JSONDecodeError."""
    service.trouble = [status]

    with service.client() as sessions, pytest.raises(Problem) as refused:
        sessions.list()

    assert (refused.value.status, refused.value.document) == (int(status), {})


def test_an_append_whose_answer_was_lost_is_stored_once(service: Service):
    service.trouble = ["lost", "lost"]

    with service.client() as sessions:
        stored = sessions.append(*KEY, [{"type": "message", "message": {"role": "user", "content": "ferry"}}])

        assert (stored["appended"], stored["seq"]) == (1, 1)
        assert len(list(sessions.hits("ferry"))) == 1
    keys = {key for path, key in service.seen if path.endswith("append")}
    assert len(keys) == 1 and None not in keys


def test_a_deletion_or_reset_whose_answer_was_lost_is_not_done_again(service: Service):
    with service.client() as sessions:
        sessions.put(*KEY)
        for act in (lambda: sessions.reset(*KEY), lambda: sessions.delete(*KEY)):
            before = len(service.seen)
            service.trouble = ["lost"]
            with pytest.raises(Unreachable):
                act()
            assert len(service.seen) == before + 1


def test_nobody_at_the_address_is_said(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

        with SessionSearch(f"http://127.0.0.1:{port}", "t") as sessions, pytest.raises(Unreachable, match="does not answer"):
            sessions.list()


@pytest.mark.parametrize("address", ["", "127.0.0.1:8321", "ftp://127.0.0.1", "http://", "http://127.0.0.1:port"])
def test_what_is_no_address_is_refused(address: str):
    with pytest.raises(ValueError):
        Wire(address, 1.0)


def test_waiting_ends_when_the_sessions_are_whole(service: Service):
    with service.client() as sessions:
        sessions.append(*KEY, [message("e1", "ferry"), message("e2", "noon")])
        sessions.rewind(*KEY, "e1")
        here = services_of(service.app)
        later = threading.Timer(0.3, lambda: reconcile_session(here.store, *KEY, "w1", here.now_ms, lambda: None))
        later.start()

        sessions.wait_until_indexed(timeout_s=20)

        assert not sessions.search("ferry")["indexing"]
        later.join()


def test_waiting_has_an_end(service: Service):
    with service.client() as sessions:
        sessions.append(*KEY, [message("e1", "ferry"), message("e2", "noon")])
        sessions.rewind(*KEY, "e1")
        began_s = time.monotonic()

        with pytest.raises(NotIndexed, match="1 session is being indexed"):
            sessions.wait_until_indexed(timeout_s=1.5, sessionKey="agent:ada:main")

        assert time.monotonic() - began_s < 1.5
