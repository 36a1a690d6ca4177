"""From a recipe to what is written: names become operators, states and ids of the savepoint."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec import Struct

from compat.migration.new_job import NewJob
from compat.migration.offsets import partition_moves
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    DropOperator,
    DropState,
    MoveOffsets,
    MoveState,
    Open,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
)
from compat.migration.telling import declared, key_serializer
from compat.savepoint.names import Names
from compat.savepoint.operators import Operators, RequestError, new_id
from compat.state.flink import NewId, OperatorState, Savepoint
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible
from compat.state.flink.header_parts import Field, StateKey, TypeNames
from compat.state.flink.headers import KIND, MODE
from compat.state.flink.python_forms import PythonConversion
from compat.state.flink.rekeying import KeyConversion
from compat.state.flink.state_entries import StoredState, stored_states
from compat.state.flink.transcoding import Conversion, Fields, SerializerConversion
from compat.state.flink.transfer import StateTarget, Transfer
from compat.state.model.states import State, StateKind, StateScope
from compat.state.names import PYTHON_PREFIX, SOURCE_READER
from compat.state.types import ListTypeInfo, TypeInformation
from compat.state.types.spelling import parse_type


class Resolved(Struct, frozen=True):
    """A recipe for one savepoint, and what a person calls its operators, by their ids."""

    transfer: Transfer
    labels: dict[str, str]


def resolve(recipe: Recipe, savepoint: Savepoint, names: Names, new: NewJob | None = None) -> Resolved:
    """What a recipe means for a savepoint. Raises RequestError for what is open, not there, or said twice.

    Only steps that convert something look at ``new``.
    """
    refuse_open(recipe)
    resolving = _Resolving(savepoint, names, new)
    # What a state and its operator are called in NEW is known once all other steps are.
    for step in sorted(recipe.steps, key=lambda one: isinstance(one, ConvertState | ConvertKey)):
        match step:
            case RenameOperator():
                resolving.rename_operator(step)
            case DropOperator():
                resolving.drop_operator(step)
            case RenameState() | MoveState() | DropState():
                resolving.change_state(step)
            case RenameClass():
                resolving.rename_class(step)
            case RenameField():
                resolving.rename_field(step)
            case ConvertState():
                resolving.convert(step)
            case ConvertKey():
                resolving.convert_key(step)
            case MoveOffsets():
                resolving.move_offsets(step)
    return resolving.result()


def refuse_open(recipe: Recipe) -> None:
    """Raise RequestError for a recipe with questions, which has them."""
    if recipe.questions:
        told = "".join(f"\n  {_where(one)}{one.question}" for one in recipe.questions)
        raise RequestError(f"The recipe has open questions: put a step for each.{told}")


def _where(one: Open) -> str:
    place = " of ".join(filter(None, (one.state, one.operator)))
    return f"{place}: " if place else ""


class _Resolving:
    def __init__(self, savepoint: Savepoint, names: Names, new: NewJob | None) -> None:
        self._new = None if new is None else new.program
        self._classes_of_new = None if new is None else new.classes
        self._operators = Operators(savepoint, names)
        self._names = names
        self._savepoint = savepoint
        self._stored: dict[str, list[StoredState]] = {}
        for state in stored_states(savepoint):
            self._stored.setdefault(state.operator_id, []).append(state)
        self._ids: dict[str, NewId] = {}
        self._committers: dict[str, NewId] = {}
        self._dropped: set[str] = set()
        self._states: dict[StateKey, StateTarget | None] = {}
        self._added: dict[str, NewId] = {}
        self._classes: dict[str, str] = {}
        self._fields: dict[Field, str] = {}
        self._converted: dict[StateKey, Conversion] = {}
        self._keys: dict[str, KeyConversion] = {}
        self._coordinators: dict[str, bytes] = {}
        self._now = time.time_ns() // 1_000_000

    def result(self) -> Resolved:
        transfer = self._transfer()
        labels = {operator.id: self._operators.label(operator) for operator in self._savepoint.operators}
        labels |= {id: f"{new.uid!r} ({id})" if new.uid else f"operator {id}" for id, new in self._added.items()}
        return Resolved(transfer, labels)

    def _transfer(self) -> Transfer:
        return Transfer(
            ids=self._committers | self._ids,
            dropped=frozenset(self._dropped),
            states=self._states,
            added=self._added,
            types=TypeNames(self._classes, self._fields),
            converted=self._converted,
            keys=self._keys,
            coordinators=self._coordinators,
        )

    def rename_operator(self, step: RenameOperator) -> None:
        operator = self._once(self._operators.one(step.operator))
        self._ids[operator.id] = new = new_id(step.to)
        self._committers |= self._operators.committers(operator, new)

    def drop_operator(self, step: DropOperator) -> None:
        self._dropped.add(self._once(self._operators.one(step.operator)).id)

    def change_state(self, step: RenameState | MoveState | DropState) -> None:
        operator = self._operators.one(step.operator)
        for state in self._states_called(operator, step.state):
            key = StateKey(operator.id, state.name, state.kind.keyed)
            if key in self._states:
                raise RequestError(
                    f"The recipe says twice what becomes of the state {step.state!r} of {self._operators.label(operator)}."
                )
            self._states[key] = self._target(operator, state, step)

    def _target(
        self, operator: OperatorState, state: StoredState, step: RenameState | MoveState | DropState
    ) -> StateTarget | None:
        if isinstance(step, DropState):
            return None
        name = step.to if isinstance(step, RenameState) else step.name
        stored = state.name
        if name is not None:
            # What PyFlink's process mode puts before the name of a state stays before it.
            stored = PYTHON_PREFIX + name if state.name.startswith(PYTHON_PREFIX) else name
        return StateTarget(operator.id if isinstance(step, RenameState) else self._owner(step.to), stored)

    def _owner(self, text: str) -> str:
        """The operator that a state moves to: one that is there, or a new one."""
        found = self._operators.find(text)
        if found is not None:
            return found.id
        new = new_id(text)
        self._added[new.id] = new
        return new.id

    def rename_class(self, step: RenameClass) -> None:
        if self._classes.setdefault(step.name, step.to) != step.to:
            raise RequestError(f"The recipe gives two names to the class {step.name}.")

    def rename_field(self, step: RenameField) -> None:
        if self._fields.setdefault(Field(step.owner, step.name), step.to) != step.to:
            raise RequestError(f"The recipe gives two names to the field {step.name} of {step.owner}.")

    def convert(self, step: ConvertState) -> None:
        operator = self._operators.one(step.operator)
        for state in self._states_called(operator, step.state):
            key = StateKey(operator.id, state.name, state.kind.keyed)
            try:
                if key in self._converted:
                    raise _NotTold("the recipe has two steps for that")
                self._converted[key] = self._conversion(key, step)
            except _NotTold as error:
                label = self._operators.label(operator)
                raise RequestError(
                    f"The values of the state {step.state!r} of {label} cannot be converted: {error}."
                ) from None

    def _conversion(self, key: StateKey, step: ConvertState) -> Conversion:
        """What becomes of a state's values. Raises _NotTold where OLD or NEW does not say how it writes them."""
        becomes = self._transfer().becomes(key)
        if becomes is None:
            raise _NotTold("another step drops it")
        after = declared(becomes, self._new)
        fields = fields_of(step)
        if not key.name.startswith(PYTHON_PREFIX):
            serializer = None if after is None or after.serializers is None else after.serializers.value
            if after is None or serializer is None:
                raise _NotTold(
                    f"NEW does not tell how it writes {becomes.name!r} of operator {becomes.operator}; jars do"
                )
            return SerializerConversion(
                serializer, fields, _options(after), self._now, step.entry, self._classes_of_new
            )
        before = declared(key, self._names.program)
        old, now = _type_of(before), _type_of(after)
        if old is None:
            raise _NotTold("to Flink it is bytes: name the program that wrote it, with its types (--names OLD.py)")
        if now is None or before is None or after is None or before.kind is not after.kind:
            raise _NotTold("NEW does not declare its type, or another kind of state")
        return PythonConversion(old, now, fields)

    def convert_key(self, step: ConvertKey) -> None:
        operator = self._operators.one(step.operator)
        label = self._operators.label(operator)
        if operator.id in self._keys:
            raise RequestError(f"The recipe says twice what becomes of the keys of {label}.")
        if not any(state.kind.keyed for state in self._stored.get(operator.id, ())):
            raise RequestError(f"{label} has no state of keys.")
        becomes = self._ids.get(operator.id, NewId(operator.id)).id
        serializer = key_serializer(becomes, self._new)
        if serializer is None:
            raise RequestError(f"NEW does not tell how it writes the keys of {label}; jars do.")
        self._keys[operator.id] = KeyConversion(serializer, fields_of(step), self._classes_of_new)

    def move_offsets(self, step: MoveOffsets) -> None:
        """Where a source of Kafka goes on, in the splits of its readers and in what its enumerator knows."""
        operator = self._operators.one(step.operator)
        label = self._operators.label(operator)
        key = StateKey(operator.id, SOURCE_READER, keyed=False)
        if key in self._converted:
            raise RequestError(f"The recipe says twice where {label} goes on.")
        try:
            moves = partition_moves(step, self._savepoint, operator)
            made = moves.coordinator(operator)
        except (Unconvertible, SavepointError) as error:
            raise RequestError(f"The positions of {label} cannot be moved: {error}.") from None
        self._converted[key] = moves
        if made is not None:
            self._coordinators[operator.id] = made

    def _once(self, operator: OperatorState) -> OperatorState:
        if operator.id in self._ids or operator.id in self._dropped:
            raise RequestError(f"The recipe says twice what becomes of {self._operators.label(operator)}.")
        return operator

    def _states_called(self, operator: OperatorState, name: str) -> Iterator[StoredState]:
        """The states of an operator that a program calls so; there may be one of keys and one of subtasks."""
        stored = self._stored.get(operator.id, [])
        found = [state for state in stored if name in (state.name, state.declared_name)]
        if not found:
            there = ", ".join(dict.fromkeys(state.declared_name for state in stored)) or "no state"
            raise RequestError(f"{self._operators.label(operator)} has no state {name!r}. It has {there}.")
        yield from found


class _NotTold(Exception):
    """Why the values of a state cannot be converted."""


def fields_of(step: ConvertState | ConvertKey) -> Fields:
    """What a step says of the fields of records."""
    return Fields(step.fields, step.constants, frozenset(step.without), step.single)


_MODES = {
    StateScope.OPERATOR: "SPLIT_DISTRIBUTE",
    StateScope.UNION: "UNION",
    StateScope.BROADCAST: "BROADCAST",
}
"""What Flink calls the ways in which operator state is handed out (`OperatorStateHandle.Mode`)."""


def _options(state: State) -> dict[str, str]:
    """What a header says of the kind of a state, as NEW has it."""
    return {KIND: state.kind.value.upper()} if state.scope is StateScope.KEYED else {MODE: _MODES[state.scope]}


def _type_of(state: State | None) -> TypeInformation | None:
    """The type of what a state holds one by one: of a list its elements. None where nobody declares it."""
    type = None if state is None or state.type is None else parse_type(state.type)
    return (
        type.element_type
        if state is not None and state.kind is StateKind.LIST and isinstance(type, ListTypeInfo)
        else type
    )
