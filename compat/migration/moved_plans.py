"""The effect of recipes for jobs whose states have declared types: on their operators, and on their plans."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.spark.driver.saved import SavedOperator
from compat.migration.python_states import only_field
from compat.migration.saved_states import SavedStates, stored, whole
from compat.savepoint.operators import RequestError
from compat.state.delta.items import Stored
from compat.state.delta.rekeying import Rekeying
from compat.state.delta.state_changes import Place, StateChange
from compat.state.flink import NewId
from compat.state.flink.rekeying import KeyChange
from compat.state.types import TypeInformation
from compat.state.types.spelling import parse_type

_ID = re.compile(r'"([0-9a-f]{32})"')


def digest_of(plan: Mapping[str, Any]) -> str:
    """The digest of a plan: equal for equal operators and states."""
    told = json.dumps(plan, sort_keys=True, separators=(",", ":")).encode()
    return f"sha256:{sha256(told).hexdigest()}"


class Converted(Struct, frozen=True):
    """The effect of a recipe on a state: it is ``stored`` so then, and NEW's plan says what of it is ``told``."""

    stored: Stored
    told: Mapping[str, Any]
    change: StateChange


class Resolved:
    """The effect of a recipe on saved operators, by their ids in the snapshot: what its steps leave in the attributes."""

    def __init__(self, saved: SavedStates) -> None:
        self.saved = saved
        self.now = time.time_ns() // 1_000_000
        self.renamed: dict[str, NewId] = {}
        self.added: dict[str, SavedOperator] = {}
        self.dropped: set[str] = set()
        self.moved_states: dict[Place, Place | None] = {}
        self.converted: dict[Place, Converted] = {}
        self.changed_keys: dict[str, KeyChange] = {}
        self.key_types: dict[str, str] = {}
        self.keyed_by: dict[str, Mapping[str, Any]] = {}
        """What NEW's plan says of the code that makes converted keys, by operator."""

    @property
    def ids(self) -> dict[str, str]:
        """The later ids of the operators, except dropped ones."""
        return {id: self.id_of(id) for id in self.saved.operators if id not in self.dropped}

    @property
    def states(self) -> dict[Place, Place | None]:
        """The later places of states that move; None for dropped ones."""
        ids = self.ids
        named = self.moved_states.keys() | {place for place in self.saved.places() if place[0] in self.dropped}
        found = {place: self.becomes(place) for place in named}
        return {place: then for place, then in found.items() if then != (ids.get(place[0]), place[1])}

    @property
    def changes(self) -> dict[Place, StateChange]:
        """The states whose values are converted."""
        return {place: converted.change for place, converted in self.converted.items()}

    @property
    def keys(self) -> dict[str, Rekeying]:
        """The operators whose keys change, or lose some keys."""
        return {id: self._rekeying(id, change) for id, change in self.changed_keys.items()}

    def _rekeying(self, id: str, change: KeyChange) -> Rekeying:
        operator, old = self.saved.operators[id], self.saved.key_type(id)
        assert old is not None
        return Rekeying(
            old,
            self._key_type_now(id) or old,
            operator.max_parallelism,
            change,
            {state["name"]: stored(state) for state in operator.states},
            frozenset(state["name"] for state in operator.states if self.becomes((id, state["name"])) is None),
            repr(operator.uid or operator.name),
            self.now,
        )

    def moved(self, plan: dict[str, Any]) -> dict[str, Any]:
        """A plan of the operators, with their later ids, uids and states."""
        ids = self.renamed
        found = json.loads(
            _ID.sub(lambda match: f'"{ids[match[1]].id if match[1] in ids else match[1]}"', json.dumps(plan))
        )
        states: dict[str, list[dict[str, Any]]] = {}
        for operator in plan["operators"]:
            for state in operator["states"] or ():
                place, told = self.after(operator["operator_id"], state["name"])
                if place is not None:
                    states.setdefault(place[0], []).append({**state, "name": place[1], **told})
        for before, operator in zip(plan["operators"], found["operators"], strict=True):
            new = ids.get(before["operator_id"])
            if new is not None:
                operator |= {"uid": new.uid, "user_hash": None}
            if operator["states"] is not None:
                operator["states"] = states.get(operator["operator_id"], [])
            operator |= self.keyed_by.get(before["operator_id"], {})
            self._without_what_was_converted(before["operator_id"], operator["detail"])
            if before["operator_id"] in self.dropped:
                operator |= {"states": [], "has_state": False, "states_unknown": None}
        return dict(found)

    def _without_what_was_converted(self, id: str, detail: dict[str, Any]) -> None:
        """Take away what OLD's code put into states whose values are others now."""
        for state in detail.get("shapes_put", {}).keys() & {name for owner, name in self.converted if owner == id}:
            del detail["shapes_put"][state]

    def after(self, id: str, state: str) -> tuple[Place | None, Mapping[str, Any]]:
        """The effect on a state, and the fields of the plan of NEW that change with it."""
        converted = self.converted.get((id, state))
        told = {} if converted is None else dict(converted.told)
        return self.becomes((id, state)), told | self.after_keys(id)

    def after_keys(self, id: str) -> dict[str, str]:
        """The later type of an operator's keys, as in a plan, if it changes."""
        return {"key_type": self.key_types[id]} if id in self.key_types else {}

    def afterwards(self) -> dict[str, SavedOperator]:
        """The operators after the recipe. Raises RequestError if two states would become one."""
        kept = {id: operator for id, operator in self.saved.operators.items() if id not in self.dropped}
        found = {self.id_of(id): self._named(operator) for id, operator in kept.items()}
        found |= {id: operator for id, operator in self.added.items() if id not in found}
        states: dict[str, list[dict[str, Any]]] = {id: [] for id in found}
        for id, state in self.saved.each():
            place = self.becomes((id, state["name"]))
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
        converted, keys = self.converted.get((id, state)), self._key_type_now(id)
        told = {} if keys is None else {"key_type": keys.to_json()}
        if converted is not None:
            declared = converted.stored.declared
            told |= {"kind": declared.kind.value.upper(), "type": whole(declared).to_json()}
        return told

    def _key_type_now(self, id: str) -> TypeInformation | None:
        """The type of an operator's keys, where it is another now."""
        return only_field(parse_type(self.key_types[id])) if id in self.key_types else None

    def _keeps_more(self, operator: SavedOperator) -> bool:
        """Whether something is there besides the states that it had: positions of a source, or states that nobody described."""
        return not operator.states or not operator.keyed

    def _named(self, operator: SavedOperator) -> SavedOperator:
        new = self.renamed.get(operator.id)
        return operator if new is None else replace(operator, id=new.id, uid=new.uid)

    def id_of(self, id: str) -> str:
        """The later id of an operator."""
        return self.renamed.get(id, NewId(id)).id

    def becomes(self, place: Place) -> Place | None:
        """The later place of a state; None if it is dropped."""
        stays = None if place[0] in self.dropped else place
        then = self.moved_states.get(place, stays)
        return None if then is None else (self.id_of(then[0]), then[1])
