"""What a verb of the door is given and what it gives back; verbs know nothing of Flask."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from shared.forms import Body
from shared.queue import Queue
from shared.store import Store
from shared.tokens import Credential
from web.services import Services

B = TypeVar("B", bound=Body)


@dataclass(frozen=True)
class Call(Generic[B]):
    """One request whose credential and fields have been checked."""

    services: Services
    credential: Credential | None  # None only for what is open to everybody
    body: B
    now_ms: int
    path: dict[str, str] = field(default_factory=dict)  # what stands in the path: {"id": "…"}
    idempotency_key: str | None = None

    @property
    def store(self) -> Store:
        return self.services.store

    @property
    def queue(self) -> Queue:
        return self.services.queue


@dataclass(frozen=True)
class Reply:
    """An answer ready for JSON, with its status and what stands in its headers."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def given(body: Body, *names: str) -> dict[str, Any]:
    """The named fields that a request gave a value, for the keyword arguments of a kernel request; null counts as not given."""
    return {name: value for name in names if (value := getattr(body, name)) is not None}
