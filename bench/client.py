"""A keep-alive HTTP client that costs little: one write and, mostly, one read a request, so that what is measured is the server."""

import json
import socket
import time
from typing import Any, Self

TIMEOUT_S = 120.0


class Client:
    """One connection with one token. Not for two threads."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: "
        self.ms = 0.0  # what the last request took, from the first byte sent to the last one read

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def post(self, path: str, body: dict[str, Any], *, status: int = 200) -> Any:
        """The answer's JSON. raises: RuntimeError when its status is not the one expected, OSError when there is none."""
        data = json.dumps(body, ensure_ascii=False).encode()
        request = f"POST {path} HTTP/1.1\r\n{self._head}{len(data)}\r\n\r\n".encode() + data
        begun = time.perf_counter()
        self._socket.sendall(request)
        code, answer = self._answer()
        self.ms = (time.perf_counter() - begun) * 1000
        if code != status:
            raise RuntimeError(f"POST {path} answered {code}: {answer[:300].decode('utf-8', 'replace')}")
        return json.loads(answer)

    def _answer(self) -> tuple[int, bytes]:
        data = self._more(b"")
        while (end := data.find(b"\r\n\r\n")) < 0:
            data = self._more(data)
        head = data[:end].lower()
        at = head.find(b"\r\ncontent-length:")
        if at < 0:
            raise OSError("an answer without a Content-Length")
        length = int(head[at + 17 :].split(b"\r\n", 1)[0])
        while len(data) < end + 4 + length:
            data = self._more(data)
        return int(head.split(b" ", 2)[1]), data[end + 4 :]

    def _more(self, data: bytes) -> bytes:
        part = self._socket.recv(1 << 17)
        if not part:
            raise ConnectionError("the server closed the connection")
        return data + part
