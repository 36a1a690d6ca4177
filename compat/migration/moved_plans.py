"""Recipes for jobs whose states have declared types: their effect on operators and plans. Nothing is run."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from difflib import get_close_matches
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.streamgraph.hashing import uid_hash
from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.migration.python_states import key_conversion_of, only_field, python_merge
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    DropKeys,
    DropOperator,
    DropState,
    MoveOffsets,
    MoveState,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
)
from compat.migration.resolving import fields_of, refuse_open, require_one_way
from compat.savepoint.operators import RequestError, new_id
from compat.state.delta.conversion import CODING
from compat.state.delta.items import Stored, of_coders
from compat.state.delta.rekeying import Rekeying
from compat.state.delta.state_changes import Place, StateChange
from compat.state.flink import NewId
from compat.state.flink.forms import Unconvertible
from compat.state.flink.key_choosing import KeysChosen, KeysEqual
from compat.state.flink.merging import Merge
from compat.state.flink.python_functions import OfChoice, OfValues
from compat.state.flink.python_rules import ByRules, Declared
from compat.state.flink.python_states import Apply
from compat.state.flink.rekeying import KeyChange
from compat.state.flink.snapshot_writing import key_snapshot
from compat.state.model.states import StateKind
from compat.state.types import ListTypeInfo, TypeInformation, Types, from_json
from compat.state.types.spelling import parse_type

_DONE = RenameOperator | DropOperator | RenameState | MoveState | DropState | ConvertState | ConvertKey | DropKeys
_ID = re.compile(r'"([0-9a-f]{32})"')


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
    found = Resolved(saved, new_plan, functions)
    # What a state and its operator are called in NEW is known once all other steps are.
    for step in sorted(recipe.steps, key=lambda one: isinstance(one, ConvertState | ConvertKey)):
        found.do(step)
    return found


def moved_plan(recipe: Recipe, old_plan: dict[str, Any], new_plan: dict[str, Any]) -> dict[str, Any]:
    """The plan of OLD with its state after a recipe, for the program of the other plan. Raises RequestError."""
    return resolved(recipe, _saved(old_plan), new_plan, Functions(LoadOptions(), ExitStack())).moved(old_plan)


def digest_of(plan: Mapping[str, Any]) -> str:
    """The digest of a plan: equal for equal operators and states."""
    told = json.dumps(plan, sort_keys=True, separators=(",", ":")).encode()
    return f"sha256:{sha256(told).hexdigest()}"


def _saved(plan: Mapping[str, Any]) -> dict[str, SavedOperator]:
    """The operators that a snapshot of a plan's job will have, with the states that the plan tells."""
    return {
        operator["operator_id"]: SavedOperator(
            id=operator["operator_id"],
            name=operator["name"],
            uid=operator["uid"],
            parallelism=operator["parallelism"],
            max_parallelism=operator["max_parallelism"],
            states=tuple(_described(state) for state in operator["states"] or () if state["type"] is not None),
            stateful=operator["has_state"],
            keyed=any(state["scope"] == "keyed" for state in operator["states"] or ()),
        )
        for operator in plan["operators"]
    }


def _described(state: Mapping[str, Any]) -> dict[str, Any]:
    types = {name: parse_type(state[name] or "") for name in ("type", "key_type")}
    types["key_type"] = only_field(types["key_type"])
    told = {name: None if type is None else type.to_json() for name, type in types.items()}
    return {"name": state["name"], "kind": state["kind"].upper(), "scope": state["scope"], **told}


def _tag(step: Step) -> str:
    return str(step.__struct_config__.tag)


def _why(step: Step) -> str:
    """Why a step is none of jobs on Spark."""
    if isinstance(step, RenameClass | RenameField):
        return "Serializers of Java name classes, and there are none: convert-state writes fields as NEW declares them."
    if isinstance(step, MoveOffsets):
        return "It moves a source of Flink's."
    return "Windows that are open end as they began."


class Converted(Struct, frozen=True):
    """The effect of a recipe on a state: it is ``stored`` so then, and NEW's plan says what of it is ``told``."""

    stored: Stored
    told: Mapping[str, Any]
    change: StateChange


