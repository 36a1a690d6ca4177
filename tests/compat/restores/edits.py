"""The differences that people make between two versions of a job, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from compat.compiler.streamgraph.hashing import uid_hash
from tests.compat.restores.drawing import (
    KINDS,
    OF_A_KEY,
    PLAIN,
    WINDOWS,
    WITH_STATES,
    ending,
    operator,
    state,
    step,
    uid_or_none,
)
from tests.compat.restores.jobs import Job, Operator, Source, State, Step
from tests.compat.restores.texts import (
    ASSIGNERS,
    BACKENDS,
    EXCHANGES,
    HARMLESS,
    KEYS,
    LEAVE_BEHIND,
    MAP_KEYS,
    REFUSED,
    RUNTIME_MODES,
    TRIGGERS,
    TYPES,
)

Edit = Callable[[Random, Job], Job | None]
"""Gives a version of a job with a difference, None where the job has nothing to make it of."""


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
    return replace(operator, states=(*operator.states, state(random, f"s{len(operator.states)}x", operator.kind)))


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
    return replace(
        job, trunk=(*job.trunk[:place], step(random, 0.5, "inserted", job.mode == "process"), *job.trunk[place:])
    )


def _step_removed(random: Random, job: Job) -> Job | None:
    places = [place for place, each in enumerate(job.trunk) if not each.kind.startswith("union")]
    if not places:
        return None
    place = random.choice(places)
    return replace(job, trunk=job.trunk[:place] + job.trunk[place + 1 :])


def _step_replaced(random: Random, job: Job) -> Job | None:
    gone = _step_removed(random, job)
    return None if gone is None else _step_inserted(random, gone)


def _step_unchained(random: Random, job: Job) -> Job | None:
    places = [place for place, each in enumerate(job.trunk) if _is_operator(each)]
    if not places:
        return None
    place = random.choice(places)
    unchained = replace(job.trunk[place], chaining=random.choice(("disable_chaining", "start_new_chain")))
    return replace(job, trunk=(*job.trunk[:place], unchained, *job.trunk[place + 1 :]))


def _step_rescaled(random: Random, job: Job) -> Job | None:
    places = [place for place, each in enumerate(job.trunk) if _is_operator(each)]
    if not places:
        return None
    place = random.choice(places)
    return replace(job, trunk=(*job.trunk[:place], replace(job.trunk[place], parallelism=2), *job.trunk[place + 1 :]))


def _source_added(random: Random, job: Job) -> Job | None:
    if any(each.label == "other" for each in job.sources):
        return None
    other = Source("other", 20_400_001, uid_or_none(random, 0.5, "other"), uid_or_none(random, 0.5, "slow-other"))
    return replace(job, sources=(*job.sources, other), trunk=(*job.trunk, Step("union")))


def _source_removed(random: Random, job: Job) -> Job | None:
    if len(job.sources) < 2:
        return None
    return replace(
        job, sources=job.sources[:1], trunk=tuple(each for each in job.trunk if not each.kind.startswith("union"))
    )


def _source_uids_exchanged(random: Random, job: Job) -> Job | None:
    if len(job.sources) < 2:
        return None
    one, two, *rest = job.sources
    return replace(job, sources=(replace(one, uid=two.uid), replace(two, uid=one.uid), *rest))


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


def _is_operator(step: Step) -> bool:
    return step.kind not in EXCHANGES and not step.kind.startswith("union")


def _to_be_batch(random: Random, job: Job) -> Job:
    """What ends, in batch: all of it is read before anything is told."""
    short = tuple(replace(each, last_of=min(each.last_of, 150)) for each in job.sources)
    return replace(job, sources=short, runtime=random.choice(RUNTIME_MODES))


def _to_another_backend(random: Random, job: Job) -> Job:
    return _with_setting(job, "state.backend.type", random.choice(BACKENDS))


def _with_setting(job: Job, key: str, value: str) -> Job:
    return replace(job, settings=(*(each for each in job.settings if each[0] != key), (key, value)))


def _left_behind(random: Random, job: Job) -> Job | None:
    """State that nothing takes is asked to be dropped, and there is some."""
    edited = random.choice((_operator_removed, _operator_with_another_uid))(random, job)
    return None if edited is None else _with_setting(edited, *LEAVE_BEHIND)


def _to_another_source(random: Random, job: Job) -> Job:
    """A collection takes the place of the first source; it ends."""
    first, *rest = job.sources
    return replace(job, sources=(replace(first, listed=True, last_of=600), *rest))


def _ending_source_added(random: Random, job: Job) -> Job | None:
    if any(each.listed for each in job.sources):
        return None
    return replace(job, sources=(*job.sources, ending(random, 0.5)), trunk=(*job.trunk, Step("union third")))


def _ending_source_edited(random: Random, job: Job) -> Job | None:
    ends = [each for each in job.sources if each.listed]
    if not ends:
        return None
    changed = random.choice((replace(ends[0], uid="ending"), replace(ends[0], slow_uid="slow-ending")))
    return replace(job, sources=tuple(changed if each.listed else each for each in job.sources))


def _uid_of_a_step(random: Random, job: Job) -> Job | None:
    """The uid of an operator with state goes to a step without, or to its sink or source."""
    places = [place for place, each in enumerate(job.operators) if each.uid and each.labels]
    if not places:
        return None
    place = random.choice(places)
    of = job.operators[place]
    match random.choice(("step", "sink", "source")):
        case "step":
            job = replace(job, trunk=(*job.trunk, Step(random.choice(("map", "filter", "process")), of.uid)))
            changed = replace(of, uid=None)
        case "sink":
            changed = replace(of, uid=of.sink_uid, sink_uid=of.uid)
        case _:
            first, *rest = job.sources
            job = replace(job, sources=(replace(first, uid=of.uid), *rest))
            changed = replace(of, uid=first.uid)
    return replace(job, operators=(*job.operators[:place], changed, *job.operators[place + 1 :]))


def _pinned(random: Random, operator: Operator) -> Operator:
    """Another uid or none, with the id that the old uid gave."""
    assert operator.uid is not None
    return replace(operator, uid=random.choice((None, f"{operator.label}-2")), user_hash=uid_hash(operator.uid))


def _pinned_to_another(random: Random, job: Job) -> Job | None:
    """The id of another operator, set by hand."""
    named = [each for each in job.operators if each.uid]
    if len(job.operators) < 2 or not named:
        return None
    of = random.choice(named)
    assert of.uid is not None
    place = random.choice([place for place, each in enumerate(job.operators) if each is not of])
    changed = replace(job.operators[place], user_hash=uid_hash(of.uid))
    freed = tuple(replace(each, uid=f"{of.label}-2") if each is of else each for each in job.operators)
    return replace(job, operators=(*freed[:place], changed, *freed[place + 1 :]))


def _operator_with_another_uid(random: Random, job: Job) -> Job | None:
    return _any(random, job, lambda each: each.uid is not None, lambda each: replace(each, uid=f"{each.label}-2"))


def _of_another_kind(random: Random, operator: Operator) -> Operator:
    kind = random.choice((*OF_A_KEY, "reduce", "keyed print"))
    of_plain = kind in PLAIN and operator.key not in ("LONG", "STRING")
    return replace(operator, kind=kind, key="LONG" if of_plain else operator.key)


def _keyed_to_operator_state(random: Random, operator: Operator) -> Operator:
    """Maps by key become broadcast state of the same names."""
    return replace(operator, kind=random.choice(("broadcast", "keyed broadcast")))


def _keeps_maps(operator: Operator) -> bool:
    return operator.kind in OF_A_KEY and bool(operator.states) and all(each.kind == "map" for each in operator.states)


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
    "uid to another kind": _uid_of_a_step,
    "id pinned": _operator_changed(_pinned, lambda each: each.uid is not None and each.user_hash is None),
    "id pinned to another": _pinned_to_another,
    "name": _operator_changed(lambda random, each: replace(each, name=f"{each.label} anew")),
    "operators in another order": _operators_in_another_order,
    "operator removed": _operator_removed,
    "operator added": _operator_added,
    "operator of another kind": _operator_changed(
        _of_another_kind,
        lambda each: each.kind in OF_A_KEY,
    ),
    "window for states": _operator_changed(
        lambda random, each: replace(each, kind="window", window="tumbling"), lambda each: each.kind in OF_A_KEY
    ),
    "keyed state to operator state": _operator_changed(_keyed_to_operator_state, _keeps_maps),
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
    "trigger": _operator_changed(
        lambda random, each: replace(each, trigger=random.choice(tuple(TRIGGERS))), lambda each: each.kind in WINDOWS
    ),
    "lateness": _operator_changed(
        lambda random, each: replace(each, lateness=random.choice((None, 1000, 5000))),
        lambda each: each.kind == "window",
    ),
    "elements of a window": _operator_changed(_other_elements, lambda each: each.kind in WINDOWS),
    "timers": _operator_changed(
        lambda random, each: replace(each, timers=not each.timers), lambda each: each.kind in ("process", "co process")
    ),
    "inputs exchanged": _operator_changed(
        lambda random, each: replace(each, turned=not each.turned), lambda each: each.kind.startswith("co ")
    ),
    "side output": _operator_changed(
        lambda random, each: replace(each, side_output=not each.side_output),
        lambda each: each.kind in ("process", "co process"),
    ),
    "steps before an operator": _operator_changed(
        lambda random, each: replace(each, before=each.before[1:] or (step(random, 0.5, "put"),)),
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
    "source of another kind": _to_another_source,
    "ending source added": _ending_source_added,
    "ending source edited": _ending_source_edited,
    "range of the source": _shorter,
    "batch": _to_be_batch,
    "backend": _to_another_backend,
    "left behind": _left_behind,
    "harmless setting": lambda random, job: _with_setting(job, *random.choice(HARMLESS)),
    "refused setting": lambda random, job: _with_setting(job, *random.choice(REFUSED)),
    "parallelism": lambda random, job: replace(job, parallelism=random.choice((1, 2, 3))),
    "max parallelism": lambda random, job: replace(job, max_parallelism=random.choice((None, 64, 128, 256))),
    "execution mode": lambda random, job: replace(job, mode="thread" if job.mode == "process" else "process"),
    "chaining": lambda random, job: replace(job, chaining=not job.chaining),
    "Python chaining": lambda random, job: replace(job, python_chaining=not job.python_chaining),
}
"""By name, what people do to a job."""
