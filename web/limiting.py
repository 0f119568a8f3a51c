"""Answers 429 to who asks too often: by token, and by the peer's address where credentials are wrong.

An address that has sent too many wrong credentials gets no further guess looked at. A credential that was right lately is: whoever
guesses behind a shared address (a proxy's) does not lock out the callers who are at work there.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address

from flask import request

from shared.errors import TooManyRequests, Unauthorised
from shared.tokens import Credential
from web.figures import LIMITED
from web.services import Services


def spend(here: Services, credential: Credential) -> None:
    """The credential has asked once more. raises: TooManyRequests when that is once too often."""
    if wait_s := here.together.tokens.take(credential.token_id, _now_us()):
        here.together.figures.add(LIMITED, "token")
        limit = here.settings.rate_limit
        raise TooManyRequests(f"A token may ask {limit:,} times a minute. Ask again in {wait_s} s.", wait_s)


@contextmanager
def guess(here: Services, text: str) -> Iterator[None]:
    """Around whatever finds out whether a credential is right. raises: TooManyRequests when its address has guessed too often."""
    there, address = here.together, _address(request.remote_addr or "")
    if not there.good.knows(text) and (wait_s := there.failures.wait_s(address, _now_us())):
        there.figures.add(LIMITED, "failures")
        raise TooManyRequests(f"Too many wrong credentials came from this address. Try again in {wait_s} s.", wait_s)
    try:
        yield
    except Unauthorised:
        there.good.forget(text)
        there.failures.take(address, _now_us())
        raise
    there.good.take(text, _now_us())


def _address(peer: str) -> str:
    """What one network can vary at will counts as one address: the last 64 bits of IPv6."""
    try:
        found = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or int(found) >> 64)
    return peer


def _now_us() -> int:
    return time.monotonic_ns() // 1_000  # one clock for all processes of a machine, which nobody sets back
