"""Why an id moved: the chain of causes ends where the graph itself was changed."""

from __future__ import annotations

from compat.check.explain import steps, why_moved
from tests.compat.builders import operator, program

SOURCE = operator("source", uid="the source", kind="source")
A, B, C = "a" * 32, "b" * 32, "c" * 32


def test_an_operator_put_in_between_is_named() -> None:
    old = operator("count", id=A, inputs=(SOURCE.id,), position=1)
    filtered = operator("filtered", id=B, inputs=(SOURCE.id,), position=1)
    new = operator("count", id=C, inputs=(B,), position=1)
    olds, news = program("v1.py", SOURCE, old), program("v2.py", SOURCE, filtered, new)

    assert why_moved(old, new, olds, news) == "It reads from 'filtered' now, it read from 'source' (uid 'the source')."
    assert len(list(steps(old, new, olds, news))) == 1


def test_an_operator_taken_out_is_named() -> None:
    filtered = operator("filtered", id=B, inputs=(SOURCE.id,), position=1)
    old = operator("count", id=A, inputs=(B,), position=1)
    new = operator("count", id=C, inputs=(SOURCE.id,), position=1)
    olds, news = program("v1.py", SOURCE, filtered, old), program("v2.py", SOURCE, new)

    assert why_moved(old, new, olds, news) == "It reads from 'source' (uid 'the source') now, it read from 'filtered'."


def test_an_input_that_moved_itself_is_followed() -> None:
    first, moved = (operator("first", id=id, position=place) for id, place in ((A, 0), (B, 3)))
    old, new = operator("count", id="d" * 32, inputs=(A,)), operator("count", id=C, inputs=(B,))
    told = why_moved(old, new, program("v1.py", first, old), program("v2.py", moved, new))

    assert (
        told == "The id of an input moved. It began at 'first': it is operator number 3 of the graph, it was number 0."
    )
