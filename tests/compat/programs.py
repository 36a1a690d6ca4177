"""Programs for laws: what a job does, drawn by hypothesis, apart from how its text is written."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

KINDS = ("map", "flat_map", "filter", "count", "list", "rebalance", "union")
STATEFUL = ("count", "list")


class Step(Struct, frozen=True):
    """One call on the stream. ``uid`` pins its id; ``other`` is the earlier stream that a union takes in."""

    kind: str
    uid: str | None = None
    parallelism: int | None = None
    unchained: bool = False
    other: int = 0


class Job(Struct, frozen=True):
    """A source, steps, a sink."""

    steps: tuple[Step, ...]

    def with_step(self, place: int, step: Step) -> Job:
        """The job with one more step, in front of the one at ``place``."""
        moved = (replace(one, other=one.other + (one.other >= place)) for one in self.steps[place:])
        return Job((*self.steps[:place], step, *moved))


class Style(Struct, frozen=True, kw_only=True):
    """Variations that no id may depend on: names, bodies, comments, the order of imports and of definitions."""

    prefix: str = "f"
    long_bodies: bool = False
    comments: bool = False
    reverse_imports: bool = False
    in_main: bool = True


STYLES = st.builds(
    Style,
    prefix=st.sampled_from(["f", "transform", "Ünïcode", "_private"]),
    long_bodies=st.booleans(),
    comments=st.booleans(),
    reverse_imports=st.booleans(),
    in_main=st.booleans(),
)


@st.composite
def jobs(draw: st.DrawFn, pinned: bool | None = None, most: int = 6) -> Job:
    """A job; with ``pinned``, every operator that can have a uid has one (True) or none has (False)."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most))
    parallelisms = [None] if "union" in kinds else [None, None, 1, 3]  # keying a union of several is refused
    steps = []
    for place, kind in enumerate(kinds):
        uid = f"uid-{place}" if (draw(st.booleans()) if pinned is None else pinned) else None
        steps.append(
            Step(
                kind,
                uid=uid if kind not in ("rebalance", "union") else None,
                parallelism=draw(st.sampled_from(parallelisms)) if kind not in ("rebalance", "union") else None,
                unchained=kind in ("map", "flat_map", "filter") and draw(st.integers(0, 4)) == 0,
                other=draw(st.integers(0, place)),
            )
        )
    return Job(tuple(steps))


IMPORTS = [
    "from pyflink.common import Types",
    "from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment",
    "from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor",
]


def source(job: Job, style: Style | None = None) -> str:
    """The text of a job."""
    style = style or Style()
    imports = reversed(IMPORTS) if style.reverse_imports else IMPORTS
    definitions = [line for place, step in enumerate(job.steps) for line in _definition(place, step, style)]
    calls = ["env = StreamExecutionEnvironment.get_execution_environment()", "env.set_parallelism(2)"]
    calls.append(f"{style.prefix}_0 = env.from_collection(list(range(9)), Types.LONG()).uid('source')")
    for place, step in enumerate(job.steps):
        if style.comments:
            calls += [f"# step {place}", ""]
        calls.append(f"{style.prefix}_{place + 1} = {_call(place, step, style)}")
    calls += [f"{style.prefix}_{len(job.steps)}.print()", "env.execute('job')"]
    if style.in_main:
        calls = ["def main():", *("    " + call for call in calls), "", "", "main()"]
    return "\n".join([*imports, "", "", *definitions, *calls]) + "\n"


def _definition(place: int, step: Step, style: Style) -> list[str]:
    name = f"{style.prefix}_of_{place}"
    extra = ["    # what it was", "    kept = value", "    value = kept"] if style.long_bodies else []
    match step.kind:
        case "map":
            return [f"def {name}(value):", *extra, "    return value", "", ""]
        case "flat_map":
            return [f"def {name}(value):", *extra, "    yield value", "", ""]
        case "filter":
            return [f"def {name}(value):", *extra, "    return value % 2 == 0", "", ""]
        case "count" | "list":
            descriptor = "ValueStateDescriptor" if step.kind == "count" else "ListStateDescriptor"
            getter = "get_state" if step.kind == "count" else "get_list_state"
            return [
                f"class {name}(KeyedProcessFunction):",
                "    def open(self, context):",
                f"        self.{style.prefix} = context.{getter}({descriptor}('{step.kind}', Types.LONG()))",
                "",
                "    def process_element(self, value, ctx):",
                *("    " + line for line in extra),
                "        yield value",
                "",
                "",
            ]
        case _:
            return []


def _call(place: int, step: Step, style: Style) -> str:
    stream, function = f"{style.prefix}_{place}", f"{style.prefix}_of_{place}"
    match step.kind:
        case "rebalance":
            return f"{stream}.rebalance()"
        case "union":
            return f"{stream}.union({style.prefix}_{step.other})"
        case "count" | "list":
            call = f"{stream}.key_by(lambda value: value, Types.LONG()).process({function}(), Types.LONG())"
        case "filter":
            call = f"{stream}.filter({function})"
        case _:
            call = f"{stream}.{step.kind}({function}, Types.LONG())"
    if step.uid is not None:
        call += f".uid({step.uid!r})"
    if step.parallelism is not None:
        call += f".set_parallelism({step.parallelism})"
    return call + (".disable_chaining()" if step.unchained else "")
