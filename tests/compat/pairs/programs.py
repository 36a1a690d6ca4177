"""Programs in PyFlink's spelling, in a line each.

What each one prints is ``key|before|after``: what the state held when a record came, and what it was left with. So the
first line of a key after a restore tells whether its state came back. ``L``, ``I``, ``S`` and ``P`` stand for types: a
program writes each type anew, because PyFlink cannot pickle one that was used already.
"""

from __future__ import annotations

import re
from textwrap import dedent, indent

_HEAD = """\
import time

from pyflink.common import Configuration, Duration, Instant, Row, Time, Types, WatermarkStrategy
from pyflink.datastream import (
    AggregateFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)


def slow(x):
    time.sleep(0.02)
    return x


def show(value):
    if isinstance(value, Row):
        return repr(tuple(show(field) for field in value))
    return repr(value)

"""

_MAIN = """

def main():
    env = StreamExecutionEnvironment.get_execution_environment()
{settings}
    numbers = env.from_source(NumberSequenceSource(1, 10000000), WatermarkStrategy.no_watermarks(), "numbers") \\
        .uid("numbers").map(slow, L).uid("slow")
{graph}
    env.execute("job")


if __name__ == "__main__":
    main()
"""

_TYPES = {"L": "LONG", "I": "INT", "S": "STRING", "P": "PICKLED_BYTE_ARRAY"}
_SHORT = re.compile(r"\b[LISP]\b")
KEPT = 'numbers.key_by(lambda x: x % 3, L).process(Keep(), S).uid("keep")'
KEYED = KEPT + '.print().uid("out")'
DAY = "TumblingProcessingTimeWindows.of(Time.days(1))"
SUM = """
numbers.map(lambda x: (x % 3, 0, 1), Types.TUPLE([L, L, L])).key_by(lambda t: t[0], L) \\
    .reduce(lambda a, b: (a[0], a[2], a[2] + 1)).uid("keep") \\
    .map(lambda t: f"{t[0]}|{t[1]}|{t[2]}", S).print().uid("out")
"""


def job(graph: str, code: str = "", settings: str = "env.set_parallelism(1)") -> str:
    """A program with these classes, these settings and this graph behind the stream ``numbers``."""
    main = _MAIN.format(settings=indent(dedent(settings), "    "), graph=indent(dedent(graph).strip("\n"), "    "))
    return _HEAD + _SHORT.sub(lambda match: f"Types.{_TYPES[match[0]]}()", dedent(code) + main)


def keep(declare: str, use: str, graph: str = KEYED, *, timer: str = "", settings: str = "", name: str = "Keep") -> str:
    """A keyed function that declares states in ``open`` and yields a line for each record."""
    code = f"\nclass {name}(KeyedProcessFunction):\n    def open(self, ctx):\n"
    code += indent(dedent(declare).strip("\n") or "pass", " " * 8)
    code += "\n\n    def process_element(self, value, ctx):\n        key = ctx.get_current_key()\n"
    code += indent(dedent(use).strip("\n"), " " * 8) + "\n"
    if timer:
        code += "\n    def on_timer(self, timestamp, ctx):\n" + indent(dedent(timer).strip("\n"), " " * 8) + "\n"
    return job(graph.replace("Keep()", f"{name}()"), code, settings or "env.set_parallelism(1)")


def value(type: str, make: str = "value", *, state: str = "s", ttl: str = "", **more: str) -> str:
    """A value state of a type; ``make`` is the value to store for the number ``value``."""
    declare = f'descriptor = ValueStateDescriptor("{state}", {type})\n{_ttl(ttl)}self.s = ctx.get_state(descriptor)'
    use = f'before, after = self.s.value(), {make}\nself.s.update(after)\nyield f"{{key}}|{{show(before)}}|{{show(after)}}"'
    return keep(declare, use, **more)


def by_name(program: str, *fields: str) -> str:
    """The program with rows shown as the values of these fields."""
    shown = ", ".join(f"getattr({{0}}, {name!r}, None)" for name in fields)
    for each in ("before", "after"):
        program = program.replace(f"show({each})", f"({shown.format(each)})")
    return program


def first(program: str) -> str:
    """The program with tuples shown as their first field."""
    return program.replace("show(before)", "before and before[0]").replace("show(after)", "after[0]")


def firsts(program: str) -> str:
    """The program with the tuples or rows in a list or map shown as their first field."""
    for shown in ("before", "[*before, after]"):
        program = program.replace(f"show({shown})", f"[each[0] for each in {shown}]")
    return program.replace("show(v)", "v[0]")


