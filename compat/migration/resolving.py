"""Resolves a recipe for a savepoint: names become operators, states and ids."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from compat.check.code_suggestions import is_of_flink, tumbling
from compat.compiler.configuration import parse_duration
from compat.compiler.errors import ProgramError
from compat.migration.functions import Functions
from compat.migration.new_job import NewJob
from compat.migration.offsets import partition_moves
from compat.migration.python_states import conversion_of, declared_key, key_conversion_of, merge_of, stored_key
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
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
from compat.migration.telling import assigner_of, declared, key_serializer
from compat.savepoint.names import Names
from compat.savepoint.operators import Operators, RequestError, new_id
from compat.state.flink import NewId, OperatorState, Savepoint
from compat.state.flink.entry_conversion import Conversion
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible
from compat.state.flink.function_conversion import FunctionConversion
from compat.state.flink.header_parts import Field, StateKey, TypeNames
from compat.state.flink.headers import KIND, MODE
from compat.state.flink.key_choosing import KeysChosen, KeysEqual
from compat.state.flink.keyed_transfer import key_serializer_of
from compat.state.flink.longer_windows import LongerWindows
from compat.state.flink.merging import Merge
from compat.state.flink.python_functions import OfChoice, OfSerialized
from compat.state.flink.rekeying import KeyChange, KeyConversion
from compat.state.flink.state_entries import StoredState, stored_states
from compat.state.flink.transcoding import Fields, SerializerConversion
from compat.state.flink.transfer import StateTarget, Transfer
from compat.state.model.states import State, StateScope
from compat.state.names import PYTHON_PREFIX, SOURCE_READER


class Resolved(Struct, frozen=True):
    """A recipe for one savepoint, and the displayed names of its operators, by id."""

    transfer: Transfer
    labels: dict[str, str]


def resolve(
    recipe: Recipe,
    savepoint: Savepoint,
    names: Names,
    functions: Functions,
    new: NewJob | None = None,
) -> Resolved:
    """The meaning of a recipe for a savepoint. Raises RequestError for open questions, missing names, and contradictions.

    Only converting steps use ``new``, and start the ``functions`` that they name.
    """
    refuse_open(recipe)
    resolving = _Resolving(savepoint, names, functions, new)
    # What a state and its operator are called in NEW is known once all other steps are.
    for step in sorted(recipe.steps, key=lambda one: isinstance(one, ConvertState | ConvertKey | ConvertWindows)):
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
            case DropKeys():
                resolving.drop_keys(step)
            case ConvertWindows():
                resolving.convert_windows(step)
            case MoveOffsets():
                resolving.move_offsets(step)
    return resolving.result()


def refuse_open(recipe: Recipe) -> None:
    """Raise RequestError, with the questions, for a recipe that has some."""
    if recipe.questions:
        told = "".join(f"\n  {_where(one)}{one.question}" for one in recipe.questions)
        raise RequestError(f"The recipe has open questions: put a step for each.{told}")


def _where(one: Open) -> str:
    place = " of ".join(filter(None, (one.state, one.operator)))
    return f"{place}: " if place else ""


class _Resolving:
    def __init__(self, savepoint: Savepoint, names: Names, functions: Functions, new: NewJob | None) -> None:
        self._functions = functions
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
        self._keys: dict[str, KeyChange] = {}
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
                    f"The recipe says twice what happens to the state {step.state!r} of {self._operators.label(operator)}."
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
                    raise Unconvertible("the recipe has two steps for that")
                self._converted[key] = self._conversion(state, key, step)
            except Unconvertible as error:
                label = self._operators.label(operator)
                raise RequestError(
                    f"The values of the state {step.state!r} of {label} cannot be converted: {error}."
                ) from None

    def _conversion(self, state: StoredState, key: StateKey, step: ConvertState) -> Conversion:
        """What happens to a state's values. Raises Unconvertible if OLD or NEW does not say how it writes them."""
        becomes = self._transfer().becomes(key)
        if becomes is None:
            raise Unconvertible("another step drops it")
        require_one_way(step)
        after = declared(becomes, self._new)
        fields = fields_of(step)
        if key.name.startswith(PYTHON_PREFIX):
            before = declared(key, self._names.program)
            return conversion_of(state, before, after, step, fields, self._functions, self._now)
        serializer = None if after is None or after.serializers is None else after.serializers.value
        if after is None or serializer is None:
            raise Unconvertible(
                f"NEW does not tell how it writes {becomes.name!r} of operator {becomes.operator}; jars do"
            )
        keys = after.serializers.key if after.scope is StateScope.BROADCAST and after.serializers is not None else None
        conversion = SerializerConversion(
            serializer, fields, _options(after), self._now, step.entry, self._classes_of_new, keys
        )
        if step.function is None:
            return conversion
        if step.drops:
            raise Unconvertible("`drops` is for states of PyFlink: drop keys with drop-keys")
        return FunctionConversion(conversion, partial(self._functions.applying, step.function))

    def convert_key(self, step: ConvertKey) -> None:
        operator, change = self._keyed(step)
        label = self._operators.label(operator)
        if change.conversion is not None:
            raise RequestError(f"The recipe says twice what happens to the keys of {label}.")
        try:
            conversion = self._key_conversion(operator, step)
            merges = {state.name: merge for state, merge in self._merges(operator, step)}
        except Unconvertible as error:
            raise RequestError(f"The keys of {label} cannot be converted: {error}.") from None
        self._keys[operator.id] = replace(change, conversion=conversion, merges={**change.merges, **merges})

    def convert_windows(self, step: ConvertWindows) -> None:
        """Open windows as parts of longer ones."""
        operator, change = self._keyed(step)
        label = self._operators.label(operator)
        if change.windows is not None:
            raise RequestError(f"The recipe says twice what happens to the windows of {label}.")
        try:
            becomes = self._ids.get(operator.id, NewId(operator.id)).id
            windows = windows_of(step, assigner_of(becomes, self._new))
            merges = {state.name: merge for state, merge in self._merges(operator, step)}
        except Unconvertible as error:
            raise RequestError(f"The windows of {label} cannot become others: {error}") from None
        self._keys[operator.id] = replace(change, windows=windows, merges={**change.merges, **merges})

    def _merges(
        self, operator: OperatorState, step: ConvertKey | ConvertWindows
    ) -> Iterator[tuple[StoredState, Merge]]:
        for name, how in step.merge.items():
            for state in self._states_called(operator, name):
                before = declared(StateKey(operator.id, state.name, state.kind.keyed), self._names.program)
                yield state, merge_of(state, before, how, self._functions)

    def _key_conversion(self, operator: OperatorState, step: ConvertKey) -> KeyConversion:
        require_one_way(step)
        becomes = self._ids.get(operator.id, NewId(operator.id)).id
        serializer, new = key_serializer(becomes, self._new), declared_key(becomes, self._new)
        there = key_serializer_of(self._savepoint, operator)
        if serializer is not None and there is not None and step.function is not None:
            apply = self._functions.applying(step.function, OfSerialized(there, serializer))
            return KeyConversion(serializer, classes=self._classes_of_new, apply=apply)
        if serializer is not None:
            return KeyConversion(serializer, fields_of(step), self._classes_of_new)
        old = declared_key(operator.id, self._names.program) or self._stored_key(operator)
        if new is None or old is None or there is None:
            raise Unconvertible("NEW does not tell how it writes them; jars do, and programs in Python")
        return key_conversion_of(there, old, new, step, fields_of(step), self._functions)

    def drop_keys(self, step: DropKeys) -> None:
        operator, change = self._keyed(step)
        label = self._operators.label(operator)
        if change.dropped is not None:
            raise RequestError(f"The recipe says twice which keys of {label} go.")
        if sum(map(bool, (step.keys, step.fields, step.function))) != 1:
            raise RequestError(f"Say which keys of {label} go: by keys, by fields, or by a function.")
        there = key_serializer_of(self._savepoint, operator)
        if there is None:
            raise RequestError(f"{label} has no keys that are read here.")
        dropped: KeysEqual | KeysChosen = KeysEqual(step.keys, step.fields)
        if step.function is not None:
            type = declared_key(operator.id, self._names.program) or self._stored_key(operator)
            dropped = KeysChosen(self._functions.applying(step.function, OfChoice(there, type)))
        self._keys[operator.id] = replace(change, dropped=dropped)

    def _keyed(self, step: ConvertKey | ConvertWindows | DropKeys) -> tuple[OperatorState, KeyChange]:
        """The operator that a step about keys names, and what another step says of them."""
        operator = self._operators.one(step.operator)
        if not any(state.kind.keyed for state in self._stored.get(operator.id, ())):
            raise RequestError(f"{self._operators.label(operator)} has no state of keys.")
        return operator, self._keys.get(operator.id, KeyChange())

    def _stored_key(self, operator: OperatorState) -> str | None:
        """The type of an operator's keys, if they are such as those of PyFlink."""
        keyed = (state for state in self._stored[operator.id] if state.kind.keyed and state.key_type is not None)
        return next((stored_key(state) for state in keyed), None)

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
            raise RequestError(f"The recipe says twice what happens to {self._operators.label(operator)}.")
        return operator

    def _states_called(self, operator: OperatorState, name: str) -> Iterator[StoredState]:
        """The states of an operator that a program calls so; there may be one of keys and one of subtasks."""
        stored = self._stored.get(operator.id, [])
        found = [state for state in stored if name in (state.name, state.declared_name)]
        if not found:
            there = ", ".join(dict.fromkeys(state.declared_name for state in stored)) or "no state"
            raise RequestError(f"{self._operators.label(operator)} has no state {name!r}. It has {there}.")
        yield from found


