"""PyFlink programs without uids, drawn by hypothesis: how they are written differs as much as what they do."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

HEAD = """\
from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingProcessingTimeWindows

L = Types.LONG()
"""
COUNT = """

class Count{0}(KeyedProcessFunction):
    def open(self, context):
        self.kept = context.get_state(ValueStateDescriptor("kept {0}", L))

    def process_element(self, value, ctx):
        yield value
"""
WINDOW = """

class Window{0}(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield {0}
"""
MAIN = """

def identity(value):
    return value


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
"""
CALLS = {
    "source": ("from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), 'numbers {0}')",),
    "map": ("map(identity, L)",),
    "filter": ("filter(bool)",),
    "rebalance": ("rebalance()",),
    "count": ("key_by(identity, L)", "process(Count{0}(), L)"),
    "reduce": ("key_by(identity, L)", "reduce(lambda a, b: a + b)"),
    "window": (
        "key_by(identity, L)",
        "window(TumblingProcessingTimeWindows.of(Time.days(1)))",
        "process(Window{0}(), L)",
    ),
}
STATELESS, STATEFUL = ("map", "filter", "rebalance"), ("count", "window", "reduce")
STYLES = ("line", "parentheses", "backslashes", "arguments")


class Op(Struct, frozen=True):
    """A statement that makes a stream: its number names its class and variable, ``input`` is the number it reads."""

    number: int
    kind: str
    input: int | None
    name: str | None = None
    style: str = "line"

    @property
    def stateful(self) -> bool:
        """Whether a restore has state to give to it."""
        return self.kind in STATEFUL or self.kind == "source"

    def text(self) -> str:
        """The statement."""
        calls = [call.format(self.number) for call in CALLS[self.kind]]
        if self.name is not None and self.kind != "rebalance":
            calls.append(f"name({self.name!r})")
        before = "env" if self.input is None else f"v{self.input}"
        target = f"v{self.number} = "
        match self.style:
            case "parentheses":
                return f"{target}(\n    {before}\n    ." + "  # as ever\n    .".join(calls) + "\n)"
            case "backslashes":
                return f"{target}{before} \\\n    ." + " \\\n    .".join(calls)
            case "arguments":
                return f"{target}identity({before}.{'.'.join(calls)})  # as ever"
            case _:
                return f"{target}{before}.{'.'.join(calls)}  # as ever"


Program = tuple[Op, ...]


def text(program: Program) -> str:
    """The text of a program. Classes stand in the order of their numbers, whatever the order of the statements."""
    made = {op.number: op.kind for op in sorted(program, key=lambda op: op.number)}
    classes = [{"count": COUNT, "window": WINDOW}.get(kind, "").format(number) for number, kind in made.items()]
    last = f"v{program[-1].number}.print()"
    return "\n".join([HEAD + "".join(classes) + MAIN, *(op.text() for op in program), last, "env.execute()"]) + "\n"


def in_graph(program: Program) -> set[int]:
    """The numbers of the operators of the job: a source or an exchange that nothing reads is not in it."""
    found: set[int] = set()
    for op in reversed(program):
        if op is program[-1] or op.kind not in ("source", "rebalance") or _is_read(op, program, found):
            found.add(op.number)
    return found


def _is_read(op: Op, program: Program, found: set[int]) -> bool:
    return any(other.input == op.number and other.number in found for other in program)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A source or two and up to six statements behind them, of which one has state."""
    ops = [Op(number, "source", None, style=draw(styles())) for number in range(draw(st.integers(1, 2)))]
    kinds = draw(st.lists(st.sampled_from((*STATELESS, "count", "count", "window", "reduce")), max_size=5))
    for kind in draw(st.permutations([*kinds, "count"])):
        number = len(ops)
        name = f"step {number}" if draw(st.booleans()) else None
        ops.append(Op(number, kind, draw(st.integers(0, number - 1)), name, draw(styles())))
    return tuple(ops)


def styles() -> st.SearchStrategy[str]:
    """How a statement is written."""
    return st.sampled_from(STYLES)


@st.composite
def edited(draw: st.DrawFn, program: Program) -> Program:
    """The program after one edit to four."""
    ops = list(program)
    for number in range(20, 20 + draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(ops) - 1))
        op = ops[place]
        match draw(st.sampled_from(["insert", "insert", "rename", "rewrite", "remove", "order"])):
            case "insert" if op.input is not None:
                ops.insert(place, Op(number, draw(st.sampled_from(STATELESS)), op.input, None, draw(styles())))
                ops[place + 1] = replace(op, input=number)
            case "rename":
                ops[place] = replace(op, name=draw(st.sampled_from([None, f"renamed {number}"])))
            case "rewrite":
                ops[place] = replace(op, style=draw(styles()))
            case "remove" if op.input is not None and len(ops) > 2:
                ops.remove(op)
                ops = [replace(one, input=op.input) if one.input == op.number else one for one in ops]
            case "order":
                ops = draw(orders(ops))
            case _:
                pass
    return tuple(ops)


@st.composite
def orders(draw: st.DrawFn, ops: list[Op]) -> list[Op]:
    """The same statements in another order in which each comes behind the one it reads."""
    left, done = list(ops), []
    while left:
        made = {op.number for op in done}
        chosen = draw(st.sampled_from([op for op in left if op.input is None or op.input in made]))
        left.remove(chosen)
        done.append(chosen)
    return done
