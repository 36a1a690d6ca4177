"""The evidence that a state of OLD is restored: what was compared, and by which witness; and what is missing for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compat.check import triggers
from compat.check.context import Check
from compat.check.findings import Evidence, Finding, Gap, Proof, Witness
from compat.check.mapping import Pair
from compat.check.pickles import READ, fails
from compat.check.restores import reads_samples
from compat.check.similarity import recorded, same_values
from compat.check.state_storage import dialect_of, type_change
from compat.state.compatibility import THREAD
from compat.state.compatibility.answers import SAME
from compat.state.model.contents import Shapes, exchanged, unread
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from compat.state.names import END_OF_INPUT, WINDOW_CONTENTS, timer_service

_NEVER_TYPED = frozenset({StateKind.TIMERS, StateKind.COORDINATOR})

_SCOPES: dict[StateKind | StateScope, str] = {
    StateKind.TIMERS: "timer",
    StateScope.KEYED: "keyed",
    StateScope.BROADCAST: "broadcast",
}
"""The JVM's names for scopes; states of other scopes belong to an operator."""


def of_state(check: Check, pair: Pair, state: State) -> Proof | None:
    """The proof that NEW reads a state of OLD; None for a state that NEW does not declare, which only a rule can judge."""
    other = check.exchanged_values.get(pair.old.id)
    if other is not None:
        return _either_way(pair, other)
    new = _declared(pair.new, state)
    if new is None:
        return _of_a_trigger(pair, state) or _may_be_asked_for(pair) or _never_filled(pair, state)
    if "Pickled" in (state.type or "") and not state.built_in and (gap := _of_pickles(check, pair, state)) is not None:
        return gap
    pickled = _is_pickled(check, pair, state, new)
    if (gap := _of_shapes(pair, state, pickled=pickled)) is not None:
        return gap
    if pickled and (gap := _of_unseen_code(pair, state)) is not None:
        return gap
    compared = ["id", *_alike(pair), "name", "kind"]
    if check.answer(pair) is not None:
        return _told_by_flink(check, pair, state, compared)
    return _types(pair, state, new, compared)


def _told_by_flink(check: Check, pair: Pair, state: State, compared: list[str]) -> Proof:
    """The proof by Flink's serializers, or by values that went through them.

    A serializer's answer that it migrates counts if the change is visible, and if the code is Flink's own.
    """
    answer = check.answer(pair)
    assert answer is not None
    address = (_SCOPES.get(state.kind) or _SCOPES.get(state.scope, "operator"), state.name)
    if any((one.scope, one.name) == address and one.failure is None for one in answer.rehearsal.states):
        return Evidence((*compared, "values"), Witness.VALUES)
    migration = next((one for one in answer.migrations if (one.scope, one.name) == address), None)
    if migration is not None and (migration.untold or any(one.writer == "code" for one in state.classes)):
        if reads_samples(check, pair, *address):
            return Evidence((*compared, "made-up values"), Witness.VALUES)
        return Gap(
            f"the serializer of the state {state.name!r} says that it converts the old values, but not what "
            "it converts them to",
            "Check a savepoint of OLD with --rehearse: then real values are converted and read.",
            "migration",
        )
    return Evidence((*compared, "type"), Witness.FLINK)


def of_the_rest(pair: Pair) -> Proof | None:
    """The proof for further states that OLD may keep besides the known ones; None if there are none."""
    old, new = pair.old.more, pair.new.more
    if old is None:
        return None
    if new is not None and old.code is not None and old.code == new.code:
        return Evidence(("id", "code"), Witness.CODE)
    return Gap(
        f"{pair.old.label} may keep further states besides the known ones: {old.why}",
        "Ask for all states in open(); or check a savepoint of OLD with --rehearse: then they are seen.",
        "more",
    )


def gaps(check: Check, of_states: Iterable[Finding]) -> Iterator[tuple[Pair, State | None, Gap]]:
    """The missing proofs, by operator and state, for operators that keep their state and whose states are known. The
    fate of a state that NEW lacks comes from one of the findings ``of_states`` of any level; otherwise it is missing.
    """
    told = {(finding.old.id, finding.state) for finding in of_states if finding.old is not None}
    for pair in check.right_pairs:
        if pair.old.states is None or pair.new.states is None:
            continue
        for state in pair.old.states:
            proof = of_state(check, pair, state)
            if proof is None and told.isdisjoint(((pair.old.id, None), (pair.old.id, state.name))):
                proof = _gone(pair, state)
            if isinstance(proof, Gap):
                yield pair, state, proof
        rest = of_the_rest(pair)
        if isinstance(rest, Gap):
            yield pair, None, rest


