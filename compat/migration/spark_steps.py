"""The steps of recipes for jobs whose states have declared types. Nothing is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from compat.compiler.spark.driver.saved import SavedOperator
from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.migration.moved_plans import Converted, Resolved
from compat.migration.python_states import key_conversion_of, only_field, python_merge
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
    DropOperator,
    DropState,
    MoveState,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
)
from compat.migration.resolving import fields_of, refuse_open, require_one_way, windows_of
from compat.migration.saved_states import SavedStates, declaration, states_of, stored
from compat.savepoint.operators import RequestError, new_id
from compat.state.delta.conversion import CODING
from compat.state.delta.items import Stored, of_coders
from compat.state.delta.state_changes import Place, StateChange
from compat.state.flink.forms import Unconvertible
from compat.state.flink.key_choosing import KeysChosen, KeysEqual
from compat.state.flink.longer_windows import require_no_merging
from compat.state.flink.merging import Merge
from compat.state.flink.python_functions import OfChoice, OfValues
from compat.state.flink.python_rules import ByRules, Declared
from compat.state.flink.python_states import Apply
from compat.state.flink.rekeying import KeyChange
from compat.state.flink.snapshot_writing import key_snapshot
from compat.state.names import WINDOW_CONTENTS
from compat.state.types import TypeInformation
from compat.state.types.spelling import parse_type

_OF_KEYS = ConvertKey | ConvertWindows | DropKeys
_DONE = RenameOperator | DropOperator | RenameState | MoveState | DropState | ConvertState | _OF_KEYS


def resolved(
    recipe: Recipe, saved: Mapping[str, SavedOperator], new_plan: Mapping[str, Any], functions: Functions
) -> Resolved:
    """The meaning of a recipe for saved operators. Raises RequestError if it does not fit, or is not supported here.

    The functions that it names are started once values go through them.
    """
    refuse_open(recipe)
    refused = [step for step in recipe.steps if not isinstance(step, _DONE)]
    if refused:
        raise RequestError(f"Jobs on Spark have no step {_tag(refused[0])}: nothing is restored. {_why(refused[0])}")
    found = Resolved(SavedStates(saved))
    steps = _Steps(found, new_plan, functions)
    # What a state and its operator are called in NEW is known once all other steps are.
    for step in sorted(recipe.steps, key=lambda one: isinstance(one, ConvertState | ConvertKey | ConvertWindows)):
        steps.do(step)
    return found


def moved_plan(recipe: Recipe, old_plan: dict[str, Any], new_plan: dict[str, Any]) -> dict[str, Any]:
    """The plan of OLD with its state after a recipe, for the program of the other plan. Raises RequestError."""
    return resolved(recipe, states_of(old_plan).operators, new_plan, Functions(LoadOptions(), ExitStack())).moved(
        old_plan
    )


def _tag(step: Step) -> str:
    return str(step.__struct_config__.tag)


def _why(step: Step) -> str:
    """Why a step is none of jobs on Spark."""
    if isinstance(step, RenameClass | RenameField):
        return "Serializers of Java name classes, and there are none: convert-state writes fields as NEW declares them."
    return "It moves a source of Flink's."


class _Steps:
    """Carries out steps: their effect is in ``found``."""

    def __init__(self, found: Resolved, new_plan: Mapping[str, Any], functions: Functions) -> None:
        self._found, self._saved, self._functions = found, found.saved, functions
        self._new = {}
        for operator in new_plan.get("operators") or ():
            self._new.update(dict.fromkeys(filter(None, (operator["user_hash"], operator["operator_id"])), operator))

    def do(self, step: Step) -> None:
        """Apply a step. Raises RequestError."""
        match step:
            case RenameOperator(operator=called, to=to):
                self._found.renamed[self._once(called)] = new_id(to)
            case DropOperator(operator=called):
                self._found.dropped.add(self._once(called))
            case RenameState(operator=called, state=state, to=to):
                place = self._unnamed(called, state)
                self._found.moved_states[place] = place[0], to
            case MoveState(operator=called, state=state, to=to, name=name):
                place = self._unnamed(called, state)
                self._found.moved_states[place] = self._owner(to, place), name or state
            case DropState(operator=called, state=state):
                self._found.moved_states[self._unnamed(called, state)] = None
            case ConvertState():
                self._convert(step)
            case ConvertKey():
                self._convert_key(step)
            case ConvertWindows():
                self._convert_windows(step)
            case DropKeys():
                self._drop_keys(step)

    def _convert(self, step: ConvertState) -> None:
        place, state = self._saved.place(step.operator, step.state)
        label = _label(step.operator, step.state)
        if place in self._found.converted:
            raise RequestError(f"{label}: the recipe has two steps for that.")
        then = self._found.becomes(place)
        if then is None:
            raise RequestError(f"{label}: another step drops it.")
        declared = self._declared(then)
        if declared is None or parse_type(declared["type"] or "") is None:
            raise RequestError(f"{label}: NEW does not declare its type.")
        try:
            require_one_way(step)
            self._found.converted[place] = self._conversion(place, state, declared, step)
        except Unconvertible as error:
            raise RequestError(f"{label}: {error}.") from None

    def _conversion(
        self, place: Place, state: Mapping[str, Any], declared: Mapping[str, Any], step: ConvertState
    ) -> Converted:
        old = stored(state)
        new = Stored(
            declaration(declared["kind"], parse_type(declared["type"])), old.broadcast, declared["ttl"] is not None
        )
        change = StateChange(
            old,
            new,
            self._apply(old.declared, new.declared, step),
            self._saved.key_type(place[0]),
            _label(self._saved.operators[place[0]].uid or self._saved.operators[place[0]].name, place[1]),
            self._found.now,
        )
        return Converted(new, {name: declared[name] for name in ("kind", "type", "ttl")}, change)

    def _apply(self, old: Declared, new: Declared, step: ConvertState) -> Apply:
        if step.function is None:
            return ByRules(old, new, fields_of(step), step.entry, CODING)
        return of_coders(self._functions.applying(step.function, OfValues(old, new, step.drops)), old, new)

    def _convert_key(self, step: ConvertKey) -> None:
        id, old, change = self._keyed(step)
        label = f"The keys of {step.operator!r} cannot be converted"
        if id in self._found.key_types:
            raise RequestError(f"The recipe says twice what happens to the keys of {step.operator!r}.")
        twin = self._new.get(self._found.id_of(id), {})
        states = twin.get("states") or ()
        told = next((state["key_type"] for state in states if state["key_type"]), None)
        new = only_field(parse_type(told or ""))
        if told is None or new is None:
            raise RequestError(f"{label}: NEW does not declare their type.")
        try:
            require_one_way(step)
            snapshot = key_snapshot(old)
            conversion = key_conversion_of(snapshot, str(old), str(new), step, fields_of(step), self._functions)
            merges = self._merges(step)
        except Unconvertible as error:
            raise RequestError(f"{label}: {error}.") from None
        self._found.changed_keys[id] = replace(change, conversion=conversion, merges={**change.merges, **merges})
        self._found.key_types[id] = told
        self._found.keyed_by[id] = {field: twin[field] for field in ("key_selectors", "key") if field in twin}

    def _convert_windows(self, step: ConvertWindows) -> None:
        id, _, change = self._keyed(step)
        if change.windows is not None:
            raise RequestError(f"The recipe says twice what happens to the windows of {step.operator!r}.")
        assigner = self._new.get(self._found.id_of(id), {}).get("detail", {}).get("window")
        try:
            names = [state["name"] for state in self._saved.operators[id].states]
            require_no_merging(names)
            if WINDOW_CONTENTS not in names:
                raise Unconvertible("there are no windows")
            windows, merges = windows_of(step, assigner), self._merges(step)
        except Unconvertible as error:
            raise RequestError(f"The windows of {step.operator!r} cannot become others: {error}") from None
        self._found.changed_keys[id] = replace(change, windows=windows, merges={**change.merges, **merges})

    def _merges(self, step: ConvertKey | ConvertWindows) -> dict[str, Merge]:
        places = {state: self._saved.place(step.operator, state)[1] for state in step.merge}
        return {
            state: python_merge(state, stored(found).declared, step.merge[state], self._functions)
            for state, found in places.items()
        }

    def _drop_keys(self, step: DropKeys) -> None:
        id, old, change = self._keyed(step)
        if change.dropped is not None:
            raise RequestError(f"The recipe says twice which keys of {step.operator!r} go.")
        if sum(map(bool, (step.keys, step.fields, step.function))) != 1:
            raise RequestError(f"Say which keys of {step.operator!r} go: by keys, by fields, or by a function.")
        dropped: KeysEqual | KeysChosen = KeysEqual(step.keys, step.fields)
        if step.function is not None:
            choice = OfChoice(key_snapshot(old), str(old))
            dropped = KeysChosen(self._functions.applying(step.function, choice))
        self._found.changed_keys[id] = replace(change, dropped=dropped)

    def _keyed(self, step: _OF_KEYS) -> tuple[str, TypeInformation, KeyChange]:
        """The operator that a step about keys names, their type, and what another step says of them."""
        id = self._saved.one(step.operator)
        type = self._saved.key_type(id)
        if type is None:
            raise RequestError(f"{step.operator!r} has no state of keys.")
        return id, type, self._found.changed_keys.get(id, KeyChange())

    def _declared(self, then: Place) -> Mapping[str, Any] | None:
        states = self._new.get(then[0], {}).get("states") or ()
        return next((state for state in states if state["name"] == then[1]), None)

    def _owner(self, called: str, place: Place) -> str:
        """The operator that a state moves to, by its id in the snapshot: one that is there, or a new one."""
        source, state = self._saved.operators[place[0]], self._saved.state(*place)
        found = self._saved.find(called)
        if not found:
            new = new_id(called)
            keyed = state.get("scope", "keyed") == "keyed"
            made = replace(source, id=new.id, name=called, uid=new.uid, states=(), keyed=keyed, replayed=False)
            self._found.added.setdefault(new.id, made)
            return new.id
        target = self._saved.operators[self._saved.one(called)]
        keys = {json.dumps(one.get("key_type")) for one in (state, *target.states) if one.get("scope") == "keyed"}
        if target.max_parallelism != source.max_parallelism or len(keys) > 1:
            raise RequestError(
                f"The state {place[1]!r} of {source.name!r} cannot move to {target.name!r}: it has other keys, or another "
                "maximum parallelism."
            )
        return target.id

    def _once(self, called: str) -> str:
        id = self._saved.one(called)
        if id in self._found.renamed or id in self._found.dropped:
            raise RequestError(f"The recipe says twice what happens to {self._saved.operators[id].name!r}.")
        return id

    def _unnamed(self, called: str, state: str) -> Place:
        place, _ = self._saved.place(called, state)
        if place in self._found.moved_states:
            raise RequestError(f"The recipe says twice what happens to the state {state!r} of {called!r}.")
        return place


def _label(operator: str, state: str) -> str:
    return f"The values of the state {state!r} of {operator!r} cannot be converted"