def require_one_way(step: ConvertState | ConvertKey) -> None:
    """Raise Unconvertible where a step has a function and says something besides: one of both would not be done."""
    by_fields = fields_of(step) != Fields() or (isinstance(step, ConvertState) and step.entry is not None)
    if step.function is not None and by_fields:
        raise Unconvertible("a function gives all of a value: take out fields, constants, without, single and entry")
    if isinstance(step, ConvertState) and step.drops and step.function is None:
        raise Unconvertible("`drops` is about what a function gives: name one")


def windows_of(step: ConvertWindows, assigner: str | None) -> LongerWindows:
    """The windows that open ones become part of. Raises Unconvertible for windows that an assigner of Flink's does not make."""
    try:
        windows = LongerWindows(*(parse_duration(text) for text in (step.size, step.offset)))
    except ProgramError as error:
        raise Unconvertible(str(error)) from None
    if windows.size <= 0:
        raise Unconvertible(f"their size is {step.size}.")
    if assigner is None or not is_of_flink(assigner):
        return windows
    theirs = tumbling(assigner)
    if theirs is None:
        raise Unconvertible(f"NEW has {assigner}, and only tumbling windows of time are known to have others in them.")
    if theirs.size != windows.size or (theirs.offset - windows.offset) % theirs.size:
        raise Unconvertible(
            f"NEW has {assigner}: write size: {theirs.size} ms, offset: {theirs.offset} ms, or change NEW."
        )
    return windows


def fields_of(step: ConvertState | ConvertKey) -> Fields:
    """A step's options for the fields of records."""
    return Fields(step.fields, step.constants, frozenset(step.without), step.single)


_MODES = {
    StateScope.OPERATOR: "SPLIT_DISTRIBUTE",
    StateScope.UNION: "UNION",
    StateScope.BROADCAST: "BROADCAST",
}
"""Flink's names for the distribution modes of operator state (`OperatorStateHandle.Mode`)."""


def _options(state: State) -> dict[str, str]:
    """What a header says of the kind of a state, as NEW has it."""
    return {KIND: state.kind.value.upper()} if state.scope is StateScope.KEYED else {MODE: _MODES[state.scope]}
