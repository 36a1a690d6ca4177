"""Ranges that values are looked up in, as plans write them (Calcite: ``Sarg``)."""

from __future__ import annotations

import msgspec
from msgspec import Struct


class _End(Struct, frozen=True, rename="camel"):
    value: int | float | str | bool
    bound_type: str


class _Range(Struct, frozen=True, omit_defaults=True):
    lower: _End | None = None
    upper: _End | None = None

    def text(self, what: str) -> str:
        """That something is in the range."""
        if self.lower is not None and self.lower == self.upper:
            return f"{what} = {_shown(self.lower)}"
        signs = (("CLOSED", ">="), ("OPEN", ">")), (("CLOSED", "<="), ("OPEN", "<"))
        ends = zip((self.lower, self.upper), signs, strict=True)
        return " AND ".join(
            f"{what} {dict(sign)[end.bound_type]} {_shown(end)}" for end, sign in ends if end is not None
        )


class _Ranges(Struct, frozen=True, rename="camel"):
    """What a value is looked up in (Calcite: ``Sarg``): ``IN``, ``BETWEEN``, and comparisons of one column with constants."""

    ranges: tuple[_Range, ...]
    null_as: str = "UNKNOWN"

    def text(self, what: str) -> str:
        """That something is in one of the ranges."""
        points = [one.lower for one in self.ranges if one.lower is not None and one.lower == one.upper]
        if len(points) == len(self.ranges) > 1:
            return f"{what} IN ({', '.join(map(_shown, points))})"
        parts = [one.text(what) for one in self.ranges] + [f"{what} IS NULL"] * (self.null_as == "TRUE")
        return parts[0] if len(parts) == 1 else " OR ".join(f"({part})" if " AND " in part else part for part in parts)


def _ranges(sarg: str) -> _Ranges | None:
    """The ranges; None for anything else, or of another shape than this version knows."""
    try:
        return msgspec.json.decode(sarg, type=_Ranges)
    except msgspec.MsgspecError:
        return None


def _shown(end: _End) -> str:
    return f"'{end.value}'" if isinstance(end.value, str) else str(end.value)


def closed(sarg: str) -> str:
    """Ranges of whole numbers with their first and last number, joined where one follows another: ``(20..31)`` as ``[21..30]``,
    and ``[1..1], [2..2]`` as ``[1..2]``."""
    found = _ranges(sarg)
    if found is None:
        return sarg
    joined: list[_Range] = []
    for one in found.ranges:
        moved = _Range(_moved(one.lower, 1), _moved(one.upper, -1))
        if joined and _follows(joined[-1].upper, moved.lower):
            joined[-1] = _Range(joined[-1].lower, moved.upper)
        else:
            joined.append(moved)
    return msgspec.json.encode(_Ranges(tuple(joined), found.null_as)).decode()


def _follows(end: _End | None, start: _End | None) -> bool:
    """Whether no whole number is between the end of a range and the start of the next one, whose ends are in them."""
    if end is None or start is None or (end.bound_type, start.bound_type) != ("CLOSED", "CLOSED"):
        return False
    return type(end.value) is type(start.value) is int and end.value + 1 == start.value


def _moved(end: _End | None, step: int) -> _End | None:
    if end is None or end.bound_type != "OPEN" or not isinstance(end.value, int):
        return end
    return _End(end.value + step, "CLOSED")


def text(sarg: str, what: str) -> str:
    """That ``what`` is in the ranges, as it is written in SQL."""
    found = _ranges(sarg)
    return f"SEARCH({what}, {sarg})" if found is None else found.text(what)
