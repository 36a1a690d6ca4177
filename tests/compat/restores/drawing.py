"""Random jobs, drawn as people write them: named or not, with one to three operators with state behind a trunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from tests.compat.restores.jobs import Job, Operator, Source, State, Step
from tests.compat.restores.texts import ASSIGNERS, EXCHANGES, KEYS, MAP_KEYS, STATELESS, TYPES

KINDS = ("value", "list", "map", "reducing", "aggregating")
OF_A_KEY = ("process", "map", "flat map", "co process", "co map", "co flat map")
PLAIN = ("map", "flat map", "co map", "co flat map")
"""Kinds whose functions are not told the key."""

WITH_STATES = (*OF_A_KEY, "broadcast", "keyed broadcast")
WINDOWS = ("window", "count window", "window all")
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
_BACKENDS = ("",) * 4 + ("hashmap", "rocksdb", "rocksdb", "forst")
RARE = ("window all", "reduce", "keyed print", "files")


def job(random: Random) -> Job:
    """A job with up to three operators with state."""
    named = random.choice((1.0, 1.0, 0.6, 0.0))
    sources = tuple(
        Source(label, start, uid_or_none(random, named, label), uid_or_none(random, named, f"slow-{label}"))
        for label, start in (("first", 1), ("other", 20_400_001))
    )[: random.choice((1, 1, 2))]
    mode = random.choice(("process", "process", "process", "thread"))
    trunk = tuple(
        step(random, named, f"step-{number}", mode == "process") for number in range(random.choice((0, 0, 1, 2)))
    )
    if len(sources) > 1:
        trunk = (*trunk[:1], Step("union"), *trunk[1:])
    if random.random() < 0.1:
        sources, trunk = (*sources, ending(random, named)), (*trunk, Step("union third"))
    made: list[Operator] = []
    for number in range(random.choice((1, 1, 2, 2, 3))):
        made.append(operator(random, named, number, made, mode))
    return Job(
        sources,
        trunk,
        tuple(made),
        parallelism=random.choice((1, 1, 1, 2)),
        max_parallelism=random.choice((None, None, None, 64)),
        mode=mode,
        chaining=random.random() > 0.1,
        python_chaining=random.random() > 0.05,
        settings=(("state.backend.type", backend),) if (backend := random.choice(_BACKENDS)) else (),
    )


def ending(random: Random, named: float) -> Source:
    """A source that has ended by the time of the savepoint."""
    return Source(
        "third",
        40_800_001,
        uid_or_none(random, named, "third"),
        uid_or_none(random, named, "slow-third"),
        last_of=20,
        listed=True,
    )


def windows_in_threads(random: Random) -> Job:
    """A job in thread mode that is nothing but a window."""
    made = None
    while made is None or made.kind not in WINDOWS:
        made = operator(random, 1.0, 0, (), "thread")
    return Job((Source("first", 1, "first", "slow"),), (), (replace(made, before=made.before[-1:]),), mode="thread")


def operator(random: Random, named: float, number: int, others: Iterable[Operator], mode: str) -> Operator:
    """An operator with state behind the trunk, or behind another one."""
    label = "abcdefgh"[number]
    kind = random.choice(RARE if random.random() < 0.12 else OPERATORS)
    states = (
        tuple(state(random, f"s{place}", kind) for place in range(random.choice((1, 1, 2))))
        if kind in WITH_STATES
        else ()
    )
    window = random.choice(tuple(ASSIGNERS))
    before = tuple(step(random, named, f"{label}-{place}") for place in range(random.choice((0, 0, 0, 1))))
    if kind in WINDOWS and window.startswith("event"):
        before = (*before, Step("timestamps", uid_or_none(random, named, f"{label}-times")))
    above = [other.label for other in others if other.labels and other.function not in ("reduce", "aggregate")]
    return Operator(
        label,
        number + 1,
        kind,
        key=random.choice(tuple(KEYS)) if kind not in PLAIN else random.choice(("LONG", "STRING")),
        uid=uid_or_none(random, named, label),
        name=f"the {label}" if random.random() < 0.3 else None,
        states=states,
        window=window,
        function=random.choice(("process", "apply", "reduce", "aggregate")) if kind in WINDOWS else "process",
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
    """A step without state, which may ask asynchronously if ``asking``: PyFlink cannot in thread mode."""
    kind = random.choice((*STATELESS, *EXCHANGES, *(("async",) if asking else ())))
    return Step(kind, uid_or_none(random, named, uid) if kind not in EXCHANGES else None)


def state(random: Random, label: str, of: str) -> State:
    """A state of a function of a kind."""
    kind = "map" if "broadcast" in of else random.choice(("value", *KINDS))
    ttl = 10 if of in OF_A_KEY and kind in ("value", "list", "map") and random.random() < 0.15 else None
    return State(label, f"state-{label}", kind, random.choice(tuple(TYPES)), random.choice(tuple(MAP_KEYS)), ttl)
