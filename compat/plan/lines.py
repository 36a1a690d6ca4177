"""The program lines that a plan refers to, stored in it, so that they can be shown without the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from compat.state.model.job import Plan
from compat.state.model.source_line import SourceLine

AROUND = 1
"""The number of lines before and after each referenced one that are stored, too."""

WIDEST = 200
"""The most characters of a line that are stored."""

Reader = Callable[[str], Sequence[str] | None]
"""Gives the lines of a file by the name that the plan has for it, or None if they cannot be had."""


def with_lines(plan: Plan, read: Reader) -> Plan:
    """The plan with the lines that it refers to, as far as they can be read."""
    wanted: dict[str, set[int]] = {}
    for place in places(plan):
        numbers = wanted.setdefault(place.file, set())
        numbers.update(range(max(1, place.line - AROUND), place.line + AROUND + 1) if place.line else ())
    found = {}
    for file, numbers in sorted(wanted.items()):
        lines = read(file)
        if lines is not None:
            known = tuple((n, lines[n - 1][:WIDEST]) for n in sorted(numbers) if n <= len(lines))
            found.update({file: known} if known else {})
    return replace(plan, lines=found)


def lines_of(plan: Plan) -> dict[str, Mapping[int, str]]:
    """The lines stored in a plan, by file and number."""
    return {file: dict(lines) for file, lines in plan.lines.items()}


def places(plan: Plan) -> Iterator[SourceLine]:
    """The places in the program that a plan refers to: of the job, of names that PyFlink lacks, of its operators and states."""
    if isinstance(plan.source, SourceLine):
        yield plan.source
    yield from (each.source for each in plan.beyond if each.source is not None)
    for operator in plan.operators:
        named = [operator.source, *(part.source for part in operator.merged)]
        named += [state.source for state in operator.states or ()]
        yield from (place for place in named if place is not None)
