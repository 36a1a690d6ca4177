"""What code puts into pickled states, read off its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat.plan.put import objects_in, shapes_folded, shapes_of, shapes_put
from compat.state.model.contents import Shape, exchanged
from compat.state.types import Types
from tests.compat.plan.programs import bare, bare_states, made

NUMBER, TEXT = Shape(kind="number"), Shape(kind="text")


def pair(*parts: tuple[Shape, ...]) -> Shape:
    return Shape(kind="tuple", parts=parts)


def named(*, whole: bool = True, **values: tuple[Shape, ...]) -> Shape:
    return Shape(kind="dict", keys=tuple(values), parts=tuple(values.values()), whole=whole)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.s.update(1)", (NUMBER,)),
        ("self.s.update((self.s.value() or 0) + value[1])", (NUMBER,)),
        ("n = self.s.value() or 0; self.s.update(n + value[1])", (NUMBER,)),
        ("n = self.s.value() or (0, 0); self.s.update((n[0] + 1, value))", (pair((NUMBER,), ()),)),
        ("self.s.update(f'{value}')", (TEXT,)),
        ("self.s.update('a' if value else 1)", (NUMBER, TEXT)),
        ("n = self.s.value() or {'a': 0}; n['b'] = 1; self.s.update(n)", (named(a=(NUMBER,), b=(NUMBER,)),)),
        ("self.s.update({**value, 'a': 1})", (named(a=(NUMBER,), whole=False),)),
        ("self.s.update([value])", (Shape(kind="list"),)),
        ("self.s.update(len(value))", (NUMBER,)),
        ("state = self.s; state.update('a')", (TEXT,)),
        ("self.s.update(value)", ()),
        ("self.s.update(1); self.s.update(value)", ()),
        ("self.s.update()", ()),
    ],
)
def test_what_is_put_into_a_value(body: str, told: Any, tmp_path: Path) -> None:
    function = made(f"class F:\n    def process_element(self, value, ctx):\n        {body}\n", tmp_path)
    assert bare_states(shapes_put(function, {"s": "state"}, ())) == {"state": told}
    assert shapes_put(function, {"other": "state"}, ()) == {}


def test_lists_and_maps_are_told_by_their_elements(tmp_path: Path) -> None:
    body = "self.l.update([1, 2]); self.l.add(3); self.m.put(value, 'a'); self.m.put_all({1: 'b'})"
    function = made(f"class F:\n    def process_element(self, value, ctx):\n        {body}\n", tmp_path)
    assert shapes_put(function, {"l": "list", "m": "map"}, ["list"]) == {"list": (NUMBER,), "map": (TEXT,)}


def test_accumulators_are_told_by_what_an_aggregate_gives(tmp_path: Path) -> None:
    text = (
        "class F:\n    def create_accumulator(self):\n        return 0, 0\n"
        "    def add(self, value, a):\n        return a[0] + 1, value\n    def merge(self, a, b):\n        return a\n"
    )
    assert bare(shapes_folded(made(text, tmp_path))) == (pair((NUMBER,), ()), pair((NUMBER,), (NUMBER,)))


def test_what_has_no_text_is_not_known() -> None:
    assert shapes_folded(int) == ()


LIBRARIES = "import collections\nimport datetime\nimport json\nimport pickle\nfrom compat.state.rows import Row\n"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("twice(value)", (NUMBER,)),
        ("self.named(value)", (TEXT,)),
        ("Own(value)", (Shape(kind="object", name="program_of_a_test:Own"),)),
        ("Row(value, 1)", (Shape(kind="row", parts=((), (NUMBER,))),)),
        ("Row(a=1)", (Shape(kind="row", parts=((NUMBER,),), keys=("a",)),)),
        ("Row(value, a=1)", (Shape(kind="row", whole=False),)),
        ("Row(*value)", (Shape(kind="row", whole=False),)),
        ("json.dumps(value)", (TEXT,)),
        ("json.dumps({'a': 1})", (Shape(kind="text", parts=((named(a=(NUMBER,)),),)),)),
        ("json.dumps((1, 'a'))", (Shape(kind="text", parts=((Shape(kind="list", parts=((NUMBER, TEXT),)),),)),)),
        ("json.loads(json.dumps({'a': 1}))", (named(a=(NUMBER,)),)),
        ("json.loads(value)", ()),
        ("pickle.dumps(value)", (Shape(kind="bytes"),)),
        ("datetime.date.today()", (Shape(kind="object", name="datetime:date", whole=False),)),
        ("collections.Counter(value)", (Shape(kind="dict", name="collections:Counter", whole=False),)),
        ("value.strip()", (TEXT,)),
        ("value.anything()", ()),
        ("(1, 'a')[1]", (TEXT,)),
        ("(1, 'a', 'b')[1:]", (pair((TEXT,), (TEXT,)),)),
        ("(1, 'a')[::-1]", (pair((TEXT,), (NUMBER,)),)),
        ("(1, 'a')[value:]", (Shape(kind="tuple", whole=False),)),
        ("'ab'[1:]", (TEXT,)),
        ("[1, 2]", (Shape(kind="list", parts=((NUMBER,),)),)),
        ("tuple([value])", (pair(()),)),
        ("dict(a=1)", (named(a=(NUMBER,)),)),
        ("LIMIT", (NUMBER,)),
        ("'%s' % value", (TEXT,)),
        ("[0] * value", (Shape(kind="list", parts=((NUMBER,),)),)),
        ("value < 1", (NUMBER,)),
        ("None", ()),
    ],
)
def test_what_an_expression_gives(value: str, told: Any, tmp_path: Path) -> None:
    text = (
        f"{LIBRARIES}LIMIT = 3\ndef twice(v):\n    return 2 * v\nclass Own:\n    def __init__(self, v): pass\n"
        "class F:\n    def named(self, v):\n        return f'{v}'\n"
        f"    def process_element(self, value, ctx):\n        self.s.update({value})\n"
    )
    assert bare_states(shapes_put(made(text, tmp_path), {"s": "state"}, ())) == {"state": told}


@pytest.mark.parametrize(("records", "told"), [(((TEXT,),), (TEXT,)), (((),), ()), ((), ())])
def test_records_are_what_they_are_said_to_be(records: Any, told: Any, tmp_path: Path) -> None:
    function = made("class F:\n    def process_element(self, value, ctx):\n        self.s.update(value)\n", tmp_path)
    assert shapes_put(function, {"s": "state"}, (), records) == {"state": told}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.s.update((value[1], value[0]))", (pair((NUMBER,), (TEXT,)),)),
        ("a, b = value; self.s.update((b, a))", (pair((NUMBER,), (TEXT,)),)),
        ("a, *b = value; self.s.update((b, a))", (pair((), ()),)),
        ("(a, b), c = value, 1; self.s.update((b, a))", (pair((NUMBER,), (TEXT,)),)),
        ("a, (b, c) = value; self.s.update((b, a))", (pair((), (TEXT,)),)),
        ("self.s.update(value[1:])", (pair((NUMBER,)),)),
    ],
)
def test_parts_of_records_are_what_they_are_said_to_be(body: str, told: Any, tmp_path: Path) -> None:
    function = made(f"class F:\n    def process_element(self, value, ctx):\n        {body}\n", tmp_path)
    found = shapes_put(function, {"s": "state"}, (), ((pair((TEXT,), (NUMBER,)),),))
    assert bare_states(found) == {"state": told}


BETWEEN = "def second(v):\n    return v[1]\n"


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("self.s.update((value[1], value[2]))", "self.s.update((value[2], value[1]))", ("0", "1")),
        ("self.s.update((value[1], value[2]))", "_, a, b = value; self.s.update((b, a))", ("0", "1")),
        ("self.s.update({'a': value[1], 'b': value[2]})", "self.s.update(dict(a=value[2], b=value[1]))", ("'a'", "'b'")),
        ("self.s.update(Row(a=value[1], b=value[2]))", "self.s.update(Row(a=value[2], b=value[1]))", ("'a'", "'b'")),
        ("self.s.update(Own(value[1], value[2]))", "self.s.update(Own(b=value[1], a=value[2]))", ("'a'", "'b'")),
        ("self.s.update((1, (value[1], value[2])))", "self.s.update((1, (value[2], value[1])))", ("0", "1")),
        ("n = self.s.value(); self.s.update((n[0] + value[1], n[1] + 1))",
         "a, b = self.s.value(); a += 1; b += value[1]; self.s.update((a, b))", ("0", "1")),
        ("self.s.update((second(value), value[2]))", "self.s.update((value[2], value[1]))", ("0", "1")),
        # The same in other words.
        ("self.s.update((value[1], value[2]))", "_, a, b = value; self.s.update((a, b))", None),
        ("self.s.update(Row(a=value[1], b=value[2]))", "self.s.update(Row(b=value[2], a=value[1]))", None),
        ("self.s.update(Own(value[1], value[2]))", "self.s.update(Own(b=value[2], a=value[1]))", None),
        ("n = self.s.value() or (0, 0); self.s.update((n[0] + 1, n[1] + value[1]))",
         "a, b = self.s.value() or (0, 0); a += 1; b += value[1]; self.s.update((a, b))", None),
        # Others, of which nothing shows that they changed places.
        ("self.s.update((value[1], value[2]))", "self.s.update((value[2], value[3]))", None),
        ("self.s.update((value[1], value[2]))", "self.s.update((value[2], value[1], 0))", None),
        ("self.s.update((0, 1))", "self.s.update((1, 0))", None),
        ("self.s.update((value[1], value[2]))", "for a, b in [value]: self.s.update((b, a))", None),
        ("self.s.update((value[1], value[2])); self.s.update((value[2], value[1]))",
         "self.s.update((value[2], value[1]))", ("0", "1")),
    ],
)  # fmt: skip
def test_parts_that_changed_places(old: str, new: str, places: Any, tmp_path: Path) -> None:
    own = "class Own:\n    def __init__(self, a, b): pass\n"
    head = f"{LIBRARIES}{BETWEEN}{own}class F:\n    def process_element(self, value, ctx):"
    told = []
    for number, body in enumerate((old, new)):
        folder = tmp_path / str(number)
        folder.mkdir()
        told.append(shapes_put(made(f"{head}\n        {body}\n", folder), {"s": "state"}, ())["state"])
    found = exchanged(told[0], told[1])
    assert (found and tuple(sorted(found))) == places


@pytest.mark.parametrize(
    ("type_info", "told"),
    [
        (Types.LONG(), (NUMBER,)),
        (Types.STRING(), (TEXT,)),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), (pair((NUMBER,), (TEXT,)),)),
        (Types.ROW([Types.LONG()]), (Shape(kind="row", parts=((NUMBER,),)),)),
        (Types.ROW_NAMED(["a"], [Types.LONG()]), (Shape(kind="row", parts=((NUMBER,),), keys=("a",)),)),
        (Types.MAP(Types.LONG(), Types.LONG()), (Shape(kind="dict", whole=False),)),
        (Types.PICKLED_BYTE_ARRAY(), ()),
        (None, ()),
    ],
)
def test_the_values_of_a_type(type_info: Any, told: Any) -> None:
    assert shapes_of(type_info) == told


def test_objects_are_found_in_parts() -> None:
    own, day = (Shape(kind="object", name=name) for name in ("m:Own", "datetime:date"))
    assert objects_in([(pair((own,), (day,)),), (Shape(kind="list", parts=((own,),)),)]) == {"m:Own"}
