"""The states that window assigners keep for each key."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.check.findings import Report
from compat.comparison import Comparison, compare

PROGRAM = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import *


class ByState(WindowAssigner):
    def __init__(self, name):
        self.counts = ValueStateDescriptor(name, Types.LONG())

    def assign_windows(self, element, timestamp, context):
        count = context.get_runtime_context().get_state(self.counts)
        count.update((count.value() or 0) + 1)
        return [CountWindow(count.value() // 10)]

    def get_default_trigger(self, env):
        return CountTrigger.of(10)

    def get_window_serializer(self):
        return CountWindowSerializer()

    def is_event_time(self):
        return False


class Keys(WindowFunction):
    def apply(self, key, window, inputs):
        yield str(key)


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2, 3], Types.LONG()).uid("numbers").key_by(lambda n: n % 3, Types.LONG())
numbers.window(ASSIGNER).apply(Keys(), Types.STRING()).uid("windows").print().uid("out")
env.execute()
"""
TUMBLING, SLIDING = "CountTumblingWindowAssigner.of(9)", "CountSlidingWindowAssigner.of(9, 3)"


@pytest.mark.parametrize(
    ("old", "new", "rules", "kept"),
    [
        ("ByState('n')", "ByState('n')", set(), "n"),
        ("ByState('n')", "ByState('m')", {"CMP402"}, "n"),
        (TUMBLING, TUMBLING, set(), "tumble-count-assigner"),
        (SLIDING, SLIDING, set(), "slide-count-assigner"),
    ],
)
def test_they_are_compared(old: str, new: str, rules: set[str], kept: str, tmp_path: Path) -> None:
    for name, assigner in (("old", old), ("new", new)):
        (tmp_path / f"{name}.py").write_text(PROGRAM.replace("ASSIGNER", assigner))
    (report,) = compare(Comparison(str(tmp_path / "old.py"), str(tmp_path / "new.py"))).outcomes
    assert isinstance(report, Report)
    assert {finding.rule for finding in report.findings} == rules
    assert "0x" not in "".join(str(one.detail.get("window")) for one in (*report.old.operators, *report.new.operators))
    assert kept in {account.state.name for account in report.accounts if account.state is not None}
