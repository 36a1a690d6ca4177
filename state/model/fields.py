"""The common properties of the fields of a plan: their bounds, and which of them are written even with their default."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

Id = Annotated[str, Meta(min_length=32, max_length=32, pattern="^[0-9a-f]{32}$")]
"""An operator's or a vertex's id, in hex digits."""

Int = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A whole number of 32 bits, as Java's ``int``."""

Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number of 64 bits, as Java's ``long``."""

Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""A place in a list, a count or a line: a whole number from 0."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A part of a plan. Fields with their default are not written, except those that are :func:`written`."""


class Written:
    """The default of a field that is written even if it has that value."""

    def __init__(self, default: Any) -> None:
        self.default = default

    def __call__(self) -> Any:
        return self.default


def written(default: Any, name: str | None = None) -> Any:
    """A field that may be missing when read, and is always written, by ``name`` if that is not its own."""
    return field(default_factory=Written(default), name=name)
