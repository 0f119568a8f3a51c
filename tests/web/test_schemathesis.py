"""Requests made up from our own OpenAPI document, right ones and wrong ones: whatever comes back is what the document says.

A 422 is no failure: the schema cannot say that a query needs a letter, that an event needs a message, or that a session cannot spawn
itself. A 414 is none either, for the length of an address is no matter of one field.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Config, GenerationMode

from shared.config import Settings
from shared.tokens import issue_token
from tests.conftest import memory_folder
from tests.web.conftest import services_of
from web import create_app
from web.operations import OPERATIONS, Operation

EXAMPLES = 25
ALLOWED = ["2xx", "401", "403", "404", "409", "414", "422"]
EVERY = [(operation, method) for operation in OPERATIONS for method in operation.methods]
BOUNDED = settings(
    max_examples=EXAMPLES,
    derandomize=True,  # the same requests each time, so that a failure is found again
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def app() -> Iterator[Flask]:
    with memory_folder() as folder:
        app = create_app(Settings(data=folder / "data", synchronous="NORMAL", rate_limit=0, failure_limit=0))
        yield app
        services_of(app).close()


@pytest.fixture(scope="module")
def tokens(app: Flask) -> dict[str, str]:
    here = services_of(app)
    sealed = {"agent": {"agent_id": "ada", "session_key": "agent:ada:main"}}
    return {kind: issue_token(here.store, kind, 0, **sealed.get(kind, {})).text for kind in ("platform", "agent", "operator")}


@pytest.fixture(scope="module")
def schema(app: Flask, tokens: dict[str, str]) -> Any:
    config = Config.from_dict({"checks": {"positive_data_acceptance": {"expected-statuses": ALLOWED}}})
    return schemathesis.openapi.from_wsgi("/openapi.json", app, config=config, headers=bearer(tokens["operator"]))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Host": "localhost"}


def kinds(operation: Operation) -> list[str]:
    """Whose token tells most: an agent's needs no caller, a platform's takes one."""
    return [kind for kind in ("operator", "platform", "agent") if kind in operation.kinds][-2:] or ["operator"]


@pytest.mark.parametrize(("operation", "method"), EVERY, ids=[f"{method} {operation.path}" for operation, method in EVERY])
def test_whatever_is_asked_the_answer_is_one_that_the_document_describes(
    schema: Any, tokens: dict[str, str], operation: Operation, method: str
):
    described = schema[operation.path][method]
    made = described.as_strategy(generation_mode=GenerationMode.POSITIVE) | described.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    statuses: list[int] = []

    @BOUNDED
    @given(case=made)
    def ask(case: Any) -> None:
        for kind in kinds(operation):
            statuses.append(case.call_and_validate(headers=bearer(tokens[kind])).status_code)

    ask()

    assert statuses and not any(status >= 500 for status in statuses)