def _gone(pair: Pair, state: State) -> Gap:
    """The gap for a state that NEW does not declare and no rule judges."""
    return Gap(
        f"{pair.new.label} does not declare the state {state.name!r} of {pair.old.label}",
        "Declare it in NEW as OLD did; or give the new operator a uid of its own and let the old state go with -n.",
        "gone",
    )


def _either_way(pair: Pair, other: Operator) -> Gap:
    if same_values(pair.old, pair.new) is not False:
        return Gap(
            f"{pair.old.label} was fed by other sources or functions than {pair.new.label}; {other.label} is fed by "
            "these now: either the ids changed places, or the inputs did",
            "Give each operator a name, which stays with what feeds it; or let each keep its id.",
            "values",
        )
    return Gap(
        f"the function of {pair.old.label} was made with other values than that of {pair.new.label}; "
        f"{other.label} is made with these now: either the ids changed places, or the values did",
        "Give each operator a name, which stays with what it was made with; or let each keep its id.",
        "values",
    )


def _of_pickles(check: Check, pair: Pair, state: State) -> Gap | None:
    """The gap in the knowledge of the program's classes whose objects the pickles of a state may hold."""
    detail = pair.new.detail
    written = detail.get("classes_present", detail.get("classes_written", {}))  # plans of before have no others
    before = pair.old.detail.get("classes_written")
    if before is None:
        known = {*pair.new.detail.get("classes_known", ()), *pair.new.detail.get("classes_made", ())}
        pickled = pair.old.detail.get("classes_pickled", {}).get(state.name, pair.old.detail.get("classes_made", ()))
        changed = [name for name in pickled if name in known and fails(pair, name) != READ]
        why = "the fields that {} had when the values were pickled are not known"
    else:
        others = [name for name, digest in before.items() if name in written and written[name] != digest]
        changed = [name for name in others if fails(pair, name) != READ]
        why = "{} changed, and a pickle has the fields and constants that it had"
    if not changed:
        return None
    names = " and ".join(name.partition(":")[2] for name in changed)
    return Gap(
        f"the state {state.name!r} holds pickles, and {why.format(names)}",
        "Keep the classes of pickled values as they were, or name the program that wrote the savepoint with --names.",
        "pickles",
    )


def _is_pickled(check: Check, pair: Pair, old: State, new: State) -> bool:
    """Whether both versions pickle the values of a state, so that old ones come back as they were."""
    if "Pickled" in (old.type or ""):
        return True
    if dialect_of(check, pair) is not THREAD:
        return False
    # What a savepoint has tells its own structure, whatever type is declared for it.
    return "recorded" in pair.old.detail or (old.type != new.type and type_change(old, new, THREAD) != SAME)


def _of_shapes(pair: Pair, state: State, *, pickled: bool) -> Gap | None:
    """The gap where NEW's code reads pickles, or texts of JSON, in another way than OLD's code put them in."""
    before, now = (side.detail.get("shapes_put", {}).get(state.name, ()) for side in (pair.old, pair.new))
    read, reads = (side.detail.get("shapes_read", {}).get(state.name) for side in (pair.old, pair.new))
    moved = exchanged(before, now)
    if not pickled:
        before = tuple(shape for shape in before if shape.says_json)
    reading = unread(before, reads, now, read or ())
    if (before, read) == (now, reads) or (reading is None and moved is None):
        return None
    if reading is None:
        assert moved is not None
        what = f"NEW puts at [{moved[0]}] of the values in the state {state.name!r} what OLD put at [{moved[1]}]"
    else:
        new = f"NEW puts {_either(now)}" if reading.is_whole else f"NEW reads {reading} of it"
        what = f"OLD puts {_either(before)} into the state {state.name!r}, and {new}"
    return Gap(
        what,
        "Put what was put there before, or into a state of another name; or have the code read both, and let this pass.",
        "shapes",
    )


