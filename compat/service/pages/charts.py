"""Charts as plain values: paths and places in SVG's units, made on the server.

A chart of more points than can be told apart shows their means, with the range between the least and the most behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10
from statistics import fmean

from msgspec import Struct

WIDTH, HEIGHT = 560, 170
LEFT, RIGHT, TOP, BOTTOM = 74, 10, 12, 26
MOST_DOTS = 60
"""The number of points up to which each has a dot."""
MOST_POINTS = 120
"""The number of points beyond which neighbours are drawn as one."""
TICKS = 5
_LEAST = 1e-300
"""Anything below counts as nothing: powers of ten end there."""
_FAR = 8
"""How many times what 19 of 20 points stay below a point has to be, to lie outside of the chart."""

Point = tuple[float, float]


class Tick(Struct, frozen=True):
    """A place on an axis, and its label."""

    at: float
    text: str


class Spot(Struct, frozen=True):
    """A place on the line, the width of its part of the chart, and its text."""

    x: float
    y: float
    width: float
    text: str


class LineChart(Struct, frozen=True, kw_only=True):
    """A line over a filled area; ``description`` tells it to those who do not see it.

    ``range`` is the area between least and most if several points were drawn as one, else empty. ``beyond`` are the places of
    points above the chart; ``note`` mentions them.
    """

    title: str
    description: str
    line: str
    area: str
    range: str
    spots: tuple[Spot, ...]
    dotted: bool
    beyond: tuple[Spot, ...]
    note: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


class Bar(Struct, frozen=True):
    """A bar: its name, its length from 0 to 100, and the amount in words."""

    name: str
    length: float
    text: str
    note: str = ""


def line_chart(
    title: str,
    points: Sequence[Point],
    show: Callable[[float], str],
    name: Callable[[float], str] = lambda x: f"{x:g}",
    rounded: Callable[[float], float] = lambda y: round_number(y),
) -> LineChart | None:
    """A chart of ``(x, y)``, x growing, y from 0; None for fewer than two points.

    ``show`` and ``name`` put a y and an x in words, ``rounded`` gives the next round number, where the chart may end.
    """
    if len(points) < 2:
        return None
    first, last = points[0][0], points[-1][0]
    values = [y for _, y in points]
    top = rounded(_most(values))
    wide, high, ground = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM, HEIGHT - BOTTOM

    def across(x: float) -> float:
        return round(LEFT + wide * (x - first) / ((last - first) or 1), 1)

    def up(y: float) -> float:
        return round(TOP + high * (1 - min(y, top) / top), 1)

    groups = _groups(points)
    width = round(wide / len(groups), 1)
    spots = tuple(
        Spot(across(fmean(x for x, _ in group)), up(_mean(group)), width, _told(group, show, name)) for group in groups
    )
    line = "M" + "L".join(f"{spot.x} {spot.y}" for spot in spots)
    beyond = [(group, spot) for group, spot in zip(groups, spots, strict=True) if max(y for _, y in group) > top]
    return LineChart(
        title=title,
        description=f"{title}: {len(points)} epochs, from {show(values[0])} to {show(values[-1])}, "
        f"at least {show(min(values))}, at most {show(max(values))}.",
        line=line,
        area=f"{line}L{spots[-1].x} {ground}L{spots[0].x} {ground}Z",
        range=_range(groups, spots, up) if len(groups) < len(points) else "",
        spots=spots,
        dotted=len(spots) <= MOST_DOTS,
        beyond=tuple(Spot(spot.x, TOP, width, spot.text) for _, spot in beyond),
        note=f"▲ up to {show(max(values))}" if beyond else "",
        across=_ticks([x for x, _ in points], across, name),
        up=tuple(Tick(up(top * part), show(top * part)) for part in (0, 0.5, 1)),
    )


def _groups(points: Sequence[Point]) -> list[Sequence[Point]]:
    """The points, each for itself, or as many neighbours together as it takes."""
    size = -(-len(points) // MOST_POINTS) if len(points) > MOST_POINTS else 1
    return [points[start : start + size] for start in range(0, len(points), size)]


def _mean(group: Sequence[Point]) -> float:
    return group[0][1] if len(group) == 1 else fmean(y for _, y in group)


def _told(group: Sequence[Point], show: Callable[[float], str], name: Callable[[float], str]) -> str:
    if len(group) == 1:
        return f"{name(group[0][0])}: {show(group[0][1])}"
    values = [y for _, y in group]
    ends = f"{name(group[0][0])} to {name(group[-1][0])}"
    return f"{ends}: {show(_mean(group))}, at least {show(min(values))}, at most {show(max(values))}"


def _range(groups: Sequence[Sequence[Point]], spots: Sequence[Spot], up: Callable[[float], float]) -> str:
    most = [f"{spot.x} {up(max(y for _, y in group))}" for group, spot in zip(groups, spots, strict=True)]
    least = [f"{spot.x} {up(min(y for _, y in group))}" for group, spot in zip(groups, spots, strict=True)]
    return f"M{'L'.join([*most, *reversed(least)])}Z"


def _ticks(xs: Sequence[float], across: Callable[[float], float], name: Callable[[float], str]) -> tuple[Tick, ...]:
    """The first point, the last, and some between that are about as far from each other."""
    wanted = (xs[0] + (xs[-1] - xs[0]) * part / (TICKS - 1) for part in range(TICKS))
    chosen = dict.fromkeys(min(xs, key=lambda x: abs(x - at)) for at in wanted)
    return tuple(Tick(across(x), name(x)) for x in chosen)


def _most(values: Sequence[float]) -> float:
    """What the chart has to hold: the largest value, but for a few that are far above all others."""
    usual = sorted(values)[int(0.95 * (len(values) - 1))]
    most = max(values)
    return 2 * usual if len(values) >= 20 and usual > 0 and most > _FAR * usual else most


def bars(amounts: Sequence[tuple[str, float, str]], show: Callable[[float], str]) -> list[Bar]:
    """Bars of ``(name, amount, note)``, the longest one of full length."""
    most = max((amount for _, amount, _ in amounts), default=0) or 1
    return [Bar(name, round(100 * amount / most, 2), show(amount), note) for name, amount, note in amounts]


def round_number(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, … that is not below ``value``."""
    if value < _LEAST:
        return 1
    power: float = 10.0 ** floor(log10(value))
    return next((step * power for step in (1, 2, 5) if value <= step * power), 10 * power)


def round_time(seconds: float) -> float:
    """The next length of time that is not below ``seconds`` and whose half is a usual one, too."""
    known = next((one for one in _TIMES if seconds <= one), None)
    if seconds < 1:
        return round_number(seconds)
    return known if known is not None else _DAY * round_number(seconds / _DAY)


_DAY = 86_400.0
_TIMES = (2.0, 4.0, 10.0, 20.0, 60.0, 120.0, 240.0, 600.0, 1200.0, 3600.0, 7200.0, 14_400.0, 43_200.0, _DAY)
