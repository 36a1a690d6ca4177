"""What code reads of its states' values, and whether that is in the values of before."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.plan.read import reads_folded, reads_of, reads_of_reducing, reads_of_windows
from compat.state.model.contents import Shape, unread
from tests.compat.plan.programs import made

NUMBER, TEXT, OBJECT = Shape(kind="number"), Shape(kind="text"), Shape(kind="set")
PAIR = Shape(kind="tuple", parts=((NUMBER,), (TEXT,)))
DICT = Shape(kind="dict", keys=("a",), parts=((NUMBER,),))
NUMBERS = Shape(kind="list", parts=((NUMBER,),))
JSON = Shape(kind="text", parts=((DICT,),))
ANOTHER = (Shape(kind="bytes"),)
"""What NEW puts in: code that takes a value as it is, is not known to read one of before."""

PROGRAM = """
import json

def first(v):
    return v[0]

def first_of_pairs(v):
    return v[0] if isinstance(v, tuple) else v

def shown(v):
    print(v)

def itself(v):
    return v

class F:
    def open(self, context):
        self.s = context.get_state("state")

    def half(self, v):
        return v / 2

    def process_element(self, value, ctx):
        old = self.s.value()
        {}
"""

READ, NOT = True, False


def body(text: str) -> str:
    return PROGRAM.format(text.replace("\n", "\n        "))


@pytest.mark.parametrize(
    ("text", "old", "read"),
    [
        ("yield f'{old}'", NUMBER, READ),
        ("yield f'{old:.2f}'", NUMBER, NOT),
        ("yield old", NUMBER, NOT),
        ("yield old[0]", NUMBER, NOT),
        ("yield f'{old[0]}'", PAIR, READ),
        ("yield f'{old[2]}'", PAIR, NOT),
        ("yield f'{old[value]}'", NUMBER, NOT),
        ("if old is None: return\nyield f'{old[0]}'", PAIR, READ),
        ("n, t = old\nyield f'{n - 1}'", PAIR, READ),
        ("n, t = old\nyield f'{t - 1}'", PAIR, NOT),
        ("n, t, u = old", PAIR, NOT),
        ("n, t = old[0], old[1]\nt.strip()", PAIR, READ),
        ("old.append(1)", PAIR, NOT),
        ("old.year", NUMBER, NOT),
        ("old + 1", NUMBER, READ),
        ("old + 1", TEXT, NOT),
        ("old + 'a'", TEXT, READ),
        ("old - value", TEXT, NOT),
        ("-old", TEXT, NOT),
        ("not old", TEXT, READ),
        ("old < 3", NUMBER, NOT),
        ("old == 3", TEXT, READ),
        ("old += 1", NUMBER, READ),
        ("old += 1", TEXT, NOT),
        ("int(old)", NUMBER, READ),
        ("int(old)", TEXT, NOT),
        ("round(old)", TEXT, NOT),
        ("str(old)", TEXT, READ),
        ("len(old)", PAIR, READ),
        ("len(old)", NUMBER, NOT),
        ("for one in old: one.strip()", NUMBER, NOT),
        ("for one in old: one.strip()", PAIR, NOT),
        ("for one in old: print(one)", PAIR, READ),
        ("[one - 1 for one in old]", TEXT, NOT),
        ("sum(old)", PAIR, NOT),
        ("yield list(old)[0]", Shape(kind="tuple", parts=((PAIR,),)), READ),
        ("print(old['a'])", DICT, READ),
        ("print(old['b'])", DICT, NOT),
        ("print(old.get('b', old['a']))", DICT, READ),
        ("print(old.get('b', 0))", DICT, NOT),
        ("print(old['b'] if 'b' in old else old['a'])", DICT, READ),
        ("print(old['b'] if 'b' in old else 0)", DICT, NOT),
        ("print(old['b'] if 'b' not in old else 0)", DICT, NOT),
        ("for key, one in old.items(): print(one + 1)", DICT, READ),
        ("for one in old.values(): print(one + 'a')", DICT, NOT),
        ("old['b'] = 1", DICT, READ),
        ("del old['b']", DICT, NOT),
        ("del old['a']", DICT, READ),
        ("print(old.pop('a') + 1)", DICT, READ),
        ("print(old.pop('b'))", DICT, NOT),
        ("print(old.pop('b', 0), old['a'])", DICT, READ),
        ("print(old.setdefault('a', 0)[0])", DICT, NOT),
        ("print(old.copy()['b'])", DICT, NOT),
        ("print(old.most_common())", Shape(kind="dict", name="collections:Counter"), NOT),
        ("print(old[value] + 1)", DICT, READ),
        ("print(old[value][0])", DICT, NOT),
        ("print(old.get(value)[0])", DICT, NOT),
        ("print(old[value][0])", NUMBERS, NOT),
        ("print(old[value] - 1)", NUMBERS, READ),
        ("print(old.pop()[0])", NUMBERS, NOT),
        ("print(old[-3:])", NUMBERS, NOT),
        ("print(sorted(old, key=value))", NUMBER, NOT),
        ("print(old.index(1) + old.count(2))", NUMBERS, READ),
        ("if not isinstance(old, tuple):\n    old = (old, 0)\nprint(old[0])", NUMBER, READ),
        ("if not isinstance(old, tuple):\n    old = (old[0], 0)\nprint(old[1])", PAIR, READ),
        ("if value:\n    old = (old, 0)\nprint(old[0])", NUMBER, NOT),
        ("if isinstance(old, tuple):\n    old = old[0]\nprint(old[0])", NUMBER, NOT),
        ("print(json.loads(old)['a'])", JSON, READ),
        ("print(json.loads(old)['b'])", JSON, NOT),
        ("print(json.loads(old)['b'])", TEXT, READ),
        ("one = json.loads(old)\nprint(one.get('b'), one['a'])", JSON, READ),
        ("print(json.loads(old).get('b'))", JSON, NOT),
        ("print(json.loads(old))", NUMBER, NOT),
        ("yield json.loads(old)", JSON, READ),
        ("yield json.dumps(old)", DICT, NOT),
        ("old['b'] = 1", PAIR, NOT),
        ("print(first(old))", PAIR, READ),
        ("print(first(old))", NUMBER, NOT),
        ("print(first(v=old))", NUMBER, NOT),
        ("print(first_of_pairs(old))", NUMBER, READ),
        ("yield first_of_pairs(old)", NUMBER, NOT),
        ("print(itself(itself(old))[0])", NUMBER, NOT),
        ("print(itself(old)[0], itself(old)[2])", PAIR, NOT),
        ("shown(old)", NUMBER, READ),
        ("self.half(old)", TEXT, NOT),
        ("self.half(old)", NUMBER, READ),
        ("value.anything(old)", NUMBER, NOT),
        ("seen = set()\nseen.add(old)", NUMBER, NOT),
        ("self.s.update(old)", NUMBER, READ),
        ("print(old[0] if isinstance(old, tuple) else old)", NUMBER, READ),
        ("print(old[0] if not isinstance(old, tuple) else old)", NUMBER, NOT),
        ("if isinstance(old, int): return\nprint(old[0])", NUMBER, NOT),
        ("if isinstance(old, (int, float)): return\nprint(old[0])", NUMBER, READ),
        ("if not isinstance(old, tuple): return\nprint(old[0])", NUMBER, READ),
        ("if isinstance(old, tuple) and old[0]: print(1)", NUMBER, READ),
        ("try:\n    old[0]\nexcept TypeError: pass", NUMBER, NOT),
        ("old = old or (0, 0)\nprint(old[0])", NUMBER, NOT),
        ("if (n := old): print(n[0])", NUMBER, NOT),
        ("print(getattr(old, 'year'))", NUMBER, NOT),
        ("print(hasattr(old, 'year'))", NUMBER, NOT),
        ("def inner(old): return old[0]\nprint(old)", NUMBER, READ),
        ("def inner(): return old[0]\nprint(old)", NUMBER, NOT),
    ],
)
def test_what_is_read_of_a_value(text: str, old: Shape, read: bool, tmp_path: Path) -> None:
    found = reads_of(made(body(text), tmp_path), {"s": "state"}, {"state": "value"})
    assert (unread((old,), found["state"], ANOTHER) is None) is read


@pytest.mark.parametrize(
    "text",
    [
        "value.keep(self.s)",
        "other = self.s\nother = None",
        "return self.s",
        "self.s.anything()",
        "[self.s]",
    ],
)
def test_a_state_that_is_used_in_another_way_is_missing(text: str, tmp_path: Path) -> None:
    assert reads_of(made(body(text), tmp_path), {"s": "state"}, {"state": "value"}) == {}


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        ("list", "for one in self.s: pass", None),
        ("list", "for one in self.s.get(): print(one - 1)", READ),
        ("list", "for one in self.s.get(): print(one[0])", NOT),
        ("list", "print(list(self.s.get())[0] - 1)", READ),
        ("list", "print(next(iter(self.s.get()))[0])", NOT),
        ("map", "print(self.s.get(1) - 1)", READ),
        ("map", "print(self.s.get(1)[0])", NOT),
        ("map", "for key, one in self.s.items(): print(one[0])", NOT),
        ("map", "for one in self.s.values(): print(one - 1)", READ),
        ("map", "for key in self.s.keys(): print(key[0])", READ),
    ],
)
def test_what_is_read_of_several_values(kind: str, text: str, read: bool | None, tmp_path: Path) -> None:
    program = f"class F:\n    def process_element(self, value, ctx):\n        {text}\n"
    found = reads_of(made(program, tmp_path), {"s": "state"}, {"state": kind})
    assert ("state" in found) is (read is not None)
    assert read is None or (unread((NUMBER,), found["state"], ANOTHER) is None) is read


FOLD = """
class F:
    def create_accumulator(self): return 0
    def add(self, value, a): return {add}
    def get_result(self, a): return {result}
    def merge(self, a, b): return a
    def reduce(self, a, b): return {result}
    def process(self, key, context, elements): return [{result} for a in elements]
"""


@pytest.mark.parametrize(
    ("add", "result", "read"), [("a[0]", "0", NOT), ("0", "a[0]", NOT), ("0", "str(a)", NOT), ("0", "0", NOT)]
)
def test_accumulators_are_given_back(add: str, result: str, read: bool, tmp_path: Path) -> None:
    found = reads_folded(made(FOLD.format(add=add, result=result), tmp_path))
    assert (unread((NUMBER,), found, ANOTHER) is None) is read
    assert reads_folded(int) is None


@pytest.mark.parametrize(("result", "read"), [("a[0]", NOT), ("str(a)", READ), ("a", NOT)])
def test_reducing_functions_and_those_of_windows_read_elements(result: str, read: bool, tmp_path: Path) -> None:
    function = made(FOLD.format(add="0", result=result), tmp_path)
    assert (unread((NUMBER,), reads_of_reducing(function, ()), ANOTHER) is None) is read
    assert (unread((NUMBER,), reads_of_windows(function), ANOTHER) is None) is read


def test_what_has_no_text_is_not_seen() -> None:
    assert reads_of_reducing(max, ()) is None
    assert reads_of_windows(int) is None
