"""Charts as plain values: paths and places in SVG's units, made on the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10

WIDTH, HEIGHT = 560, 170
LEFT, RIGHT, TOP, BOTTOM = 74, 10, 12, 26
_LEAST = 1e-300
"""Anything below counts as nothing: powers of ten end there."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """A line over a filled area; ``description`` tells it to those who do not see it."""

    title: str
    description: str
    line: str
    area: str
    dots: tuple[tuple[float, float, str], ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: what it stands for, its length from 0 to 100, and the amount in words."""

    name: str
    length: float
    text: str
    note: str = ""


def line_chart(
    title: str,
    points: Sequence[tuple[float, float]],
    show: Callable[[float], str],
    name: Callable[[float], str] = lambda x: f"{x:g}",
) -> LineChart | None:
    """A chart of ``(x, y)``, x growing, y from 0; None for fewer than two points."""
    if len(points) < 2:
        return None
    first, last = points[0][0], points[-1][0]
    top = _nice(max(y for _, y in points))
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return round(LEFT + wide * (x - first) / ((last - first) or 1), 1), round(TOP + high * (1 - y / top), 1)

    places = [place(x, y) for x, y in points]
    line = "M" + "L".join(f"{x} {y}" for x, y in places)
    ground = TOP + high
    values = [y for _, y in points]
    return LineChart(
        title=title,
        description=f"{title}: {len(points)} epochs, from {show(values[0])} to {show(values[-1])}, "
        f"at least {show(min(values))}, at most {show(max(values))}.",
        line=line,
        area=f"{line}L{places[-1][0]} {ground}L{places[0][0]} {ground}Z",
        dots=tuple((x, y, f"{name(point[0])}: {show(point[1])}") for (x, y), point in zip(places, points, strict=True)),
        across=tuple(Tick(place(x, 0)[0], name(x)) for x in dict.fromkeys((first, points[len(points) // 2][0], last))),
        up=tuple(Tick(place(first, top * part)[1], show(top * part)) for part in (0, 0.5, 1)),
    )


def bars(amounts: Sequence[tuple[str, float, str]], show: Callable[[float], str]) -> list[Bar]:
    """Bars of ``(name, amount, note)``, the longest one of full length."""
    most = max((amount for _, amount, _ in amounts), default=0) or 1
    return [Bar(name, round(100 * amount / most, 2), show(amount), note) for name, amount, note in amounts]


def _nice(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, … that is not below ``value``."""
    if value < _LEAST:
        return 1
    power: float = 10.0 ** floor(log10(value))
    return next((step * power for step in (1, 2, 5) if value <= step * power), 10 * power)
