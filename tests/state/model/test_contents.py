"""The structure of pickled values, and whether code reads it."""

from __future__ import annotations

from typing import Any

import pytest

from compat.state.model.contents import Reading, Shape, Step, are_read_as, unread

NUMBER, TEXT, LIST = (Shape(kind=kind) for kind in ("number", "text", "list"))
DICT = Shape(kind="dict", keys=("a", "b"))
DATE = Shape(kind="object", name="datetime:date")
OWN = Shape(kind="object", name="m:Own")
JSON = Shape(kind="text", parts=((DICT,),))


def pair(*parts: tuple[Shape, ...]) -> Shape:
    return Shape(kind="tuple", parts=parts)


def row(*keys: str) -> Shape:
    return Shape(kind="row", parts=((NUMBER,),) * 2, keys=keys)


@pytest.mark.parametrize(
    ("old", "new", "read"),
    [
        ((NUMBER,), (NUMBER,), True),
        ((NUMBER,), (TEXT,), False),
        ((NUMBER, TEXT), (TEXT,), False),
        ((TEXT,), (NUMBER, TEXT), True),
        ((), (TEXT,), True),
        ((NUMBER,), (), True),
        ((pair((NUMBER,), ()),), (pair((NUMBER,), (TEXT,)),), True),
        ((pair((NUMBER,), ()),), (pair((NUMBER,)),), False),
        ((pair((NUMBER,)),), (pair((TEXT,)),), False),
        ((NUMBER,), (pair((NUMBER,)),), False),
        ((DICT,), (Shape(kind="dict", keys=("a",)),), True),
        ((Shape(kind="dict", keys=("a",)),), (DICT,), False),
        ((Shape(kind="dict", keys=("a",), whole=False),), (DICT,), True),
        (
            (Shape(kind="dict", keys=("a",), parts=((TEXT,),)),),
            (Shape(kind="dict", keys=("a",), parts=((NUMBER,),)),),
            False,
        ),
        ((Shape(kind="tuple", whole=False),), (pair((NUMBER,)),), True),
        ((Shape(kind="list", parts=((NUMBER,),)),), (Shape(kind="list", parts=((TEXT,),)),), False),
        ((Shape(kind="list", parts=((NUMBER,),)),), (LIST,), True),
        ((row("a", "b"),), (row("b", "a"),), False),
        ((row("a", "b"),), (row(),), True),
        ((OWN,), (DATE,), False),
        ((JSON,), (TEXT,), True),
        ((JSON,), (Shape(kind="text", parts=((NUMBER,),)),), False),
    ],
)
def test_old_values_are_read_where_new_ones_are_alike(old: Any, new: Any, read: bool) -> None:
    assert are_read_as(old, new) is read


def steps(*given: tuple[str, object]) -> tuple[Step, ...]:
    """Steps by their kinds, and what each needs."""
    fields = {str: "name", int: "place", tuple: "names"}
    return tuple(Step(kind=kind, **{fields[type(what)]: what} if what is not None else {}) for kind, what in given)  # type: ignore[arg-type]


THERE = ("there", None)
PAIR = pair((NUMBER,), (TEXT,))


@pytest.mark.parametrize(
    ("old", "reading", "read"),
    [
        (NUMBER, steps(("item", 0), THERE), False),
        (PAIR, steps(("item", 1), THERE), True),
        (PAIR, steps(("item", 1), ("kind", "number")), False),
        (PAIR, steps(("item", -1), ("kind", "text")), True),
        (PAIR, steps(("item", 2), THERE), False),
        (PAIR, steps(("parts", 2), THERE), True),
        (PAIR, steps(("parts", 3), THERE), False),
        (TEXT, steps(("item", 0), THERE), True),
        (DICT, steps(("item", 0), THERE), False),
        (DICT, steps(("key", "a"), THERE), True),
        (DICT, steps(("key", "c"), THERE), False),
        (PAIR, steps(("key", "a"), THERE), False),
        (row("a", "b"), steps(("key", "a"), THERE), True),
        (row("a", "b"), steps(("attribute", "c"), THERE), False),
        (NUMBER, steps(("many", None)), False),
        (LIST, steps(("many", None)), True),
        (NUMBER, steps(("element", None), THERE), False),
        (Shape(kind="list", parts=((NUMBER,),)), steps(("element", None), ("kind", "number")), True),
        (NUMBER, steps(("attribute", "append"), THERE), False),
        (LIST, steps(("attribute", "append"), THERE), True),
        (DATE, steps(("attribute", "year"), THERE), True),
        (DATE, steps(("attribute", "hour"), THERE), False),
        (OWN, steps(("attribute", "anything"), THERE), True),
        (TEXT, steps(("digits", None)), False),
        (NUMBER, steps(("digits", None)), True),
        (Shape(kind="object", name="decimal:Decimal"), steps(("digits", None)), True),
        (Shape(kind="object", name="decimal:Decimal"), steps(("kind", "number")), False),
        (NUMBER, steps(("is", ("tuple",)), ("item", 0), THERE), True),
        (NUMBER, steps(("is not", ("tuple",)), ("item", 0), THERE), False),
        (pair(), steps(("is", ("Sequence",)), ("item", 0), THERE), False),
        (DICT, steps(("without", "c"), ("key", "c"), THERE), False),
        (DICT, steps(("items", None), ("element", None), ("item", 1), THERE), True),
        (LIST, steps(("items", None), THERE), False),
        (NUMBER, steps(("listed", None), ("element", None), ("kind", "number")), True),
        (NUMBER, steps(("entries", None), ("element", None), ("item", 1), ("kind", "text")), False),
        (JSON, steps(("json", None), ("key", "a"), THERE), True),
        (JSON, steps(("json", None), ("key", "c"), THERE), False),
        (JSON, steps(("key", "a"), THERE), False),
        (TEXT, steps(("json", None), ("key", "a"), THERE), True),
        (NUMBER, steps(("json", None), THERE), False),
        (NUMBER, steps(("any", None), THERE), False),
        (Shape(kind="dict", keys=("a",), parts=((NUMBER,),)), steps(("any", None), ("kind", "text")), False),
        (Shape(kind="list", parts=((TEXT,),)), steps(("any", None), ("kind", "text")), True),
        (NUMBER, steps(), False),
        (NUMBER, steps(("asked", None)), False),
    ],
)
def test_what_code_reads_is_there(old: Shape, reading: tuple[Step, ...], read: bool) -> None:
    new = (Shape(kind="set"),)
    assert (unread((old,), (Reading(steps=reading),), new) is None) is read
    assert unread((), (Reading(steps=reading),), new) is None
    assert unread((old,), None, new) is not None


