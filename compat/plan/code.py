"""The user's code as a plan tells of it: by digests, so that two plans show what differs without the classes."""

from __future__ import annotations

from compat.plan.fields import Record


class Captured(Record, frozen=True, kw_only=True):
    """A value that a function object carries: the path of the field that holds it, and a digest of the value."""

    name: str
    digest: str


class UserCode(Record, frozen=True, kw_only=True):
    """A function: its class, and the method that a lambda stands in or that a method reference names.

    ``digest`` is of what its code does, with what it reaches in the user's own classes: the same for another build of the same
    source. It is None where the code is not at hand. ``captured`` are the plain values that the function object holds.
    """

    name: str
    method: str | None = None
    digest: str | None = None
    captured: tuple[Captured, ...] = ()

    def __str__(self) -> str:
        return self.name if self.method is None else f"{self.name}.{self.method}"
