"""Random jobs, and versions of them with one to three differences, as people make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from tests.compat.restores.jobs import (
    ASSIGNERS,
    EXCHANGES,
    KEYS,
    MAP_KEYS,
    STATELESS,
    TYPES,
    Job,
    Operator,
    Source,
    State,
    Step,
)

Edit = Callable[[Random, Job], Job | None]
"""Gives a version of a job with a difference, None where the job has nothing to make it of."""

KINDS = ("value", "list", "map", "reducing", "aggregating")
WITH_STATES = ("process", "flat map", "co process", "broadcast", "keyed broadcast")
OF_A_KEY = ("process", "flat map", "co process")
WINDOWS = ("window", "count window", "window all")
OPERATORS = ("process",) * 5 + (
    "flat map",
    "co process",
    "broadcast",
    "keyed broadcast",
    "window",
    "window",
    "count window",
)
WINDOWS_IN_THREADS = range(1000, 2000)
"""Seeds of jobs for a closer look at windows in thread mode."""
RARE = ("window all", "reduce", "keyed print", "files")


@dataclass(frozen=True)
class Versions:
    """Two versions of a job, and the names of the differences."""

    old: Job
    new: Job
    edits: tuple[str, ...]


def versions(seed: int) -> Versions:
    """Those of a seed; one of ``WINDOWS_IN_THREADS`` gives a job in thread mode that is nothing but a window."""
    random = Random(seed)
    if seed not in WINDOWS_IN_THREADS:
        old, edits, wanted = job(random), sorted(EDITS), random.choice((1, 1, 1, 2, 2, 3))
    else:
        old, edits, wanted = _windows_in_threads(random), [name for name in EDITS if "window" in name], 1
    new, done = old, list[str]()
    while len(done) < wanted:
        name = random.choice(edits)
        edited = EDITS[name](random, new)
        if edited is not None and edited.program() != new.program():
            new, done = edited, [*done, name]
    return Versions(old, new, tuple(done))


def job(random: Random) -> Job:
    """A job with up to three operators with state."""
    named = random.choice((1.0, 1.0, 0.6, 0.0))
    sources = tuple(
        Source(label, start, _uid(random, named, label), _uid(random, named, f"slow-{label}"))
        for label, start in (("first", 1), ("other", 20_400_001))
    )[: random.choice((1, 1, 2))]
    trunk = tuple(_step(random, named, f"step-{number}") for number in range(random.choice((0, 0, 1, 2))))
    if len(sources) > 1:
        trunk = (*trunk[:1], Step("union"), *trunk[1:])
    mode = random.choice(("process", "process", "process", "thread"))
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
    )


def _windows_in_threads(random: Random) -> Job:
    made = None
    while made is None or made.kind not in WINDOWS:
        made = operator(random, 1.0, 0, (), "thread")
    return Job((Source("first", 1, "first", "slow"),), (), (replace(made, before=made.before[-1:]),), mode="thread")


def operator(random: Random, named: float, number: int, others: Iterable[Operator], mode: str) -> Operator:
    """An operator with state behind the trunk, or behind another one."""
    label = "abcdefgh"[number]
    kind = random.choice(RARE if random.random() < 0.12 else OPERATORS)
    states = (
        tuple(_state(random, f"s{place}", kind) for place in range(random.choice((1, 1, 2))))
        if kind in WITH_STATES
        else ()
    )
    window = random.choice(tuple(ASSIGNERS))
    before = tuple(_step(random, named, f"{label}-{place}") for place in range(random.choice((0, 0, 0, 1))))
    if kind in WINDOWS and window.startswith("event"):
        before = (*before, Step("timestamps", _uid(random, named, f"{label}-times")))
    above = [other.label for other in others if other.labels and other.function not in ("reduce", "aggregate")]
    return Operator(
        label,
        number + 1,
        kind,
        key=random.choice(tuple(KEYS)) if kind != "flat map" else random.choice(("LONG", "STRING")),
        uid=_uid(random, named, label),
        name=f"the {label}" if random.random() < 0.3 else None,
        states=states,
        window=window,
        function=random.choice(("process", "apply", "reduce", "aggregate")) if kind in WINDOWS else "process",
        timers=kind in ("process", "co process") and random.random() < 0.2,
        side_output=kind in ("process", "co process") and random.random() < 0.15,
        before=before,
        behind=random.choice(above) if above and random.random() < 0.25 else None,
        parallelism=random.choice((None, None, None, None, 2)),
        sink_uid=_uid(random, named, f"out-{label}"),
    )


def _uid(random: Random, named: float, uid: str) -> str | None:
    return uid if random.random() < named else None


def _step(random: Random, named: float, uid: str) -> Step:
    kind = random.choice((*STATELESS, *EXCHANGES))
    return Step(kind, _uid(random, named, uid) if kind in STATELESS else None)


def _state(random: Random, label: str, of: str) -> State:
    kind = "map" if "broadcast" in of else random.choice(("value", *KINDS))
    ttl = 10 if of in OF_A_KEY and kind in ("value", "list", "map") and random.random() < 0.15 else None
    return State(label, f"state-{label}", kind, random.choice(tuple(TYPES)), random.choice(tuple(MAP_KEYS)), ttl)


def _any(
    random: Random, job: Job, of: Callable[[Operator], bool], change: Callable[[Operator], Operator]
) -> Job | None:
    places = [place for place, each in enumerate(job.operators) if of(each)]
    if not places:
        return None
    place = random.choice(places)
    return replace(job, operators=tuple(change(each) if at == place else each for at, each in enumerate(job.operators)))


def _state_changed(change: Callable[[Random, State], State], kinds: Iterable[str] = WITH_STATES) -> Edit:
    def edit(random: Random, job: Job) -> Job | None:
        def changed(operator: Operator) -> Operator:
            place = random.randrange(len(operator.states))
            states = tuple(change(random, each) if at == place else each for at, each in enumerate(operator.states))
            return replace(operator, states=states)

        return _any(random, job, lambda each: each.kind in kinds and bool(each.states), changed)

    return edit


def _operator_changed(
    change: Callable[[Random, Operator], Operator], of: Callable[[Operator], bool] = lambda each: True
) -> Edit:
    return lambda random, job: _any(random, job, of, lambda each: change(random, each))


def _to_another_kind(random: Random, state: State) -> State:
    kind = random.choice([each for each in KINDS if each != state.kind])
    return replace(state, kind=kind, ttl=None if kind in ("reducing", "aggregating") else state.ttl)


def _to_a_near_type(random: Random, state: State) -> State:
    near = {
        "LONG": ("INT", "BIG_INT", "DOUBLE", "STRING", "PICKLED"),
        "TUPLE": ("TUPLE_LONGER", "ROW", "LIST"),
        "TUPLE_LONGER": ("TUPLE",),
        "ROW": ("ROW_RENAMED", "ROW_LONGER", "TUPLE"),
        "ROW_LONGER": ("ROW", "ROW_RENAMED"),
        "LIST": ("ARRAY", "TUPLE"),
        "DOUBLE": ("FLOAT", "LONG", "BIG_DEC"),
    }
    return replace(state, type=random.choice(near.get(state.type, tuple(TYPES))))


def _state_added(random: Random, operator: Operator) -> Operator:
    return replace(operator, states=(*operator.states, _state(random, f"s{len(operator.states)}x", operator.kind)))


def _state_removed(random: Random, operator: Operator) -> Operator:
    place = random.randrange(len(operator.states))
    return replace(operator, states=operator.states[:place] + operator.states[place + 1 :])


def _states_exchanged(random: Random, operator: Operator) -> Operator:
    first, second, *rest = operator.states
    return replace(operator, states=(replace(first, name=second.name), replace(second, name=first.name), *rest))


def _uids_exchanged(random: Random, job: Job) -> Job | None:
    if len(job.operators) < 2:
        return None
    one, two = random.sample(range(len(job.operators)), 2)
    uids = {one: job.operators[two].uid, two: job.operators[one].uid}
    return replace(
        job, operators=tuple(replace(each, uid=uids.get(at, each.uid)) for at, each in enumerate(job.operators))
    )


def _operators_in_another_order(random: Random, job: Job) -> Job | None:
    if len(job.operators) < 2 or any(each.behind for each in job.operators):
        return None
    return replace(job, operators=tuple(random.sample(job.operators, len(job.operators))))


def _operator_removed(random: Random, job: Job) -> Job | None:
    if len(job.operators) < 2:
        return None
    gone = random.choice(job.operators).label
    left = (each for each in job.operators if each.label != gone)
    return replace(job, operators=tuple(replace(each, behind=None) if each.behind == gone else each for each in left))


def _operator_added(random: Random, job: Job) -> Job | None:
    if any(each.label == "h" for each in job.operators):
        return None
    new = replace(operator(random, 0.7, 7, (), job.mode), behind=None)
    place = random.randint(0, len(job.operators))
    return replace(job, operators=(*job.operators[:place], new, *job.operators[place:]))


def _step_inserted(random: Random, job: Job) -> Job:
    place = random.randint(0, len(job.trunk))
    return replace(job, trunk=(*job.trunk[:place], _step(random, 0.5, "inserted"), *job.trunk[place:]))


def _step_removed(random: Random, job: Job) -> Job | None:
    places = [place for place, step in enumerate(job.trunk) if step.kind != "union"]
    if not places:
        return None
    place = random.choice(places)
    return replace(job, trunk=job.trunk[:place] + job.trunk[place + 1 :])


def _step_replaced(random: Random, job: Job) -> Job | None:
    gone = _step_removed(random, job)
    return None if gone is None else _step_inserted(random, gone)


def _step_unchained(random: Random, job: Job) -> Job | None:
    places = [place for place, step in enumerate(job.trunk) if step.kind in STATELESS]
    if not places:
        return None
    place = random.choice(places)
    step = replace(job.trunk[place], chaining=random.choice(("disable_chaining", "start_new_chain")))
    return replace(job, trunk=(*job.trunk[:place], step, *job.trunk[place + 1 :]))


def _step_rescaled(random: Random, job: Job) -> Job | None:
    places = [place for place, step in enumerate(job.trunk) if step.kind in STATELESS]
    if not places:
        return None
    place = random.choice(places)
    return replace(job, trunk=(*job.trunk[:place], replace(job.trunk[place], parallelism=2), *job.trunk[place + 1 :]))


def _source_added(random: Random, job: Job) -> Job | None:
    if len(job.sources) > 1:
        return None
    other = Source("other", 20_400_001, _uid(random, 0.5, "other"), _uid(random, 0.5, "slow-other"))
    return replace(job, sources=(*job.sources, other), trunk=(*job.trunk, Step("union")))


def _source_removed(random: Random, job: Job) -> Job | None:
    if len(job.sources) < 2:
        return None
    return replace(job, sources=job.sources[:1], trunk=tuple(step for step in job.trunk if step.kind != "union"))


def _source_uids_exchanged(random: Random, job: Job) -> Job | None:
    if len(job.sources) < 2:
        return None
    one, two = job.sources
    return replace(job, sources=(replace(one, uid=two.uid), replace(two, uid=one.uid)))


def _source_uid(random: Random, job: Job) -> Job:
    first, *rest = job.sources
    return replace(job, sources=(replace(first, uid=None if first.uid else "numbers"), *rest))


def _shorter(random: Random, job: Job) -> Job:
    first, *rest = job.sources
    return replace(job, sources=(replace(first, last_of=9_000_000), *rest))


def _other_elements(random: Random, operator: Operator) -> Operator:
    """Elements of another type; PyFlink cannot hand out tuples of big integers in thread mode."""
    types = ("LONG", "INT", "BIG_INT") if operator.function in ("process", "apply") else ("LONG", "INT")
    return replace(operator, element=random.choice(types))


def _keyed(operator: Operator) -> bool:
    return operator.kind in (
        "process",
        "co process",
        "window",
        "count window",
        "reduce",
        "keyed print",
        "keyed broadcast",
    )


def _windowed(operator: Operator) -> bool:
    return operator.kind == "window" and not operator.window.startswith("event")


NOT_OF_EVENTS = [name for name in ASSIGNERS if not name.startswith("event")]
EDITS: dict[str, Edit] = {
    "nothing": lambda random, job: replace(job, sources=(replace(job.sources[0], last_of=9_999_999), *job.sources[1:])),
    "state renamed": _state_changed(lambda random, state: replace(state, name=f"{state.name}-2")),
    "state retyped": _state_changed(lambda random, state: replace(state, type=random.choice(tuple(TYPES)))),
    "state retyped nearly": _state_changed(_to_a_near_type),
    "state of another kind": _state_changed(_to_another_kind, OF_A_KEY),
    "state with another map key": _state_changed(
        lambda random, state: replace(state, map_key=random.choice(tuple(MAP_KEYS)))
    ),
    "time to live": _state_changed(
        lambda random, state: replace(
            state, ttl=random.choice((None, 10, 20)) if state.kind in ("value", "list", "map") else None
        ),
        OF_A_KEY,
    ),
    "state added": _operator_changed(_state_added, lambda each: each.kind in WITH_STATES),
    "state removed": _operator_changed(_state_removed, lambda each: each.kind in WITH_STATES and len(each.states) > 1),
    "state gone": _operator_changed(_state_removed, lambda each: each.kind in OF_A_KEY and bool(each.states)),
    "states exchanged": _operator_changed(_states_exchanged, lambda each: len(each.states) > 1),
    "key": _operator_changed(lambda random, each: replace(each, key=random.choice(tuple(KEYS))), _keyed),
    "uid": _operator_changed(
        lambda random, each: replace(each, uid=random.choice((None, f"{each.label}-2")) if each.uid else each.label)
    ),
    "uids exchanged": _uids_exchanged,
    "name": _operator_changed(lambda random, each: replace(each, name=f"{each.label} anew")),
    "operators in another order": _operators_in_another_order,
    "operator removed": _operator_removed,
    "operator added": _operator_added,
    "operator of another kind": _operator_changed(
        lambda random, each: replace(each, kind=random.choice((*OF_A_KEY, "reduce", "keyed print"))),
        lambda each: each.kind in OF_A_KEY,
    ),
    "window for states": _operator_changed(
        lambda random, each: replace(each, kind="window", window="tumbling"), lambda each: each.kind in OF_A_KEY
    ),
    "broadcast of another kind": _operator_changed(
        lambda random, each: replace(each, kind="broadcast" if each.kind == "keyed broadcast" else "keyed broadcast"),
        lambda each: "broadcast" in each.kind,
    ),
    "window": _operator_changed(lambda random, each: replace(each, window=random.choice(NOT_OF_EVENTS)), _windowed),
    "window of another kind": _operator_changed(
        lambda random, each: replace(each, kind=random.choice(WINDOWS)), lambda each: each.kind in WINDOWS
    ),
    "window function": _operator_changed(
        lambda random, each: replace(each, function=random.choice(("process", "apply", "reduce", "aggregate"))),
        lambda each: each.kind in WINDOWS,
    ),
    "elements of a window": _operator_changed(_other_elements, lambda each: each.kind in WINDOWS),
    "timers": _operator_changed(
        lambda random, each: replace(each, timers=not each.timers), lambda each: each.kind in ("process", "co process")
    ),
    "side output": _operator_changed(
        lambda random, each: replace(each, side_output=not each.side_output),
        lambda each: each.kind in ("process", "co process"),
    ),
    "steps before an operator": _operator_changed(
        lambda random, each: replace(each, before=each.before[1:] or (_step(random, 0.5, "put"),)),
        lambda each: not each.before or each.before[0].kind != "timestamps",
    ),
    "operator elsewhere": _operator_changed(
        lambda random, each: replace(each, behind=None), lambda each: each.behind is not None
    ),
    "parallelism of an operator": _operator_changed(
        lambda random, each: replace(each, parallelism=random.choice((None, 1, 2, 3)))
    ),
    "max parallelism of an operator": _operator_changed(
        lambda random, each: replace(each, max_parallelism=random.choice((64, 128, 256)))
    ),
    "sink uid": _operator_changed(
        lambda random, each: replace(each, sink_uid=None if each.sink_uid else f"to-{each.label}")
    ),
    "step inserted": _step_inserted,
    "step removed": _step_removed,
    "step replaced": _step_replaced,
    "step unchained": _step_unchained,
    "step rescaled": _step_rescaled,
    "source added": _source_added,
    "source removed": _source_removed,
    "source uid": _source_uid,
    "source uids exchanged": _source_uids_exchanged,
    "range of the source": _shorter,
    "parallelism": lambda random, job: replace(job, parallelism=random.choice((1, 2, 3))),
    "max parallelism": lambda random, job: replace(job, max_parallelism=random.choice((None, 64, 128, 256))),
    "execution mode": lambda random, job: replace(job, mode="thread" if job.mode == "process" else "process"),
    "chaining": lambda random, job: replace(job, chaining=not job.chaining),
    "Python chaining": lambda random, job: replace(job, python_chaining=not job.python_chaining),
}
"""By name, what people do to a job."""