class Resolved:
    """The effect on saved operators, by their ids in the snapshot."""

    def __init__(self, saved: Mapping[str, SavedOperator], new_plan: Mapping[str, Any], functions: Functions) -> None:
        self._saved, self._functions = saved, functions
        self._now = time.time_ns() // 1_000_000
        self._new = {}
        for operator in new_plan.get("operators") or ():
            self._new.update(dict.fromkeys(filter(None, (operator["user_hash"], operator["operator_id"])), operator))
        self._ids: dict[str, NewId] = {}
        self._added: dict[str, SavedOperator] = {}
        self._dropped: set[str] = set()
        self._states: dict[Place, Place | None] = {}
        self._converted: dict[Place, Converted] = {}
        self._keys: dict[str, KeyChange] = {}
        self._key_types: dict[str, str] = {}

    def do(self, step: Step) -> None:
        """Apply a step. Raises RequestError."""
        match step:
            case RenameOperator(operator=called, to=to):
                self._ids[self._once(called)] = new_id(to)
            case DropOperator(operator=called):
                self._dropped.add(self._once(called))
            case RenameState(operator=called, state=state, to=to):
                place = self._unnamed(called, state)
                self._states[place] = place[0], to
            case MoveState(operator=called, state=state, to=to, name=name):
                place = self._unnamed(called, state)
                self._states[place] = self._owner(to, place), name or state
            case DropState(operator=called, state=state):
                self._states[self._unnamed(called, state)] = None
            case ConvertState():
                self._convert(step)
            case ConvertKey():
                self._convert_key(step)
            case DropKeys():
                self._drop_keys(step)

    @property
    def ids(self) -> dict[str, str]:
        """The later ids of the operators, except dropped ones."""
        return {id: self._id(id) for id in self._saved if id not in self._dropped}

    @property
    def states(self) -> dict[Place, Place | None]:
        """The later places of states that move; None for dropped ones."""
        ids = self.ids
        named = self._states.keys() | {place for place in self._places() if place[0] in self._dropped}
        found = {place: self._becomes(place) for place in named}
        return {place: then for place, then in found.items() if then != (ids.get(place[0]), place[1])}

    @property
    def changes(self) -> dict[Place, StateChange]:
        """The states whose values are converted."""
        return {place: converted.change for place, converted in self._converted.items()}

    @property
    def keys(self) -> dict[str, Rekeying]:
        """The operators whose keys change, or lose some keys."""
        return {id: self._rekeying(id, change) for id, change in self._keys.items()}

    def _rekeying(self, id: str, change: KeyChange) -> Rekeying:
        operator, old = self._saved[id], self._key_type(id)
        assert old is not None
        return Rekeying(
            old,
            self._key_type_now(id) or old,
            operator.max_parallelism,
            change,
            {state["name"]: _stored(state) for state in operator.states},
            frozenset(state["name"] for state in operator.states if self._becomes((id, state["name"])) is None),
            repr(operator.uid or operator.name),
            self._now,
        )

    def moved(self, plan: dict[str, Any]) -> dict[str, Any]:
        """A plan of the operators, with their later ids, uids and states."""
        return _moved_plan(plan, self)

    def renamed(self) -> Mapping[str, NewId]:
        """The operators whose ids change."""
        return self._ids

    def is_gone(self, id: str) -> bool:
        """Whether an operator is dropped."""
        return id in self._dropped

    def after(self, id: str, state: str) -> tuple[Place | None, Mapping[str, Any]]:
        """The effect on a state, and the fields of the plan of NEW that change with it."""
        converted = self._converted.get((id, state))
        told = {} if converted is None else dict(converted.told)
        return self._becomes((id, state)), told | self.after_keys(id)

    def after_keys(self, id: str) -> dict[str, str]:
        """The later type of an operator's keys, as in a plan, if it changes."""
        return {"key_type": self._key_types[id]} if id in self._key_types else {}

    def afterwards(self) -> dict[str, SavedOperator]:
        """The operators after the recipe. Raises RequestError if two states would become one."""
        kept = {id: operator for id, operator in self._saved.items() if id not in self._dropped}
        found = {self._id(id): self._named(operator) for id, operator in kept.items()}
        found |= {id: operator for id, operator in self._added.items() if id not in found}
        states: dict[str, list[dict[str, Any]]] = {id: [] for id in found}
        for id, state in self._each():
            place = self._becomes((id, state["name"]))
            if place is not None:
                told = {**state, "name": place[1]} | self._described_then(id, state["name"])
                if any(other["name"] == told["name"] for other in states[place[0]]):
                    raise RequestError(f"Two states would be {told['name']!r} of {found[place[0]].name!r}.")
                states[place[0]].append(told)
        for id, members in states.items():
            keys = {json.dumps(one.get("key_type")) for one in members if one.get("scope", "keyed") == "keyed"}
            if len(keys) > 1:
                raise RequestError(f"The states of {found[id].name!r} would have keys of several types.")
        return {
            id: replace(
                operator,
                states=tuple(states[id]),
                stateful=operator.stateful and (bool(states[id]) or self._keeps_more(operator)),
            )
            for id, operator in found.items()
        }

    def _described_then(self, id: str, state: str) -> dict[str, Any]:
        """What a snapshot says of a state that is another now."""
        converted, keys = self._converted.get((id, state)), self._key_type_now(id)
        told = {} if keys is None else {"key_type": keys.to_json()}
        if converted is not None:
            declared = converted.stored.declared
            told |= {"kind": declared.kind.value.upper(), "type": _whole(declared).to_json()}
        return told

    def _key_type(self, id: str) -> TypeInformation | None:
        """The type of an operator's keys."""
        types = (state.get("key_type") for state in self._saved[id].states if state.get("scope", "keyed") == "keyed")
        return next((from_json(type) for type in types if type is not None), None)

    def _key_type_now(self, id: str) -> TypeInformation | None:
        """The type of an operator's keys, where it is another now."""
        return only_field(parse_type(self._key_types[id])) if id in self._key_types else None

    def _keeps_more(self, operator: SavedOperator) -> bool:
        """Whether something is there besides the states that it had: positions of a source, or states that nobody described."""
        return not operator.states or not operator.keyed

    def _named(self, operator: SavedOperator) -> SavedOperator:
        new = self._ids.get(operator.id)
        return operator if new is None else replace(operator, id=new.id, uid=new.uid)

    def _id(self, id: str) -> str:
        return self._ids.get(id, NewId(id)).id

    def _becomes(self, place: Place) -> Place | None:
        stays = None if place[0] in self._dropped else place
        then = self._states.get(place, stays)
        return None if then is None else (self._id(then[0]), then[1])

    def _convert(self, step: ConvertState) -> None:
        place, state = self._place(step.operator, step.state)
        label = _label(step.operator, step.state)
        if place in self._converted:
            raise RequestError(f"{label}: the recipe has two steps for that.")
        then = self._becomes(place)
        if then is None:
            raise RequestError(f"{label}: another step drops it.")
        declared = self._declared(then)
        if declared is None or parse_type(declared["type"] or "") is None:
            raise RequestError(f"{label}: NEW does not declare its type.")
        try:
            require_one_way(step)
            self._converted[place] = self._conversion(place, state, declared, step)
        except Unconvertible as error:
            raise RequestError(f"{label}: {error}.") from None

    def _conversion(
        self, place: Place, state: Mapping[str, Any], declared: Mapping[str, Any], step: ConvertState
    ) -> Converted:
        old = _stored(state)
        new = Stored(
            _declaration(declared["kind"], parse_type(declared["type"])), old.broadcast, declared["ttl"] is not None
        )
        change = StateChange(
            old,
            new,
            self._apply(old.declared, new.declared, step),
            self._key_type(place[0]),
            _label(self._saved[place[0]].uid or self._saved[place[0]].name, place[1]),
            self._now,
        )
        return Converted(new, {name: declared[name] for name in ("kind", "type", "ttl")}, change)

    def _apply(self, old: Declared, new: Declared, step: ConvertState) -> Apply:
        if step.function is None:
            return ByRules(old, new, fields_of(step), step.entry, CODING)
        return of_coders(self._functions.applying(step.function, OfValues(old, new, step.drops)), old, new)

    def _convert_key(self, step: ConvertKey) -> None:
        id, old, change = self._keyed(step)
        label = f"The keys of {step.operator!r} cannot be converted"
        if id in self._key_types:
            raise RequestError(f"The recipe says twice what happens to the keys of {step.operator!r}.")
        states = self._new.get(self._id(id), {}).get("states") or ()
        told = next((state["key_type"] for state in states if state["key_type"]), None)
        new = only_field(parse_type(told or ""))
        if told is None or new is None:
            raise RequestError(f"{label}: NEW does not declare their type.")
        try:
            require_one_way(step)
            snapshot = key_snapshot(old)
            conversion = key_conversion_of(snapshot, str(old), str(new), step, fields_of(step), self._functions)
            merges = {state: self._merge(step, id, state, how) for state, how in step.merge.items()}
        except Unconvertible as error:
            raise RequestError(f"{label}: {error}.") from None
        self._keys[id] = replace(change, conversion=conversion, merges=merges)
        self._key_types[id] = told

    def _merge(self, step: ConvertKey, id: str, state: str, how: str) -> Merge:
        _, found = self._place(step.operator, state)
        return python_merge(state, _stored(found).declared, how, self._functions)

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
        self._keys[id] = replace(change, dropped=dropped)

    def _keyed(self, step: ConvertKey | DropKeys) -> tuple[str, TypeInformation, KeyChange]:
        """The operator that a step about keys names, their type, and what another step says of them."""
        id = self._one(step.operator)
        type = self._key_type(id)
        if type is None:
            raise RequestError(f"{step.operator!r} has no state of keys.")
        return id, type, self._keys.get(id, KeyChange())

    def _declared(self, then: Place) -> Mapping[str, Any] | None:
        states = self._new.get(then[0], {}).get("states") or ()
        return next((state for state in states if state["name"] == then[1]), None)

    def _owner(self, called: str, place: Place) -> str:
        """The operator that a state moves to, by its id in the snapshot: one that is there, or a new one."""
        source, state = self._saved[place[0]], self._state(*place)
        found = self._find(called)
        if not found:
            new = new_id(called)
            keyed = state.get("scope", "keyed") == "keyed"
            made = replace(source, id=new.id, name=called, uid=new.uid, states=(), keyed=keyed, replayed=False)
            self._added.setdefault(new.id, made)
            return new.id
        target = self._saved[self._one(called)]
        keys = {json.dumps(one.get("key_type")) for one in (state, *target.states) if one.get("scope") == "keyed"}
        if target.max_parallelism != source.max_parallelism or len(keys) > 1:
            raise RequestError(
                f"The state {place[1]!r} of {source.name!r} cannot move to {target.name!r}: it has other keys, or another "
                "maximum parallelism."
            )
        return target.id

    def _once(self, called: str) -> str:
        id = self._one(called)
        if id in self._ids or id in self._dropped:
            raise RequestError(f"The recipe says twice what happens to {self._saved[id].name!r}.")
        return id

    def _unnamed(self, called: str, state: str) -> Place:
        place, _ = self._place(called, state)
        if place in self._states:
            raise RequestError(f"The recipe says twice what happens to the state {state!r} of {called!r}.")
        return place

    def _place(self, called: str, state: str) -> tuple[Place, dict[str, Any]]:
        id = self._one(called)
        names = [one["name"] for one in self._saved[id].states]
        if state not in names:
            there = ", ".join(names) or "no state"
            raise RequestError(f"{self._saved[id].name!r} has no state {state!r}. It has {there}.")
        return (id, state), self._state(id, state)

    def _state(self, id: str, name: str) -> dict[str, Any]:
        return next(one for one in self._saved[id].states if one["name"] == name)

    def _one(self, called: str) -> str:
        found = self._find(called)
        if len(found) == 1:
            return found[0]
        if found:
            raise RequestError(
                f"{len(found)} operators are called {called!r}: write the id of one: {', '.join(found)}."
            )
        every = [text for id, one in self._saved.items() for text in (one.uid, one.name, id) if text]
        near = get_close_matches(called, every, n=3, cutoff=0.5) or every[:10]
        raise RequestError(f"The snapshot has no operator {called!r}. It has: {', '.join(map(repr, near))}.")

    def _find(self, called: str) -> list[str]:
        """The operators that a text can mean: an id before a uid before a name."""
        for known in (called.lower(), uid_hash(called)):
            if known in self._saved:
                return [known]
        by_uid = [id for id, one in self._saved.items() if one.uid == called]
        return by_uid or [id for id, one in self._saved.items() if one.name == called]

    def _each(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for id, operator in self._saved.items():
            yield from ((id, state) for state in operator.states)

    def _places(self) -> Iterator[Place]:
        yield from ((id, state["name"]) for id, state in self._each())


def _stored(state: Mapping[str, Any]) -> Stored:
    """The form of a state that a snapshot describes."""
    return Stored(_declaration(state["kind"], from_json(state["type"])), state.get("scope") == "broadcast")


def _declaration(kind: str, type: TypeInformation | None) -> Declared:
    """A state by its kind and the type of all of it."""
    found = StateKind(kind.lower())
    inner = type.element_type if found is StateKind.LIST and isinstance(type, ListTypeInfo) else type
    return Declared(found, str(inner))


def _whole(declared: Declared) -> TypeInformation:
    """The type of all of a state."""
    return Types.LIST(declared.parsed) if declared.kind is StateKind.LIST else declared.parsed


def _label(operator: str, state: str) -> str:
    return f"The values of the state {state!r} of {operator!r} cannot be converted"


def _moved_plan(plan: dict[str, Any], moved: Resolved) -> dict[str, Any]:
    ids = moved.renamed()
    found = json.loads(
        _ID.sub(lambda match: f'"{ids[match[1]].id if match[1] in ids else match[1]}"', json.dumps(plan))
    )
    states: dict[str, list[dict[str, Any]]] = {}
    for operator in plan["operators"]:
        for state in operator["states"] or ():
            place, told = moved.after(operator["operator_id"], state["name"])
            if place is not None:
                states.setdefault(place[0], []).append({**state, "name": place[1], **told})
    for before, operator in zip(plan["operators"], found["operators"], strict=True):
        new = ids.get(before["operator_id"])
        if new is not None:
            operator |= {"uid": new.uid, "user_hash": None}
        gone = moved.is_gone(before["operator_id"])
        if operator["states"] is not None:
            operator["states"] = states.get(operator["operator_id"], [])
        if gone:
            operator |= {"states": [], "has_state": False, "states_unknown": None}
    return dict(found)
