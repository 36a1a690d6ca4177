"""Random jobs, drawn as people write them: named or not, with one to three operators with state behind a trunk."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from msgspec.structs import replace

from tests.compat.restores.jobs import ASKING, OF_FILES, Job, Operator, Source, State, Step
from tests.compat.restores.texts import (
    ASSIGNERS,
    CHAINING,
    COMPACTION,
    EXCHANGES,
    INTERVALS,
    KEYS,
    MAP_KEYS,
    OUT_FILES,
    PATHS,
    ROLLING,
    STATELESS,
    TIMES_TO_LIVE,
    TYPES,
)

KINDS = ("value", "list", "map", "reducing", "aggregating")
OF_A_KEY = ("process", "map", "flat map", "co process", "co map", "co flat map")
PLAIN = ("map", "flat map", "co map", "co flat map")
"""Kinds whose functions are not told the key."""

WITH_STATES = (*OF_A_KEY, "broadcast", "keyed broadcast")
WINDOWS = ("window", "count window", "window all")
OF_WINDOWS = ("window_state", "global_state")
FUNCTIONS = ("process", "apply", "reduce", "aggregate", "reduce and process", "aggregate and process")
OPERATORS = ("process",) * 5 + (
    "map",
    "flat map",
    "co process",
    "co map",
    "co flat map",
    "broadcast",
    "keyed broadcast",
    "window",
    "window",
    "count window",
)
_BACKENDS = ("",) * 4 + ("hashmap", "rocksdb", "rocksdb")
RARE = ("window all", "reduce", "keyed print", "files")


def job(random: Random, flink: str = "2.3", files: float = 0.2) -> Job:
    """A job for a minor version of Flink, with up to three operators with state; that part of the sources reads files."""
    named = random.choice((1.0, 1.0, 0.6, 0.0))
    sources = tuple(
        source(random, named, label, start, flink, files) for label, start in (("first", 1), ("other", 20_400_001))
    )[: random.choice((1, 1, 2))]
    mode = random.choice(("process", "process", "process", "thread"))
    trunk = tuple(
        step(random, named, f"step-{number}", asks(mode, flink)) for number in range(random.choice((0, 0, 1, 2)))
    )
    if len(sources) > 1:
        trunk = (*trunk[:1], Step("union"), *trunk[1:])
    if random.random() < 0.1:
        sources, trunk = (*sources, ending(random, named, files)), (*trunk, Step("union third"))
    if random.random() < 0.1:
        trunk = (*trunk, Step("union again first"))
    made: list[Operator] = []
    while not any(each.labels for each in made):
        made = []
        for number in range(random.choice((1, 1, 2, 2, 3))):
            made.append(operator(random, named, number, made, mode, flink))
    if random.random() < files / 2:
        made.append(of_files(random, named, "k"))
    backends = (*_BACKENDS, *(() if flink.startswith("1.") else ("forst",)))
    parallelism = random.choice((1, 1, 1, 2))
    in_order = parallelism == 1 == len(sources) and sources[0].kind not in OF_FILES  # else timers come in another order
    return Job(
        sources,
        trunk,
        tuple(replace(each, due=each.due and in_order) for each in made),
        parallelism=parallelism,
        max_parallelism=random.choice((None, None, None, 64)),
        mode=mode,
        chaining=random.random() > 0.1,
        python_chaining=random.random() > 0.05,
        settings=(("state.backend.type", backend),) if (backend := random.choice(backends)) else (),
        flink=flink,
    )


def asks(mode: str, flink: str) -> bool:
    """Whether a job can ask asynchronously: PyFlink can since 2.2, and not in thread mode."""
    return mode == "process" and not flink.startswith("1.")


def source(random: Random, named: float, label: str, first: int, flink: str, files: float) -> Source:
    """A source of numbers from one on; that part of them reads files."""
    of_files = random.random() < files
    kind = of_kind(random, flink) if of_files else "sequence"
    return Source(
        label,
        first,
        uid_or_none(random, named, label),
        uid_or_none(random, named, f"slow-{label}"),
        kind="monitored" if kind == "text" and label == "first" else kind,  # the job does not end
        name=f"the {label}" if random.random() < 0.2 else None,
        paths=random.choice(("all", "all", *(PATHS if label != "first" else _LONG))) if of_files else "all",
        format=random.choice(("text", "text", "csv")) if of_files else "text",
        interval=random.choice(INTERVALS) if of_files else INTERVALS[0],
        after=random.choice(AFTER) if random.random() < 0.1 else "",
    )


def of_kind(random: Random, flink: str) -> str:
    """A kind of source that reads files; one is gone since Flink 2.0."""
    kinds = OF_FILES if flink.startswith("1.") else tuple(kind for kind in OF_FILES if kind != "text")
    return random.choice(("files", "monitored", *kinds))


_LONG = [name for name in PATHS if name not in ("brief", "named")]
"""Files that are not read to their end when the savepoint is taken."""
AFTER = (".filter(lambda n: n is not None)", ".rebalance()", ".set_parallelism(1)", ".disable_chaining()")
"""What may stand behind a source."""


def of_files(random: Random, named: float, label: str) -> Operator:
    """A sink of files; one that is told whether to compact needs a uid."""
    compaction = random.choice((None, None, *COMPACTION))
    return Operator(
        label,
        0,
        "files",
        uid=f"files-{label}" if compaction else uid_or_none(random, named, f"files-{label}"),
        name=f"the {label}" if random.random() < 0.3 else None,
        parallelism=random.choice((None, None, 2)),
        compaction=compaction,
        rolling=random.choice(tuple(ROLLING)),
        out=random.choice(tuple(OUT_FILES)),
    )


def ending(random: Random, named: float, files: float = 0.2) -> Source:
    """A source that has ended by the time of the savepoint."""
    return Source(
        "third",
        40_800_001,
        uid_or_none(random, named, "third"),
        uid_or_none(random, named, "slow-third"),
        last_of=20,
        kind="files" if random.random() < files else "list",
        paths=random.choice(("brief", "named")),
    )


def windows_in_threads(random: Random) -> Job:
    """A job in thread mode that is nothing but a window."""
    made = None
    while made is None or made.kind not in WINDOWS:
        made = operator(random, 1.0, 0, (), "thread")
    return Job((Source("first", 1, "first", "slow"),), (), (replace(made, before=made.before[-1:]),), mode="thread")


def operator(
    random: Random, named: float, number: int, others: Iterable[Operator], mode: str, flink: str = "2.3"
) -> Operator:
    """An operator with state behind the trunk, or behind another one."""
    label = "abcdefgh"[number]
    kind = random.choice(RARE if random.random() < 0.12 else OPERATORS)
    states = (
        tuple(_that_runs(state(random, f"s{place}", kind), mode) for place in range(random.choice((1, 1, 2))))
        if kind in WITH_STATES
        else ()
    )
    window = random.choice(tuple(ASSIGNERS))
    before = tuple(step(random, named, f"{label}-{place}") for place in range(random.choice((0, 0, 0, 1))))
    due = number == 0 and kind == "process" and random.random() < 0.3
    if (kind in WINDOWS and window.startswith("event")) or due:
        before = (*before, Step("timestamps", uid_or_none(random, named, f"{label}-times")))
    above = [
        other.label
        for other in others
        if other.labels and other.function not in ("reduce", "aggregate") and not other.due
    ]
    return Operator(
        label,
        number + 1,
        kind,
        key=random.choice(tuple(KEYS)) if kind not in PLAIN else random.choice(("LONG", "STRING")),
        uid=uid_or_none(random, named, label),
        name=f"the {label}" if random.random() < 0.3 else None,
        states=states,
        window=window,
        function=random.choice(FUNCTIONS) if kind in WINDOWS else "process",
        of_windows=random.choice((None, None, *OF_WINDOWS)) if kind in ("window", "count window") else None,
        element=random.choice(("LONG", "LONG", "INT", "PICKLED")) if kind == "window" else "LONG",
        kept=tuple(state(random, f"k{place}", "process") for place in range(random.choice((0, 1))))
        if kind == "keyed broadcast"
        else (),
        due=due,
        chaining=random.choice(CHAINING) if random.random() < 0.1 else None,
        untyped=random.random() < 0.1,
        trigger=random.choice(("count", "count", "own")),
        lateness=1000 if kind == "window" and random.random() < 0.1 else None,
        timers=kind in ("process", "co process") and random.random() < 0.2,
        side_output=kind in ("process", "co process") and random.random() < 0.15,
        before=before,
        behind=random.choice(above) if above and random.random() < 0.25 else None,
        parallelism=random.choice((None, None, None, None, 2)),
        sink_uid=uid_or_none(random, named, f"out-{label}"),
    )


def uid_or_none(random: Random, named: float, uid: str) -> str | None:
    """The uid, in that part of the cases."""
    return uid if random.random() < named else None


def step(random: Random, named: float, uid: str, asking: bool = False) -> Step:
    """A step without state, which may ask asynchronously if ``asking``."""
    kind = random.choice((*STATELESS, *EXCHANGES, *(ASKING if asking else ())))
    return Step(kind, uid_or_none(random, named, uid) if kind not in EXCHANGES else None)


def _that_runs(state: State, mode: str) -> State:
    """In thread mode PyFlink fails on arrays and lists, where there is no value yet."""
    type = TYPES[state.type][0].replace("PICKLED_BYTE_ARRAY()", "")
    return replace(state, type="TUPLE") if mode == "thread" and ("ARRAY(" in type or "LIST(" in type) else state


def state(random: Random, label: str, of: str) -> State:
    """A state of a function of a kind."""
    kind = "map" if "broadcast" in of else random.choice(("value", *KINDS))
    ttl = 10 if of in OF_A_KEY and kind in ("value", "list", "map") and random.random() < 0.15 else None
    how = random.choice(tuple(TIMES_TO_LIVE))
    return State(label, f"state-{label}", kind, random.choice(tuple(TYPES)), random.choice(tuple(MAP_KEYS)), ttl, how)
