"""Facts of programs under other ids."""

from __future__ import annotations

from msgspec.structs import replace

from compat.plan.facts import Vertex, with_ids
from tests.compat.builders import operator, program


def test_other_ids_stand_wherever_an_operator_is_named() -> None:
    source, count, sink = (
        operator(name, id=name, inputs=inputs) for name, inputs in (("a", ()), ("b", "a"), ("c", "b"))
    )
    chain = Vertex(id="b", name="", operators=("b", "c"), parallelism=1, max_parallelism=128, inputs=(("a", False),))
    given = replace(program("old", source, count, sink), vertices=(chain,), sides={"b": (0,), "c": (0,)})
    found = with_ids(given, {"a": "x", "b": "y"})
    assert [(one.id, tuple(one.inputs)) for one in found.operators] == [("x", ()), ("y", ("x",)), ("c", ("y",))]
    assert [(one.id, one.operators, one.inputs) for one in found.vertices] == [("y", ("y", "c"), (("x", False),))]
    assert found.sides == {"y": (0,), "c": (0,)}


def test_an_operator_whose_id_another_gets_is_called_apart() -> None:
    one, two, behind = (operator(name, id=name, inputs=inputs) for name, inputs in (("a", ()), ("b", ()), ("c", "b")))
    found = with_ids(program("old", one, two, behind), {"a": "b"})
    assert [(each.id, tuple(each.inputs)) for each in found.operators] == [
        ("b", ()),
        ("once b", ()),
        ("c", ("once b",)),
    ]


def test_ids_may_change_places() -> None:
    found = with_ids(program("old", operator("a", id="a"), operator("b", id="b")), {"a": "b", "b": "a"})
    assert [(each.name, each.id) for each in found.operators] == [("a", "b"), ("b", "a")]
