"""Functions that PyFlink itself holds are compared by their code: what is not the same is not proven, and said."""

from __future__ import annotations

import pytest

from compat.comparison import Comparison, decide
from compat.loader.jvm.plans import plan_of

PROGRAM = """
from pyflink.common import Types
from pyflink.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import AggregatingStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import GlobalWindows, Trigger, TriggerResult
from helping_compat import many


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, sum):
        return sum + value

    def get_result(self, sum):
        return sum

    def merge(self, one, other):
        return one + other


class Often(Trigger):
    def __init__(self):
        self.seen = ValueStateDescriptor("seen", Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        state = None
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class Keep(KeyedProcessFunction):
    def __init__(self, step):
        self.step = step

    def open(self, ctx):
        self.kept = ctx.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.sums = ctx.get_aggregating_state(AggregatingStateDescriptor("sums", Sum(), Types.LONG()))

    def process_element(self, n, ctx):
        self.kept.update((n, many(self.step)))
        yield n


env = StreamExecutionEnvironment.get_execution_environment()
keyed = env.from_collection([1, 2, 3], Types.LONG()).uid("in").key_by(lambda n: n % 3, Types.LONG())
keyed.process(Keep(2), Types.LONG()).uid("keep").print().uid("out")
env.execute("job")
"""
WINDOWED = PROGRAM.replace(
    "keyed.process(Keep(2), Types.LONG())",
    "keyed.window(GlobalWindows.create()).trigger(Often()).reduce(lambda a, b: a + b)",
)
COUNTED = PROGRAM.replace("keyed.process(Keep(2), Types.LONG())", "keyed.count_window(3).reduce(lambda a, b: a + b)")
HELPING = "def many(n):\n    return n * 2\n"


@pytest.fixture(scope="module")
def reports(build, tmp_path_factory):
    """The reports of all pairs, whose programs are built one after the other."""
    folder = tmp_path_factory.mktemp("programs")
    paths = []
    for name, (old, new, helping) in PAIRS.items():
        for side, text, module in (("old", old, HELPING), ("new", new, helping)):
            place = folder / name / side
            place.mkdir(parents=True)
            (place / "helping_compat.py").write_text(module)
            (place / "job.py").write_text(text)
            paths.append(place / "job.py")
    outcomes = build(paths)
    assert [outcome.crash for outcome in outcomes] == [None] * len(paths)
    plans = [plan_of(outcome.jobs[-1], "job.py") for outcome in outcomes]
    both = zip(plans[::2], plans[1::2], strict=True)
    return {
        name: decide(old, new, Comparison("old.py", "new.py"), {}) for name, (old, new) in zip(PAIRS, both, strict=True)
    }


PAIRS = {
    "a comment": (PROGRAM, "# moved\n" + PROGRAM, HELPING),
    "another structure": (PROGRAM, PROGRAM.replace("(n, many(self.step))", "[n, many(self.step)]"), HELPING),
    "another value": (PROGRAM, PROGRAM.replace("Keep(2)", "Keep(3)"), HELPING),
    "another module": (PROGRAM, PROGRAM, HELPING.replace("n * 2", "[n]")),
    "a module's comment": (PROGRAM, PROGRAM, "# moved\n" + HELPING),
    "another key": (PROGRAM, PROGRAM.replace("n % 3", "n % 4"), HELPING),
    "another fold": (PROGRAM, PROGRAM.replace("sum + value", "sum - value"), HELPING),
    "windows": (WINDOWED, "# moved\n" + WINDOWED, HELPING),
    "another fold of windows": (WINDOWED, WINDOWED.replace("a + b", "a * b"), HELPING),
    "a trigger that keeps state": (
        WINDOWED,
        WINDOWED.replace("state = None", "state = ctx.get_partitioned_state(self.seen)"),
        HELPING,
    ),
    "counted windows": (COUNTED, "# moved\n" + COUNTED, HELPING),
}


@pytest.mark.parametrize(
    ("name", "verdict", "rules"),
    [
        ("a comment", "compatible", {"CMP411"}),
        ("another structure", "unknown", {"CMP411", "CMP431"}),
        ("another value", "unknown", {"CMP411", "CMP431"}),
        ("another module", "unknown", {"CMP411", "CMP431"}),
        ("a module's comment", "compatible", {"CMP411"}),
        ("another key", "unknown", {"CMP411", "CMP419"}),
        ("another fold", "unknown", {"CMP411", "CMP421", "CMP431"}),
        ("windows", "compatible", set()),
        ("another fold of windows", "compatible", {"CMP421"}),
        ("a trigger that keeps state", "unknown", {"CMP410"}),
        ("counted windows", "compatible", set()),
    ],
)
def test_a_pair(name, verdict, rules, reports):
    report = reports[name]
    assert (report.verdict.value, {finding.rule for finding in report.findings}) == (verdict, rules)
