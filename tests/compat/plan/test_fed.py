"""What feeds the operators of programs in Python: digests that know sources and functions, and not how these are chained."""

from __future__ import annotations

from pathlib import Path

import pytest

import compat

HEAD = """
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
class Keep(KeyedProcessFunction):
    def open(self, ctx): self.n = ctx.get_state(ValueStateDescriptor("n", Types.LONG()))
    def process_element(self, value, ctx): yield value
class Split(ProcessFunction):
    def process_element(self, value, ctx): yield value
A, B = OutputTag("a", Types.LONG()), OutputTag("b", Types.LONG())
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection([1, 2], Types.LONG()).name("numbers")
others = env.from_collection([3, 4], Types.LONG()).name("others")
def keep(stream): return stream.key_by(lambda n: n % 3, Types.LONG()).process(Keep(), Types.LONG()).uid("keep")
rest = 1
"""
END = '\nenv.execute("job")\n'


def feed(tmp_path: Path, body: str) -> str:
    """The feed of the operator that a program calls ``keep``."""
    program = tmp_path / "job.py"
    program.write_text(HEAD + body + END, encoding="utf-8")
    (found,) = [one.detail["fed"] for one in compat.plan(program)[0].operators if one.uid == "keep"]
    assert isinstance(found, str)
    return found


FILTERED = "keep(numbers.filter(lambda n: n % 2 == 1)).print()"


@pytest.mark.parametrize(
    "other",
    [
        "keep(numbers.filter(lambda n: n % 2 == 1).disable_chaining()).print()",
        "keep(numbers.filter(lambda n: n % 2 == 1).set_parallelism(2)).print()",
        "x = numbers.filter(lambda n: n % 2 == 1)\nx.print()\nkeep(x).print()",
        "keep(numbers.filter(lambda n: n % 2 == 1)).map(str).print()",
        "keep(numbers.filter(lambda n: n % 2 == 1).uid('odd').name('odd')).print()",
    ],
)
def test_it_stays_where_only_the_way_it_runs_changes(tmp_path: Path, other: str) -> None:
    assert feed(tmp_path, FILTERED) == feed(tmp_path, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FILTERED, "keep(numbers.filter(lambda n: n % 2 == 0)).print()"),
        (FILTERED, "keep(others.filter(lambda n: n % 2 == 1)).print()"),
        (FILTERED, "keep(numbers).print()"),
        ("keep(numbers.filter(lambda n, r=rest: n % 2 == r)).print()",
         "rest = 0\nkeep(numbers.filter(lambda n, r=rest: n % 2 == r)).print()"),
        ("keep(numbers.process(Split()).get_side_output(A)).print()",
         "keep(numbers.process(Split()).get_side_output(B)).print()"),
        ("keep(numbers.union(others)).print()", "keep(numbers.union(numbers)).print()"),
    ],
)  # fmt: skip
def test_it_differs_with_sources_functions_values_and_side_outputs(tmp_path: Path, one: str, other: str) -> None:
    assert feed(tmp_path, one) != feed(tmp_path, other)


def test_the_order_of_a_union_does_not_count(tmp_path: Path) -> None:
    assert feed(tmp_path, "keep(numbers.union(others)).print()") == feed(
        tmp_path, "keep(others.union(numbers)).print()"
    )
