"""What clients share, such that none of them can take all of it.

A client is the owner of a token or, without one, an address. Those without a token get at most half of anything together, or
what one client may have, where that is more.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from starlette.requests import Request
from starlette.types import Scope

from compat.service.records import Identity


class Client(Struct, frozen=True):
    """The sender of requests; ``known`` tells one with a token."""

    name: str
    known: bool


OURSELVES = Client("", True)
_UNKNOWN = Client("all without a token", False)


def client_of(request: Request) -> Client:
    """The client that a request came from."""
    return client_of_scope(request.scope)


def client_of_scope(scope: Scope) -> Client:
    """The client that a request came from."""
    identity: Identity | None = scope.get("state", {}).get("identity")
    if identity is not None and identity.known:
        return Client(identity.name, True)
    return Client((scope.get("client") or ("",))[0], False)


class Shares:
    """An amount of something that clients hold: at most ``most`` together, ``of_one`` each."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most, self._of_one = most, of_one
        self._held: Counter[Client] = Counter()
        self.total = 0

    def take(self, client: Client, amount: int = 1) -> bool:
        """Let a client hold more; False, and nothing changes, where that would be too much."""
        unknown = 0 if client.known else self._held[_UNKNOWN]
        if (
            self.total + amount > self._most
            or self._held[client] + amount > self._of_one
            or unknown + amount > max(self._of_one, self._most // 2)
        ):
            return False
        self._add(client, amount)
        return True

    def give(self, client: Client, amount: int = 1) -> None:
        """Take back what a client held."""
        self._add(client, -amount)

    def _add(self, client: Client, amount: int) -> None:
        self.total += amount
        for each in (client,) if client.known else (client, _UNKNOWN):
            self._held[each] += amount
            if not self._held[each]:
                del self._held[each]
