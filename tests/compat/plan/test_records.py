"""What the records of an operator are known to be, and what a program puts into and reads from its pickled states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import compat
from compat.state.model.contents import Shape
from compat.state.model.operators import Detail
from tests.compat.plan.programs import bare

HEAD = """
from pyflink.common import Row, Types
from pyflink.common.time import Time
from pyflink.datastream import KeyedProcessFunction, KeyedCoProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.state import *
from pyflink.datastream.window import TumblingProcessingTimeWindows
PICKLED = Types.PICKLED_BYTE_ARRAY()
class Keep(KeyedProcessFunction):
    def open(self, ctx): self.n = ctx.get_state(ValueStateDescriptor("n", PICKLED))
    def process_element(self, value, ctx):
        self.n.update(value)
        yield 1
class Both(KeyedCoProcessFunction):
    def open(self, ctx): self.n = ctx.get_state(ValueStateDescriptor("n", PICKLED))
    def process_element1(self, value, ctx): yield 1
    def process_element2(self, value, ctx): self.n.update(value)
class Window(ProcessWindowFunction):
    def process(self, key, context, elements): yield sum(elements)
class Sum(AggregateFunction):
    def create_accumulator(self): return (0, 0)
    def add(self, value, a): return (a[0] + 1, value)
    def get_result(self, a): return f"{a[0]}"
    def merge(self, a, b): return a
class Declared(KeyedProcessFunction):
    def open(self, ctx):
        self.r = ctx.get_state(ValueStateDescriptor("r", Types.ROW([Types.LONG()])))
        self.m = ctx.get_map_state(MapStateDescriptor("m", Types.LONG(), Types.TUPLE([Types.STRING()])))
        self.l = ctx.get_list_state(ListStateDescriptor("l", Types.LONG()))
    def process_element(self, value, ctx): yield 1
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2], Types.LONG())
def keep(stream): stream.key_by(lambda v: 1, Types.LONG()).process(Keep(), Types.LONG()).uid("keep").print()
def windowed(stream):
    return stream.key_by(lambda v: 1, Types.LONG()).window(TumblingProcessingTimeWindows.of(Time.seconds(1)))
"""
END = '\nenv.execute("job")\n'
NUMBER, TEXT = (Shape(kind="number"),), (Shape(kind="text"),)


def pair(*parts: tuple[Shape, ...]) -> tuple[Shape, ...]:
    return (Shape(kind="tuple", parts=parts),)


def detail(tmp_path: Path, body: str) -> Detail:
    """What the plan has of the operator that a program calls ``keep``."""
    program = tmp_path / "job.py"
    program.write_text(HEAD + body + END, encoding="utf-8")
    (found,) = [one.detail for one in compat.plan(program)[0].operators if one.uid == "keep"]
    return found


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("keep(numbers)", NUMBER),
        ("keep(numbers.filter(lambda n: n > 1))", NUMBER),
        ("keep(numbers.map(lambda n: (n, 'a')))", pair(NUMBER, TEXT)),
        ("keep(numbers.map(lambda n: (n, 'a'), Types.TUPLE([Types.LONG(), Types.STRING()])))", pair(NUMBER, TEXT)),
        ("keep(numbers.map(lambda n: str(n)).filter(len))", TEXT),
        ("keep(numbers.map(lambda n: 1).union(numbers.map(lambda n: 'a')))", NUMBER + TEXT),
        ("keep(numbers.map(lambda n: 1).union(numbers.map(lambda n: n)))", NUMBER),
        ("keep(numbers.map(lambda n: 1).union(numbers.map(abs)))", None),
        ("keep(numbers.map(lambda n: (n, 'a')).map(lambda p: p[1]))", TEXT),
        ("keep(numbers.flat_map(lambda n: [n]))", None),
    ],
)
def test_records_go_into_a_state(body: str, told: Any, tmp_path: Path) -> None:
    found = detail(tmp_path, body).get("shapes_put", {}).get("n")
    assert (found and bare(found)) == told


def test_the_records_of_the_second_input(tmp_path: Path) -> None:
    body = (
        "texts = numbers.map(str, Types.STRING()).key_by(lambda v: 1, Types.LONG())\n"
        "numbers.key_by(lambda v: 1, Types.LONG()).connect(texts).process(Both(), Types.LONG()).uid('keep').print()"
    )
    assert detail(tmp_path, body)["shapes_put"] == {"n": TEXT}


@pytest.mark.parametrize(
    ("call", "put", "reads"),
    [
        ("process(Window(), Types.LONG())", NUMBER, [["listed", "many"], ["listed", "element", "kind"]]),
        ("aggregate(Sum())", pair((), ()) + pair(NUMBER, NUMBER), None),
    ],
)
def test_windows_hold_records_or_accumulators(call: str, put: Any, reads: Any, tmp_path: Path) -> None:
    stream = "numbers.map(lambda n: 2)" if "process" in call else "numbers"
    found = detail(tmp_path, f"windowed({stream}).{call}.uid('keep').print()")
    assert {one.kind for one in found["shapes_put"]["window-contents"]} == {one.kind for one in put}
    if reads is not None:
        kinds = [[step.kind for step in one.steps] for one in found["shapes_read"]["window-contents"]]
        assert kinds == reads


def test_texts_of_json_are_told_by_what_they_say(tmp_path: Path) -> None:
    body = (
        "import json\nclass Text(KeyedProcessFunction):\n"
        "    def open(self, ctx): self.n = ctx.get_state(ValueStateDescriptor('n', Types.STRING()))\n"
        "    def process_element(self, value, ctx): self.n.update({})\n"
        "numbers.key_by(lambda v: 1, Types.LONG()).process(Text(), Types.LONG()).uid('keep').print()"
    )
    json = Shape(kind="text", parts=((Shape(kind="dict", keys=("a",), parts=(NUMBER,)),),))
    assert detail(tmp_path, body.format("json.dumps({'a': 1})"))["shapes_put"] == {"n": (json,)}
    assert detail(tmp_path, body.format("str(value)"))["shapes_put"] == {}


def test_declared_values_are_what_they_are_declared_to_be(tmp_path: Path) -> None:
    body = "numbers.key_by(lambda v: 1, Types.LONG()).process(Declared(), Types.LONG()).uid('keep').print()"
    assert detail(tmp_path, body)["shapes_put"] == {"r": (Shape(kind="row", parts=(NUMBER,)),), "m": pair(TEXT)}
