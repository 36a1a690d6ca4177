"""Why an id moved: the chain of causes ends where the graph itself was changed."""

from __future__ import annotations

import pytest

from compat.check.explain import steps, why_moved
from tests.compat.builders import operator, program

SOURCE = operator("source", uid="the source", kind="source")
A, B, C = "a" * 32, "b" * 32, "c" * 32


def test_an_operator_put_in_between_is_named() -> None:
    old = operator("count", id=A, inputs=(SOURCE.id,), position=1)
    filtered = operator("filtered", id=B, inputs=(SOURCE.id,), position=1)
    new = operator("count", id=C, inputs=(B,), position=1)
    olds, news = program("v1.py", SOURCE, old), program("v2.py", SOURCE, filtered, new)

    assert why_moved(old, new, olds, news) == "'filtered' was put between it and 'source' (uid 'the source')."
    assert len(list(steps(old, new, olds, news))) == 1


def test_an_operator_taken_out_is_named() -> None:
    filtered = operator("filtered", id=B, inputs=(SOURCE.id,), position=1)
    old = operator("count", id=A, inputs=(B,), position=1)
    new = operator("count", id=C, inputs=(SOURCE.id,), position=1)
    olds, news = program("v1.py", SOURCE, filtered, old), program("v2.py", SOURCE, new)

    assert why_moved(old, new, olds, news) == "'filtered' between it and 'source' (uid 'the source') was taken out."


def test_an_input_that_moved_itself_is_followed() -> None:
    first, moved = (operator("first", id=id, position=place) for id, place in ((A, 0), (B, 3)))
    old, new = operator("count", id="d" * 32, inputs=(A,)), operator("count", id=C, inputs=(B,))
    told = why_moved(old, new, program("v1.py", first, old), program("v2.py", moved, new))

    assert told == "The id of an input moved. It began at 'first': it moved from place 0 to place 3 of the graph."


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], ["sink"], "A first sink was chained to it."),
        (["sink"], ["sink", "sink"], "A second sink was chained to it."),
        ([], ["map"], "A first operator was chained to it."),
        ([], ["sink", "sink_writer"], "2 more sinks were chained to it."),
        (["sink"], [], "One sink is no longer chained to it."),
        (["map", "map", "sink"], ["sink"], "2 operators are no longer chained to it."),
    ],
)
def test_outputs_that_are_chained_are_counted_in_words(before: list[str], after: list[str], told: str) -> None:
    sides = []
    for name, id, kinds in (("v1.py", A, before), ("v2.py", B, after)):
        head = operator("count", id=id, chained_outputs=len(kinds))
        behind = [
            operator(f"{kind} {at}", id=f"{at}" * 32, kind=kind, inputs=(id,)) for at, kind in enumerate(kinds, 1)
        ]
        sides.append((head, program(name, head, *behind)))
    (old, olds), (new, news) = sides
    assert why_moved(old, new, olds, news) == told


def test_inputs_of_one_name_are_told_apart() -> None:
    before, after = operator("map", id=A), operator("map", id=B)
    old, new = operator("count", id="d" * 32, inputs=(A,)), operator("count", id=C, inputs=(B,))
    olds, news = program("v1.py", before, old), program("v2.py", before, after, new)
    assert why_moved(old, new, olds, news) == "It reads from a different operator named 'map'."
