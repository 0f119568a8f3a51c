"""A real application on a real data folder, and one visitor for each kind of credential."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from shared.config import Settings
from shared.tokens import issue_token
from web import create_app
from web.services import EXTENSION, Services


class Visitor:
    """Somebody with one token, or with none."""

    def __init__(self, client: FlaskClient, token: str | None) -> None:
        self.client, self.token = client, token

    def ask(self, method: str, path: str, **named: Any) -> TestResponse:
        headers = dict(named.pop("headers", {}))
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {self.token}"
        return self.client.open(path, method=method, headers=headers, **named)

    def get(self, path: str, **parameters: Any) -> TestResponse:
        return self.ask("GET", path, query_string=parameters)

    def post(self, path: str, body: Any = None, **named: Any) -> TestResponse:
        return self.ask("POST", path, **({} if body is None else {"json": body}), **named)


def settings_for(folder: Path) -> Settings:
    return Settings(data=folder / "data", hosts=frozenset({"search.example"}), synchronous="NORMAL")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    app = create_app(settings_for(tmp_path))
    yield app
    services_of(app).close()


@pytest.fixture(scope="module")
def refusing_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """One application for a whole module of requests that store nothing."""
    app = create_app(settings_for(tmp_path_factory.mktemp("refusing")))
    yield app
    services_of(app).close()


def services_of(app: Flask) -> Services:
    services: Services = app.extensions[EXTENSION]
    return services


def visitor(app: Flask, kind: Any = None, **named: Any) -> Visitor:
    """A visitor with a fresh token of the kind."""
    here = services_of(app)
    token = issue_token(here.store, kind, here.now_ms(), **named).text if kind else None
    return Visitor(app.test_client(use_cookies=False), token)


@pytest.fixture
def nobody(app: Flask) -> Visitor:
    return visitor(app)


@pytest.fixture
def platform(app: Flask) -> Visitor:
    return visitor(app, "platform")


@pytest.fixture
def operator(app: Flask) -> Visitor:
    return visitor(app, "operator")


@pytest.fixture
def ada(app: Flask) -> Visitor:
    """An agent's token, sealed to agent ada in its main session."""
    return visitor(app, "agent", agent_id="ada", session_key="agent:ada:main")


ADA = {"agentId": "ada", "sessionKey": "agent:ada:main"}


def message(event_id: str, text: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "id": event_id, "message": {"role": role, "content": text}}


def say(platform: Visitor, *events: dict[str, Any], agent: str = "ada", key: str = "agent:ada:main") -> None:
    """Appends events; a refusal fails the test."""
    answer = platform.post("/v1/sessions/append", {"agentId": agent, "sessionKey": key, "events": list(events)})
    assert answer.status_code == 200, answer.text