def _of_unseen_code(pair: Pair, state: State) -> Gap | None:
    """The gap where NEW's code is known by its digest alone, as real PyFlink gives it, and may read pickles in another way."""
    code = pair.new.detail.get("code")
    if code is None or (code and code == pair.old.detail.get("code")):
        return None
    old = "OLD's code is not known" if "code" not in pair.old.detail else "the code of OLD is another one"
    return Gap(
        f"the state {state.name!r} holds pickles, {old}, and what the code of {pair.new.label} reads of them is not known "
        "for functions that PyFlink itself holds",
        "Declare the type of the state, which is compared; or let this pass if NEW reads what OLD put in.",
        "code",
    )


def _either(shapes: Shapes) -> str:
    return " or ".join(dict.fromkeys(map(str, shapes)))


def _declared(operator: Operator, state: State) -> State | None:
    return next((one for one in operator.states or () if _address(one) == _address(state)), None)


def _address(state: State) -> tuple[str, bool, bool]:
    """The key under which a state is found again. Timers belong to a service; not every plan records their clock."""
    name = timer_service(state.name) if state.kind is StateKind.TIMERS else state.name
    return name, state.scope is StateScope.KEYED, state.built_in


def _never_filled(pair: Pair, state: State) -> Evidence | None:
    """The proof for timers that OLD's function never sets, and for a mark that Flink can lose without harm."""
    never = state.kind is StateKind.TIMERS and pair.old.detail.get("timers") is False
    mark = state.built_in and state.name == END_OF_INPUT
    return Evidence(("operator's code",), Witness.READERS) if never or mark else None


def _of_a_trigger(pair: Pair, state: State) -> Evidence | None:
    """The proof for the state of PyFlink's own triggers, which no plan lists."""
    kept = triggers.names_in_python(pair.new)
    if kept is None or state.name not in kept or not triggers.may_be_a_triggers(state, in_python=True):
        return None
    return Evidence(("id", *_alike(pair), "name", "trigger"), Witness.READERS)


def _may_be_asked_for(pair: Pair) -> Gap | None:
    more = pair.new.more
    if more is None:
        return None
    return Gap(
        f"{pair.new.label} may still ask for it: {more.why}",
        "Ask for all states in open(): then their names and types are known.",
        "more",
    )


def _alike(pair: Pair) -> Iterator[str]:
    """The facts that the two versions of the operator have in common besides the id."""
    if pair.old.name == pair.new.name:
        yield "operator's name"
    if pair.old.kind == pair.new.kind:
        yield "operator's kind"
    if pair.old.function is not None and pair.new.function is not None and pair.old.function == pair.new.function:
        yield "operator's code"


def _types(pair: Pair, old: State, new: State, compared: list[str]) -> Proof:
    """The proof from the types of the key and the values on both sides."""
    if old.serializers is not None and new.serializers is not None and old.serializers.value is not None:
        if new.serializers.value is not None:
            return Evidence((*compared, "serializers"), Witness.READERS)
        return _untold("type", "NEW", old)
    for what, before, after in (("type", old.type, new.type), ("key type", old.key_type, new.key_type)):
        if old.kind in _NEVER_TYPED and what == "type":
            continue
        if None in (before, after) and _is_told(pair, old, new, what):
            return _untold(what, "OLD" if before is None else "NEW", old)
        if before is not None and after is not None:
            compared.append(what)
    return Evidence(tuple(compared), Witness.READERS)


def _is_told(pair: Pair, old: State, new: State, what: str) -> bool:
    """Whether such a type would be known at all, if one side lacks it.

    Python operators give the types of keys, of declared states and of window contents. A topology may leave types out;
    for two savepoints, the serializers are compared with each other.
    """
    if recorded(pair.new):
        return False
    in_python = "python" in pair.new.detail
    if what == "key type":
        return in_python and old.scope is StateScope.KEYED
    if in_python:
        return not old.built_in or old.name == WINDOW_CONTENTS
    return not old.built_in and (old.type is None) != (new.type is None)


def _untold(what: str, side: str, state: State) -> Gap:
    return Gap(
        f"the {what} of the state {state.name!r} is not known for {side}",
        "Name the program that wrote the snapshot with --names, or declare the type.",
        f"{what} {side}",
    )
