"""The served process: what is too malformed to reach the application gets an answer of the same form, and leaves one clean log line."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from shared.store import open_store
from shared.tokens import issue_token
from tests.web.conftest import settings_for

HEADS = "Host: localhost\r\n"


class Served:
    """A server on a port of its own, with its log."""

    environ: ClassVar[dict[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        store = open_store(settings_for(folder))
        self.token = issue_token(store, "platform", 0).text
        store.close()
        self.log, self.data = folder / "log", folder / "data"
        environ = {**os.environ, "SESSION_SEARCH_DATA": str(self.data), "SESSION_SEARCH_PORT": str(self.port), **self.environ}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "-c", "python:web.serving"],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def await_start(self) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if " 200 " in self.send(f"GET /healthz HTTP/1.1\r\n{HEADS}Connection: close\r\n\r\n").splitlines()[0]:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def send(self, request: str | bytes) -> str:
        """Sends bytes as they are and reads until the server ends the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as there:
            there.sendall(request.encode("latin-1") if isinstance(request, str) else request)
            there.shutdown(socket.SHUT_WR)
            answer = b""
            while part := there.recv(65536):
                answer += part
        return answer.decode("latin-1")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("served"))
    served.await_start()
    yield served
    assert served.end() == 0
    lines = served.log.read_text().splitlines()
    assert lines
    assert all(json.loads(line)["time"] for line in lines)
    assert not any("fake entry" in line or "Traceback" in line for line in lines)


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (f"GET /healthz HTTP/1.1\r\n{HEADS}\r\n", 200),
        ("GET /healthz HTTP/1.1\r\n\r\n", 421),
        (f"GET /healthz HTTP/1.1\r\n{HEADS}Host: evil.example\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nHost: xn--localhost-.example\r\n\r\n", 421),
        ("GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n", 421),
        (f"GET http://evil.example/healthz HTTP/1.1\r\n{HEADS}\r\n", 421),
        (f"get /healthz HTTP/1.1\r\n{HEADS}\r\n", 400),
        (f"GET /healthz HTTP/9.0\r\n{HEADS}\r\n", 400),
        ("\x16\x03\x01\x02\r\n\r\n", 400),
        (f"GET /{'fake entry' * 2000} HTTP/1.1\r\n{HEADS}\r\n", 414),
        (f"GET /{'a' * 9000} HTTP/1.1\r\n{HEADS}\r\n", 414),
        (f"GET /healthz HTTP/1.1\r\n{HEADS}X: {'a' * 9000}\r\n\r\n", 431),
        (f"GET /healthz HTTP/1.1\r\n{HEADS}{''.join(f'X-{i}: 1{chr(13)}{chr(10)}' for i in range(200))}\r\n", 431),
        (f"GET /healthz HTTP/1.1\r\n{HEADS}fake entry: 1\r\n\r\n", 400),
        (f"GET /healthz HTTP/1.1\r\n{HEADS}X: a\x00fake entry\r\n\r\n", 400),
        (f"GET /healthz HTTP/1.1\r\n{HEADS}X: 1\r\n fake entry\r\n\r\n", 400),
        (f"POST /login HTTP/1.1\r\n{HEADS}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (f"POST /login HTTP/1.1\r\n{HEADS}Content-Length: -5\r\n\r\n", 400),
        (f"POST /login HTTP/1.1\r\n{HEADS}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", 400),
        (f"GET /%00%ff HTTP/1.1\r\n{HEADS}\r\n", 303),
    ],
)
def test_malformed_http_gets_a_clean_answer(served: Served, request_text: str, status: int):
    answer = served.send(request_text)

    assert int(answer.split()[1]) == status
    if status >= 400:
        assert "application/problem+json" in answer
        assert f'"status":{status}' in answer
        assert "fake entry" not in answer
        assert "gunicorn" not in answer.split("\r\n\r\n", 1)[1]


def chunked(served: Served, path: str, body: bytes) -> str:
    head = f"POST {path} HTTP/1.1\r\n{HEADS}Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    parts = [body[at : at + 65536] for at in range(0, len(body), 65536)]
    data = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return served.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + data + b"0\r\n\r\n")


def test_a_chunked_body_is_read_and_bounded(served: Served):
    body = b'{"caller": {"agentId": "ada", "sessionKey": "k"}}'

    assert " 200 " in chunked(served, "/v1/sessions/list", body).splitlines()[0]
    assert " 413 " in chunked(served, "/v1/sessions/list", body + b" " * (5 << 20)).splitlines()[0]


@pytest.mark.parametrize("chunks", ["ZZ\r\n\r\n", "5\r\nabc", "5\r\nabcdefg\r\n0\r\n\r\n", "-1\r\n\r\n", "5;\x00\r\nabcde\r\n0\r\n\r\n"])
@pytest.mark.parametrize("path", ["/v1/sessions/list", "/login"])
def test_a_body_in_broken_chunks_is_a_400(served: Served, path: str, chunks: str):
    kind = "application/json" if path.startswith("/v1") else "application/x-www-form-urlencoded"
    head = (
        f"POST {path} HTTP/1.1\r\n{HEADS}Authorization: Bearer {served.token}\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )

    assert " 400 " in served.send(head + chunks).splitlines()[0]


def test_a_broken_body_beside_a_wrong_token_is_still_a_401(served: Served):
    head = f"POST /v1/sessions/list HTTP/1.1\r\n{HEADS}Authorization: Bearer wrong\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert " 401 " in served.send(head + "ZZ\r\n\r\n").splitlines()[0]


def test_a_body_shorter_than_it_said_is_a_400(served: Served):
    body = '{"caller": {"agentId": "ada", "sessionKey": "k"}}'
    head = f"POST /v1/sessions/list HTTP/1.1\r\n{HEADS}Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\n"

    assert " 400 " in served.send(f"{head}Content-Length: {len(body) + 5}\r\n\r\n{body}").splitlines()[0]


def test_a_refused_body_does_not_spoil_the_connection_for_the_next_request(served: Served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    headers = {"Host": "localhost", "Content-Type": "application/json"}
    statuses = []

    for token in ("wrong", served.token):
        connection.request(
            "POST",
            "/v1/sessions/list",
            b'{"caller":{"agentId":"ada","sessionKey":"k"}}' + b" " * 100_000,
            headers | {"Authorization": f"Bearer {token}"},
        )
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()

    assert statuses == [401, 200]
