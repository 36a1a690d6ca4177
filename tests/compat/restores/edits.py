"""The differences that people make between two versions of a job, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from msgspec.structs import replace

from compat.compiler.streamgraph.hashing import uid_hash
from tests.compat.restores.drawing import (
    AFTER,
    FUNCTIONS,
    KINDS,
    OF_A_KEY,
    OF_WINDOWS,
    PLAIN,
    WINDOWS,
    WITH_STATES,
    asks,
    ending,
    of_files,
    of_kind,
    operator,
    state,
    step,
    uid_or_none,
)
from tests.compat.restores.jobs import OF_FILES, Job, Operator, Source, State, Step
from tests.compat.restores.texts import (
    ASSIGNERS,
    BACKENDS,
    CHAINING,
    COMPACTION,
    EXCHANGES,
    HARMLESS,
    INTERVALS,
    KEYS,
    LEAVE_BEHIND,
    MAP_KEYS,
    OTHER_WINDOWS,
    OUT_FILES,
    PATHS,
    REFUSED,
    ROLLING,
    RUNTIME_MODES,
    TIMES_TO_LIVE,
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


NEAR = (
    ("MAP", "MAP_TO_INT", "MAP_BY_LONG", "MAP_OF_TUPLES", "MAP_OF_ROWS"),
    ("LIST_OF_TUPLES", "LIST_OF_LONGER", "LIST_OF_TURNED", "LIST_OF_ROWS", "LIST_OF_LISTS"),
    ("LIST_INT", "LIST_PICKLED", "LIST_OF_TEXTS", "ARRAY_INT", "BASIC_ARRAY_INT"),
    ("TUPLE_PICKLED", "TUPLE_INT", "TUPLE_SHORTER", "TUPLE_OF_LISTS"),
    ("ROW_TURNED", "ROW_INT", "ROW_PLAIN"),
    ("ROW_OWN", "ROW_OWN_TURNED"),
    ("ROW_OF_ROW", "ROW_OF_ROW_RENAMED", "ROW_OF_ROW_LONGER", "ROW_OF_TUPLE"),
    ("BASIC_ARRAY", "ARRAY_DOUBLE", "TUPLES", "STRINGS"),
    ("INSTANT", "TIMESTAMP"),
    ("HELD", "KEPT", "PICKLED"),
)
"""Types that people make of each other."""


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
        **{one: tuple(other for other in group if other != one) for group in NEAR for one in group},
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
    new = replace(operator(random, 0.7, 7, (), job.mode, job.flink), behind=None)
    place = random.randint(0, len(job.operators))
    return replace(job, operators=(*job.operators[:place], new, *job.operators[place:]))


def _step_inserted(random: Random, job: Job) -> Job:
    place = random.randint(0, len(job.trunk))
    inserted = step(random, 0.5, "inserted", asks(job.mode, job.flink))
    return replace(job, trunk=(*job.trunk[:place], inserted, *job.trunk[place:]))


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


def _inputs_of_a_union_exchanged(random: Random, job: Job) -> Job | None:
    """The union is called on the other source."""
    if len(job.sources) != 2 or Step("union") not in job.trunk:
        return None
    one, two = job.sources
    trunk = tuple(Step(f"union {one.label}") if each.kind == "union" else each for each in job.trunk)
    return replace(job, sources=(two, one), trunk=trunk)


def _united_again(random: Random, job: Job) -> Job:
    """What is left of a source behind a filter comes, or goes."""
    trunk = tuple(each for each in job.trunk if not each.kind.startswith("union again"))
    return replace(job, trunk=trunk if trunk != job.trunk else (*trunk, Step("union again first")))


def _timers_that_come(random: Random, job: Job) -> Job | None:
    """Timers by event time are set, or are not any more; what they tell is no number for an operator behind."""
    fed = {each.behind for each in job.operators}
    if any(source.kind in OF_FILES for source in job.sources):
        return None  # whose numbers do not come in their order

    def has_times(operator: Operator) -> bool:
        timed = any(step.kind == "timestamps" for step in operator.before)
        return operator.kind == "process" and timed and operator.label not in fed

    return _any(random, job, has_times, lambda each: replace(each, due=not each.due))


def _source_rescaled(random: Random, job: Job) -> Job:
    first, *rest = job.sources
    calls = random.choice((".set_parallelism(2)", ".disable_chaining()", ".start_new_chain()", ".name('anew')"))
    return replace(job, sources=(replace(first, calls=calls), *rest))


def _replaced(random: Random, job: Job) -> Job:
    """Another operator, whatever it is, has the uid of one."""
    place = random.randrange(len(job.operators))
    old, new = job.operators[place], operator(random, 0.7, 6, (), job.mode, job.flink)
    new = replace(new, uid=old.uid, user_hash=old.user_hash, before=new.before[-1:], behind=None)
    left = (new if at == place else each for at, each in enumerate(job.operators))
    return replace(
        job, operators=tuple(replace(each, behind=None) if each.behind == old.label else each for each in left)
    )


def _source_uid(random: Random, job: Job) -> Job:
    first, *rest = job.sources
    return replace(job, sources=(replace(first, uid=None if first.uid else "numbers"), *rest))


def _shorter(random: Random, job: Job) -> Job:
    first, *rest = job.sources
    return replace(job, sources=(replace(first, last_of=9_000_000), *rest))


def _other_elements(random: Random, operator: Operator) -> Operator:
    """Elements of another type; PyFlink cannot hand out tuples of big integers in thread mode."""
    types = ("LONG", "INT", "BIG_INT", "PICKLED") if operator.function in ("process", "apply") else ("LONG", "INT")
    return replace(operator, element=random.choice(types))


def _is_operator(step: Step) -> bool:
    return step.kind not in EXCHANGES and not step.kind.startswith("union")


def _to_be_batch(random: Random, job: Job) -> Job:
    """What ends, in batch: all of it is read before anything is told."""
    short = tuple(replace(each, last_of=min(each.last_of, 150), paths="brief") for each in job.sources)
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
    return replace(job, sources=(replace(first, kind="list", last_of=600), *rest))


def _ending_source_added(random: Random, job: Job) -> Job | None:
    if any(each.ends for each in job.sources):
        return None
    return replace(job, sources=(*job.sources, ending(random, 0.5)), trunk=(*job.trunk, Step("union third")))


def _ending_source_edited(random: Random, job: Job) -> Job | None:
    ends = [each for each in job.sources if each.ends]
    if not ends:
        return None
    changed = random.choice((replace(ends[0], uid="ending"), replace(ends[0], slow_uid="slow-ending")))
    return replace(job, sources=tuple(changed if each is ends[0] else each for each in job.sources))


def _sources_edited(change: Callable[[Random, Job, Source], Source], kinds: Iterable[str] = OF_FILES) -> Edit:
    def edit(random: Random, job: Job) -> Job | None:
        places = [place for place, each in enumerate(job.sources) if each.kind in kinds]
        if not places:
            return None
        place = random.choice(places)
        changed = change(random, job, job.sources[place])
        return replace(job, sources=(*job.sources[:place], changed, *job.sources[place + 1 :]))

    return edit


def _to_a_source_of_files(random: Random, job: Job, source: Source) -> Source:
    """Files take the place of a source, or other ones, or numbers again."""
    kinds = ["sequence", of_kind(random, job.flink), "list"]
    kind = random.choice([kind for kind in kinds if kind != source.kind])
    last = 600 if kind == "list" else 10_000_000
    return replace(source, kind=kind, last_of=last, paths=random.choice(("all", "long")))


def _watched_or_not(random: Random, job: Job, source: Source) -> Source:
    """A source of files looks for more, does so no longer, or at other times."""
    if source.kind == "files":
        return replace(source, kind="monitored")
    if source.kind == "monitored" and random.random() < 0.7:
        return replace(source, kind="files")
    return replace(source, interval=random.choice([each for each in INTERVALS if each != source.interval]))


def _sources_in_another_order(random: Random, job: Job) -> Job | None:
    """The statements of the sources that come in behind the first one."""
    first, *rest = job.sources
    return replace(job, sources=(first, *reversed(rest))) if len(rest) > 1 else None


def _sink_of_files_added(random: Random, job: Job) -> Job:
    """A sink of files comes, or the one that there is goes."""
    left = tuple(each for each in job.operators if each.kind != "files")
    if left and len(left) < len(job.operators):
        return replace(job, operators=left)
    return replace(job, operators=(*job.operators, of_files(random, 0.5, "l")))


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
    return operator.kind == "window" and operator.window in NOT_OF_EVENTS


NOT_OF_EVENTS = [name for name in ASSIGNERS if not name.startswith("event") and name not in OTHER_WINDOWS]
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
    "time to live otherwise": _state_changed(
        lambda random, state: replace(
            state,
            ttl=10 if state.kind in ("value", "list", "map") else None,
            ttl_how=random.choice(tuple(TIMES_TO_LIVE)),
        ),
        OF_A_KEY,
    ),
    "keyed state beside broadcast": _operator_changed(
        lambda random, each: replace(
            each, kept=() if each.kept and random.random() < 0.5 else (state(random, "k0", "process"),)
        ),
        lambda each: each.kind == "keyed broadcast",
    ),
    "state of windows": _operator_changed(
        lambda random, each: replace(each, of_windows=random.choice((None, *OF_WINDOWS))),
        lambda each: each.kind in ("window", "count window") and each.function == "process",
    ),
    "timers that come": _timers_that_come,
    "chain of an operator": _operator_changed(
        lambda random, each: replace(each, chaining=random.choice((None, *CHAINING)))
    ),
    "class renamed": _operator_changed(lambda random, each: replace(each, renamed=not each.renamed)),
    "output not typed": _operator_changed(
        lambda random, each: replace(each, untyped=not each.untyped),
        lambda each: each.kind in ("process", "map", "flat map"),
    ),
    "operator replaced": _replaced,
    "inputs of a union exchanged": _inputs_of_a_union_exchanged,
    "united again": _united_again,
    "source rescaled": _source_rescaled,
    "may be left behind": lambda random, job: _with_setting(job, *LEAVE_BEHIND),
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
        lambda random, each: replace(each, function=random.choice(FUNCTIONS)),
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
    "source of files": _sources_edited(_to_a_source_of_files, ("sequence", "list", *OF_FILES)),
    "files looked for": _sources_edited(_watched_or_not),
    "files of a source": _sources_edited(
        lambda random, job, each: replace(each, paths=random.choice(tuple(PATHS))), ("files", "monitored", "text")
    ),
    "format of files": _sources_edited(
        lambda random, job, each: replace(each, format="csv" if each.format == "text" else "text"),
        ("files", "monitored"),
    ),
    "source renamed": _sources_edited(
        lambda random, job, each: replace(each, name=f"{each.label} anew"), ("sequence", "files", "monitored", "hybrid")
    ),
    "behind a source": _sources_edited(
        lambda random, job, each: replace(each, after=random.choice(("", *AFTER))), ("sequence", "list", *OF_FILES)
    ),
    "uid of any source": _sources_edited(
        lambda random, job, each: replace(
            each, uid=random.choice((None, f"{each.label}-2")) if each.uid else each.label
        ),
        ("sequence", "list", *OF_FILES),
    ),
    "sources in another order": _sources_in_another_order,
    "sink of files": _sink_of_files_added,
    "compaction": _operator_changed(
        lambda random, each: replace(each, compaction=random.choice(tuple(COMPACTION))),
        lambda each: each.kind == "files",
    ),
    "files written": _operator_changed(
        lambda random, each: replace(each, rolling=random.choice(tuple(ROLLING)), out=random.choice(tuple(OUT_FILES))),
        lambda each: each.kind == "files",
    ),
    "sink replaced": _operator_changed(
        lambda random, each: replace(each, kind=random.choice(("keyed print", "process")), states=()),
        lambda each: each.kind == "files",
    ),
    "uid of a sink of files": _operator_changed(
        lambda random, each: replace(each, uid=random.choice((None, f"{each.label}-2")) if each.uid else each.label),
        lambda each: each.kind == "files",
    ),
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
