"""The facts about a migrated savepoint from the program that wrote the original: operators and states under their
present names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from compat.check.context import Rewritten
from compat.plan.facts import Program, with_ids
from compat.savepoint.facts import FOLDING
from compat.savepoint.names import Names, of_program
from compat.state.flink.header_parts import StateKey
from compat.state.flink.transcoding import SerializerConversion
from compat.state.flink.transfer import Transfer
from compat.state.model.operators import Detail, Operator
from compat.state.model.samples import Sample
from compat.state.model.states import State, StateKind, StateScope
from compat.state.names import PYTHON_PREFIX, WINDOW_CONTENTS


def told_after(names: Names, transfer: Transfer, new: Program | None) -> Names:
    """The names for a migrated savepoint. States whose values or keys were converted have the types that ``new`` declares.

    If types were renamed, the program's statements about its states no longer hold: the savepoint itself counts.
    """
    if names.program is None:
        ids = {old: target.id for old, target in transfer.ids.items()}
        return replace(names, table={ids.get(id, id): entry for id, entry in names.table.items()})
    states: dict[str, list[State]] = {}
    for operator in names.program.operators:
        for owner, state in _states(operator, transfer, new):
            states.setdefault(owner, []).append(state)
    known = None if transfer.types.named else states
    program = with_ids(names.program, {old: target.id for old, target in transfer.ids.items()})
    operators = tuple(
        _renamed(operator, now, transfer, known, new)
        for operator, now in zip(names.program.operators, program.operators, strict=True)
        if operator.id not in transfer.dropped
    )
    samples = () if transfer.types.named else tuple(one for one in names.program.samples if _stays(one, transfer))
    return of_program(replace(program, operators=operators, samples=samples))


def _stays(sample: Sample, transfer: Transfer) -> bool:
    """Whether what OLD's program wrote of a state is as it would be written now."""
    touched = {*transfer.ids, *transfer.dropped, *transfer.keys}
    named = {(key.operator, key.name) for key in (*transfer.states, *transfer.converted)}
    return sample.operator not in touched and (sample.operator, sample.state) not in named


def rewritten(transfer: Transfer) -> dict[str, dict[str, Rewritten]]:
    """The states of operators with changed names or rows: their former names and fields."""
    found: dict[str, dict[str, Rewritten]] = {}
    for key in (*transfer.states, *transfer.converted):
        becomes = transfer.becomes(key)
        if becomes is not None:
            conversion = transfer.converted.get(key)
            told = Rewritten(key.name)
            if isinstance(conversion, SerializerConversion):
                told = Rewritten(key.name, conversion.places, conversion.filled, conversion.fields.single)
            found.setdefault(becomes.operator, {})[becomes.name] = told
    return found


def declared(state: StateKey, program: Program | None) -> State | None:
    """The state of a savepoint as a program declares it; None if it has none.

    PyFlink keeps window contents as lists, even the one value that a window folds its records into.
    """
    name = state.name.removeprefix(PYTHON_PREFIX)
    for operator in () if program is None else program.operators:
        if state.operator in (operator.id, operator.user_hash):
            for one in operator.states or ():
                if one.name == name and (one.scope is StateScope.KEYED) is state.keyed:
                    folds = name == WINDOW_CONTENTS and operator.detail.get("window_function") in FOLDING
                    return replace(one, kind=StateKind.REDUCING) if folds and name != state.name else one
    return None


def key_serializer(operator: str, program: Program | None) -> bytes | None:
    """The snapshot of the serializer of an operator's keys, from a program; None if it has none."""
    for one in () if program is None else program.operators:
        if operator in (one.id, one.user_hash):
            found = (state.serializers for state in one.states or () if state.serializers is not None)
            return next((serializers.key for serializers in found if serializers.key is not None), None)
    return None


def assigner_of(operator: str, program: Program | None) -> str | None:
    """What cuts the windows of an operator, as a program has it; None if it does not tell."""
    found = (one for one in (() if program is None else program.operators) if operator in (one.id, one.user_hash))
    return next((one.detail.get("window") for one in found), None)


def _renamed(
    operator: Operator,
    now: Operator,
    transfer: Transfer,
    states: Mapping[str, list[State]] | None,
    new: Program | None,
) -> Operator:
    """An operator under the id that it has ``now``, with the uid and the states of that.

    What OLD's code did with keys and values that were converted since says nothing of them: the keys are those of ``new``.
    """
    id = transfer.ids.get(operator.id)
    listed = None if operator.states is None or states is None else tuple(states.get(now.id, ()))
    now = replace(
        now, uid=operator.uid if id is None else id.uid, states=listed, detail=_unconverted(operator, transfer)
    )
    twin = None if new is None else new.by_id.get(now.id)
    if twin is None or operator.id not in transfer.keys:
        return now
    return replace(now, key_selectors=twin.key_selectors, key=twin.key)


def _unconverted(operator: Operator, transfer: Transfer) -> Detail:
    """The facts of an operator without those of what was put into states that were converted since."""
    names = {key.name.removeprefix(PYTHON_PREFIX) for key in transfer.converted if key.operator == operator.id}
    detail: Detail = {**operator.detail}
    if "shapes_put" in detail:
        detail["shapes_put"] = {name: put for name, put in detail["shapes_put"].items() if name not in names}
    return detail


def _states(operator: Operator, transfer: Transfer, new: Program | None) -> Iterator[tuple[str, State]]:
    """The states that an operator had, with the ids of the operators that have them now."""
    for state in operator.states or ():
        keyed = state.scope is StateScope.KEYED
        stored = (StateKey(operator.id, prefix + state.name, keyed) for prefix in ("", PYTHON_PREFIX))
        named = {*transfer.states, *transfer.converted}
        key = next((one for one in stored if one in named), StateKey(operator.id, state.name, keyed))
        becomes = transfer.becomes(key)
        if becomes is not None:
            converted = key in transfer.converted or (keyed and operator.id in transfer.keys)
            now = declared(becomes, new) if converted else None
            yield becomes.operator, now or replace(state, name=becomes.name.removeprefix(PYTHON_PREFIX))
