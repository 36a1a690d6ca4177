"""What makes records different, and what they carry along only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from compat.check.sql.aggregates import Aggregate
from compat.compiler.errors import Location
from compat.compiler.transformations import operators
from compat.compiler.transformations.operators import Operator
from compat.compiler.transformations.resources import ResourceSpec, SlotResources
from compat.loader.jvm.compiled import FlinkOperator
from compat.state.flink import SerializerSnapshot

COMPARED = {"factory", "yielding", "output_at_end", "coordinated", "chained", "thread_mode", "kind_name"}
OF_CALLS = {"call", "windowing", "contents", "timers"}
"""The fields of operators of topologies that are compared, too."""


def kinds(base: type[Operator] = Operator) -> Iterator[type[Operator]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def made(kind: type[Operator]) -> Operator:
    return kind(**dict.fromkeys(kind.__struct_fields__))


KINDS = sorted(kinds(), key=lambda kind: f"{kind.__module__}.{kind.__qualname__}")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
def test_operators_are_equal_by_their_traits(kind: type[Operator]) -> None:
    one = made(kind)
    compared = COMPARED | OF_CALLS if issubclass(kind, operators.Described) else COMPARED
    for name in kind.__struct_fields__:
        other = replace(one, **{name: "other"})
        assert (one == other, hash(one) == hash(other)) == (name not in compared,) * 2, name


def test_operators_of_different_kinds_differ() -> None:
    assert operators.Map() != operators.Filter()
    assert FlinkOperator(kind_name="map") != FlinkOperator(kind_name="filter")


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (Location("a.py", 1), Location("a.py", 1, (2, 3)), Location("a.py", 2)),
        (
            SlotResources(ResourceSpec(cpu_cores=1)),
            SlotResources(ResourceSpec(cpu_cores=1), Location("a.py", 1)),
            SlotResources(ResourceSpec(cpu_cores=2)),
        ),
        (
            Aggregate("SUM", False, False, frozenset()),
            Aggregate("SUM", False, False, frozenset(), "total"),
            Aggregate("SUM", True, False, frozenset()),
        ),
        (
            SerializerSnapshot("Pojo", 1),
            SerializerSnapshot("Pojo", 1, owners=("Base",), subclasses=(("Sub", SerializerSnapshot("Pojo", 1)),)),
            SerializerSnapshot("Pojo", 1, complete=False),
        ),
    ],
    ids=["location", "slot", "aggregate", "snapshot"],
)
def test_what_is_carried_along_makes_no_difference(one: object, same: object, other: object) -> None:
    assert one == same
    assert one != other
    assert one != "something else"
