"""Plans carry the lines that they name."""

from __future__ import annotations

from msgspec.structs import replace

from compat.plan.lines import WIDEST, lines_of, places, with_lines
from compat.plan.reading import from_plain, read
from compat.plan.writing import dump, plain
from compat.state.model.job import Plan
from compat.state.model.operators import Merged
from compat.state.model.source_line import SourceLine
from tests.compat.browser.samples import plan
from tests.compat.builders import value_state

TEXT = {"job.py": [f"line {number}" for number in range(1, 41)], "lib/steps.py": ["one", "two"]}


def named() -> Plan:
    """A plan that names lines of two files, and of one that is not there."""
    made = plan("count", "sum")
    source, count, total, *rest = made.operators
    count = replace(count, source=SourceLine("job.py", 10), states=(value_state(source=SourceLine("job.py", 20)),))
    total = replace(total, source=SourceLine("lib/steps.py", 2), merged=(Merged(source=SourceLine("gone.py", 3)),))
    return replace(made, source=SourceLine("job.py", 40), operators=(source, count, total, *rest))


def test_the_lines_that_are_named_and_their_neighbours():
    found = lines_of(with_lines(named(), TEXT.get))
    assert found == {
        "job.py": {n: f"line {n}" for n in (9, 10, 11, 19, 20, 21, 39, 40)},
        "lib/steps.py": {1: "one", 2: "two"},
    }


def test_every_place_of_a_plan_is_looked_up():
    assert {str(place) for place in places(named())} == {
        "job.py:40",
        "job.py:10",
        "job.py:20",
        "lib/steps.py:2",
        "gone.py:3",
    }


def test_a_place_without_a_line_or_beyond_the_end_carries_nothing():
    made = replace(plan("count"), source=SourceLine("job.py", 0))
    assert with_lines(made, TEXT.get).lines == {}
    assert with_lines(replace(made, source=SourceLine("job.py", 42)), TEXT.get).lines == {}


def test_long_lines_are_cut():
    made = with_lines(replace(plan("count"), source=SourceLine("job.py", 1)), lambda _: ["x" * 5000])
    assert made.lines == {"job.py": ((1, "x" * WIDEST),)}


def test_they_come_back_as_they_were_written():
    made = with_lines(named(), TEXT.get)
    assert read(dump(made).encode()).lines == made.lines
    assert from_plain(plain(made)).lines == made.lines
    assert "lines" not in plain(named())
