"""What code puts into pickled states, read off its text."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from compat.plan.put import shapes_folded, shapes_put
from compat.state.model.behaviour import Shape, are_read_as

NUMBER, TEXT = Shape(kind="number"), Shape(kind="text")


def made(text: str, folder: Path) -> Any:
    file = folder / "program.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("program_of_test_put", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.F()


def pair(*parts: tuple[Shape, ...]) -> Shape:
    return Shape(kind="tuple", parts=parts)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.s.update(1)", (NUMBER,)),
        ("self.s.update((self.s.value() or 0) + value[1])", (NUMBER,)),
        ("n = self.s.value() or 0; self.s.update(n + value[1])", (NUMBER,)),
        ("n = self.s.value() or (0, 0); self.s.update((n[0] + 1, value))", (pair((NUMBER,), ()),)),
        ("self.s.update(f'{value}')", (TEXT,)),
        ("self.s.update('a' if value else 1)", (NUMBER, TEXT)),
        ("n = self.s.value() or {'a': 0}; n['b'] = 1; self.s.update(n)", (Shape(kind="dict", keys=("a", "b")),)),
        ("self.s.update({**value, 'a': 1})", (Shape(kind="dict", keys=("a",), whole=False),)),
        ("self.s.update([value])", (Shape(kind="list"),)),
        ("self.s.update(len(value))", (Shape(kind="number", whole=False),)),
        ("state = self.s; state.update('a')", (TEXT,)),
        ("self.s.update(value)", ()),
        ("self.s.update(1); self.s.update(value)", ()),
        ("self.s.update()", ()),
    ],
)
def test_what_is_put_into_a_value(body: str, told: Any, tmp_path: Path) -> None:
    function = made(f"class F:\n    def process_element(self, value, ctx):\n        {body}\n", tmp_path)
    assert shapes_put(function, {"s": "state"}, ()) == {"state": told}
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
    assert shapes_folded(made(text, tmp_path)) == (pair((NUMBER,), ()), pair((NUMBER,), (NUMBER,)))


def test_what_has_no_text_is_not_known() -> None:
    assert shapes_folded(int) == ()


DICT = Shape(kind="dict", keys=("a", "b"))


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
        ((Shape(kind="tuple", whole=False),), (pair((NUMBER,)),), True),
    ],
)
def test_old_values_are_read_where_new_ones_are_alike(old: Any, new: Any, read: bool) -> None:
    assert are_read_as(old, new) is read


def test_shapes_in_words() -> None:
    words = [str(one) for one in (NUMBER, TEXT, pair((NUMBER,), ()), DICT, Shape(kind="dict"), Shape(kind="list"))]
    assert words == ["a number", "text", "a tuple of 2", "a dict with 'a', 'b'", "a dict", "a list"]
