"""States that a function asks for while it processes are told by its text, where that is all there is to it."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Any

import pytest

from compat.plan.asked import Asked, asked_while_processing

HEAD = """
from compat.compiler.datastream.common import Time, Types
from compat.compiler.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from compat.compiler.datastream.state import StateTtlConfig, ValueStateDescriptor

COUNT = ValueStateDescriptor("count", Types.LONG())
TTL = StateTtlConfig.new_builder(Time.hours(1)).build()

def made_by_the_program(name):
    return ValueStateDescriptor(name, Types.LONG())

def helper(states):
    states.get_state(COUNT)

"""


def asked(function: str, folder: Path, kept: frozenset[str] = frozenset()) -> tuple[Asked, ...] | None:
    """What the class ``F`` of a program asks for, once it was opened."""
    path = folder / "functions.py"
    path.write_text(HEAD + function, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(folder.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Any = module.F()
    made.open(object())
    return asked_while_processing(made, kept)


def told_of(states: tuple[Asked, ...] | None) -> list[tuple[str, bool]] | None:
    return None if states is None else [(each.descriptor.name, each.per_window) for each in states]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('context.window_state().get_state(ValueStateDescriptor("s", Types.LONG())).update(1)', [("s", True)]),
        ('context.global_state().get_state(ValueStateDescriptor("s", Types.LONG())).update(1)', [("s", False)]),
        ("context.global_state().get_state(COUNT).update(1)", [("count", False)]),
        ("states = context.window_state()\nstates.get_state(COUNT).update(1)", [("count", True)]),
        (
            "d = ValueStateDescriptor(name='s', value_type_info=Types.LONG())\ncontext.global_state().get_state(d)",
            [("s", False)],
        ),
        ("context.global_state().get_state(self.mine).update(1)", [("mine", False)]),
        ("context.global_state().get_state(ValueStateDescriptor(str(key), Types.LONG()))", None),
        ('context.global_state().get_state(ValueStateDescriptor(f"{key}", Types.LONG()))', None),
        ('context.global_state().get_state(made_by_the_program("s"))', None),
        ("for d in [COUNT]:\n    context.global_state().get_state(d)", None),
        (
            "d = ValueStateDescriptor('s', Types.LONG())\nd.enable_time_to_live(TTL)\ncontext.global_state().get_state(d)",
            None,
        ),
        ("helper(context.global_state())", None),
        ("states = context.global_state()\nhelper(states)", None),
        ("ask = context.global_state\nask().get_state(COUNT)", None),
    ],
)
def test_states_of_a_windows_function(body: str, told: Any, tmp_path: Path) -> None:
    function = f"""
class F(ProcessWindowFunction):
    def open(self, ctx):
        self.mine = ValueStateDescriptor("mine", Types.LONG())

    def process(self, key, context, elements):
{textwrap.indent(body, " " * 8)}
        return []
"""
    assert told_of(asked(function, tmp_path)) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.context.get_metrics_group().counter('n').inc()", []),
        ("self.context.get_state(COUNT).update(1)", [("count", False)]),
        ("helper(self.context)", None),
        ("self.context.get_state(ValueStateDescriptor(str(value), Types.LONG()))", None),
    ],
)
def test_states_of_a_function_that_keeps_its_context(body: str, told: Any, tmp_path: Path) -> None:
    function = f"""
class F(KeyedProcessFunction):
    def open(self, ctx):
        self.context = ctx

    def process_element(self, value, ctx):
        {body}
        return []
"""
    assert told_of(asked(function, tmp_path, frozenset({"context"}))) == told


def test_a_state_is_where_its_descriptor_is_made(tmp_path: Path) -> None:
    function = """
class F(ProcessWindowFunction):
    def open(self, ctx):
        pass

    def process(self, key, context, elements):
        state = context.global_state().get_state(ValueStateDescriptor("here", Types.LONG()))
        return []
"""
    ((state,), lines) = (asked(function, tmp_path) or (), (HEAD + function).splitlines())
    made_at: Any = getattr(state.descriptor, "made_at", None)
    assert '"here"' in lines[made_at[1] - 1]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("self.mine", [("mine", True)]),
        ('ValueStateDescriptor("s", Types.LONG())', [("s", True)]),
        ("made_by_the_program('s')", None),
    ],
)
def test_states_of_a_trigger(given: str, told: Any, tmp_path: Path) -> None:
    function = f"""
class F:
    def __init__(self):
        self.mine = ValueStateDescriptor("mine", Types.LONG())

    def open(self, ctx):
        pass

    def on_element(self, element, timestamp, window, ctx):
        ctx.get_partitioned_state({given}).update(1)
"""
    assert told_of(asked(function, tmp_path)) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("context.get_runtime_context().get_state(self.mine).update(1)", [("mine", False)]),
        ("runtime = context.get_runtime_context(); runtime.get_state(self.mine)", [("mine", False)]),
        ("context.get_runtime_context().get_task_name()", []),
        ("context.get_runtime_context().get_state(made_by_the_program('s'))", None),
        ("count(context.get_runtime_context())", None),
        ("context.get_current_processing_time()", []),
    ],
)
def test_states_of_an_assigner(body: str, told: Any, tmp_path: Path) -> None:
    function = f"""
class F:
    def __init__(self):
        self.mine = ValueStateDescriptor("mine", Types.LONG())

    def open(self, ctx):
        pass

    def assign_windows(self, element, timestamp, context):
        {body}
        return []
"""
    assert told_of(asked(function, tmp_path)) == told