def list_(type: str, make: str = "value", *, state: str = "s", ttl: str = "", **more: str) -> str:
    """A list state of a type, to which each record adds an element."""
    declare = f'descriptor = ListStateDescriptor("{state}", {type})\n{_ttl(ttl)}self.s = ctx.get_list_state(descriptor)'
    use = f"""
        before, after = list(self.s.get()), {make}
        self.s.add(after)
        yield f"{{key}}|{{show(before)}}|{{show([*before, after])}}"
    """
    return keep(declare, use, **more)


def map_(key: str, type: str, entry: str = "value % 2, value", *, state: str = "s", ttl: str = "", **more: str) -> str:
    """A map state, into which each record puts an entry."""
    declare = (
        f'descriptor = MapStateDescriptor("{state}", {key}, {type})\n{_ttl(ttl)}self.s = ctx.get_map_state(descriptor)'
    )
    use = f"""
        before, (name, after) = dict(self.s.items()), ({entry})
        self.s.put(name, after)
        shown = [sorted((repr(k), show(v)) for k, v in each.items()) for each in (before, {{**before, name: after}})]
        yield f"{{key}}|{{shown[0]}}|{{shown[1]}}"
    """
    return keep(declare, use, **more)


def reducing(type: str, *, state: str = "s", function: str = "lambda a, b: a + b", **more: str) -> str:
    """A reducing state that sums ones."""
    declare = f'self.s = ctx.get_reducing_state(ReducingStateDescriptor("{state}", {function}, {type}))'
    use = 'before = self.s.get()\nself.s.add(1)\nyield f"{key}|{before}|{self.s.get()}"'
    return keep(declare, use, **more)


def counting(type: str = "L", *, state: str = "s", **more: str) -> str:
    """A value state that counts, as a reducing state would."""
    return value(type, "(self.s.value() or 0) + 1", state=state, **more)


AVERAGE = """
class Total(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b

"""


def aggregating(type: str, *, state: str = "s", **more: str) -> str:
    """An aggregating state that sums ones."""
    declare = f'self.s = ctx.get_aggregating_state(AggregatingStateDescriptor("{state}", Total(), {type}))'
    use = 'before = self.s.get()\nself.s.add(1)\nyield f"{key}|{before}|{self.s.get()}"'
    return keep(declare, use, **more).replace("\nclass Keep", AVERAGE + "\nclass Keep", 1)


def window(
    assigner: str, function: str = "process(Elements(), S)", *, trigger: str = "CountTrigger.of(1)", **more: str
) -> str:
    """A window that fires at each element and tells what it holds; ``function`` may also be ``REDUCE``."""
    code = """
        class Elements(ProcessWindowFunction):
            def process(self, key, context, elements):
                held = [element[2] for element in elements]
                yield f"{key}|{held[:-1]}|{held}"
    """
    if function == "REDUCE":
        function = "reduce(lambda a, b: (a[0], a[2], a[2] + b[2])).map(lambda t: f'{t[0]}|{t[1]}|{t[2]}', S)"
    of = f".window({assigner})" + (f".trigger({trigger})" if trigger else "")
    uid = '.uid("window")'
    head, dot, tail = function.partition(".map(")
    graph = f"""
        triples = numbers.map(lambda x: (x % 3, 0, x), Types.TUPLE([L, L, L]))
        triples.key_by(lambda t: t[0], L){of}.{head}{uid}{dot}{tail}.print().uid("out")
    """
    return job(graph, code, **more)


def count_window(size: int, function: str = "process(Elements(), S)") -> str:
    """A window of a number of elements."""
    return window("NONE", function, trigger="").replace(".window(NONE)", f".count_window({size})")


def broadcast(state: str, key: str, type: str, entry: str = "0, value", *, keyed: bool = True, extra: str = "") -> str:
    """A function with broadcast state, which each record of the broadcast stream changes and shows."""
    base = "KeyedBroadcastProcessFunction" if keyed else "BroadcastProcessFunction"
    code = f"""
        RULES = MapStateDescriptor("{state}", {key}, {type})
        {extra or "EXTRA = None"}


        class Rules({base}):
            def process_element(self, value, ctx):
                return []

            def process_broadcast_element(self, value, ctx):
                name, after = {entry}
                before = ctx.get_broadcast_state(RULES).get(name)
                ctx.get_broadcast_state(RULES).put(name, after)
                yield f"{{name}}|{{show(before)}}|{{show(after)}}"
    """
    first = "numbers.key_by(lambda x: x % 3, L)" if keyed else "numbers"
    given = "RULES, EXTRA" if extra else "RULES"
    graph = f"""
        rules = numbers.map(lambda x: x, L).uid("rules")
        {first}.connect(rules.broadcast({given})).process(Rules(), S).uid("check").print().uid("out")
    """
    return job(graph, code)


def _ttl(hours: str) -> str:
    if not hours:
        return ""
    return f"descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours({hours})).build())\n"


THREAD = """
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("python.execution-mode", "thread"))
    env.set_parallelism(1)
"""