@pytest.mark.parametrize(
    ("reading", "new", "read"),
    [
        (steps(("item", 0)), pair((TEXT,), (NUMBER,)), False),
        (steps(("item", 0)), pair((NUMBER,), (TEXT,)), True),
        (steps(("item", 5)), pair((TEXT,), (NUMBER,)), True),  # both look for what is not there
        (steps(("is", ("tuple",)), ("item", 0)), pair((TEXT,), (NUMBER,)), True),
        (steps(("item", 0), ("kind", "text")), pair((TEXT,), (NUMBER,)), True),  # it read this of old values already
    ],
)
def test_what_code_takes_as_before_is_what_it_puts_there(reading: tuple[Step, ...], new: Shape, read: bool) -> None:
    both = (Reading(steps=reading),)
    assert (unread((pair((NUMBER,), (NUMBER,)),), both, (new,), both) is None) is read


A, B, C = (Reading(steps=steps(("maybe", name), THERE)) for name in "abc")
ASKS_FOR_C = Reading(steps=steps(("with", "c"), ("key", "c"), THERE))


@pytest.mark.parametrize(
    ("reads", "new", "found"),
    [
        ((C,), ("a", "b", "c"), None),  # it is new
        ((C,), ("a", "c"), C),  # it may be what b was
        ((C, B), ("a", "c"), None),
        ((ASKS_FOR_C,), ("a", "c"), ASKS_FOR_C),
        ((ASKS_FOR_C, B), ("a", "c"), None),
        ((A,), ("a",), None),  # b is not needed any more
    ],
)
def test_a_key_that_may_have_another_name_now(reads: Any, new: tuple[str, ...], found: Reading | None) -> None:
    assert unread((DICT,), reads, (Shape(kind="dict", keys=new),)) == found
    listed = tuple(Reading(steps=(Step(kind="listed"), Step(kind="element"), *one.steps)) for one in reads)
    assert (unread((DICT,), listed, (Shape(kind="dict", keys=new),)) is None) is (found is None)


def test_shapes_in_words() -> None:
    words = {
        "a number": NUMBER,
        "text": TEXT,
        "a tuple of 2": PAIR,
        "a dict with 'a', 'b'": DICT,
        "a dict": Shape(kind="dict"),
        "a list": LIST,
        "a row of 2": row(),
        "an object of Own": OWN,
        "JSON of a dict with 'a', 'b'": JSON,
    }
    assert [str(one) for one in words.values()] == [*words]


@pytest.mark.parametrize(
    ("reading", "words", "whole"),
    [
        (steps(("item", 0), ("attribute", "year"), THERE), "value[0].year", False),
        (steps(("key", "a"), ("maybe", "b"), ("kind", "text")), "value['a'].get('b') as text", False),
        (steps(("listed", None), ("element", None), ("digits", None)), "elements of value as a number", False),
        (steps(("items", None), ("parts", 2), THERE), "the 2 parts of value.items()", False),
        (steps(("is", ("tuple",)), ("asked", None)), "value", True),
        (steps(("json", None), ("key", "a"), THERE), "json.loads(value)['a']", False),
        ((), "value", True),
    ],
)
def test_readings_in_words(reading: tuple[Step, ...], words: str, whole: bool) -> None:
    found = Reading(steps=reading)
    assert (str(found), found.is_whole) == (words, whole)
