"""Shared amounts, limited so that no client can take all.

A client is the owner of a token or, without one, an address. All clients without a token together get at most half, or the
share of one client if that is more.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from starlette.requests import Request
from starlette.types import Scope

from compat.service.records import Identity


class Client(Struct, frozen=True):
    """The sender of requests; ``known`` if it has a token."""

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
    """The amounts that clients hold: at most ``most`` together, ``of_one`` each."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most, self._of_one = most, of_one
        self._held: Counter[Client] = Counter()
        self.total = 0

    def take(self, client: Client, amount: int = 1) -> bool:
        """Let a client hold more; False without a change if that is too much."""
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
        """Take back an amount that a client held."""
        self._add(client, -amount)

    def _add(self, client: Client, amount: int) -> None:
        self.total += amount
        for each in (client,) if client.known else (client, _UNKNOWN):
            self._held[each] += amount
            if not self._held[each]:
                del self._held[each]
