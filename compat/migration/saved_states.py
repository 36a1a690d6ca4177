"""The operators and states of a job on Spark that a recipe names, as a snapshot or a plan describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.streamgraph.hashing import uid_hash
from compat.migration.python_states import only_field
from compat.savepoint.operators import RequestError
from compat.state.delta.items import Stored
from compat.state.delta.state_changes import Place
from compat.state.flink.python_rules import Declared
from compat.state.model.states import StateKind
from compat.state.types import ListTypeInfo, TypeInformation, Types, from_json
from compat.state.types.spelling import parse_type


class SavedStates(Struct, frozen=True):
    """The operators of a snapshot with their states, by their ids in it."""

    operators: Mapping[str, SavedOperator]

    def key_type(self, id: str) -> TypeInformation | None:
        """The type of an operator's keys."""
        types = (state.get("key_type") for state in self.operators[id].states if state.get("scope", "keyed") == "keyed")
        return next((from_json(type) for type in types if type is not None), None)

    def place(self, called: str, state: str) -> tuple[Place, dict[str, Any]]:
        """The state of an operator that a recipe names, and what is known of it. Raises RequestError if there is none."""
        id = self.one(called)
        names = [one["name"] for one in self.operators[id].states]
        if state not in names:
            there = ", ".join(names) or "no state"
            raise RequestError(f"{self.operators[id].name!r} has no state {state!r}. It has {there}.")
        return (id, state), self.state(id, state)

    def state(self, id: str, name: str) -> dict[str, Any]:
        """A state that is there, as it is described."""
        return next(one for one in self.operators[id].states if one["name"] == name)

    def one(self, called: str) -> str:
        """The id of the operator that a recipe names. Raises RequestError if there is none, or several."""
        found = self.find(called)
        if len(found) == 1:
            return found[0]
        if found:
            raise RequestError(
                f"{len(found)} operators are called {called!r}: write the id of one: {', '.join(found)}."
            )
        every = [text for id, one in self.operators.items() for text in (one.uid, one.name, id) if text]
        near = get_close_matches(called, every, n=3, cutoff=0.5) or every[:10]
        raise RequestError(f"The snapshot has no operator {called!r}. It has: {', '.join(map(repr, near))}.")

    def find(self, called: str) -> list[str]:
        """The operators that a text can mean: an id before a uid before a name."""
        for known in (called.lower(), uid_hash(called)):
            if known in self.operators:
                return [known]
        by_uid = [id for id, one in self.operators.items() if one.uid == called]
        return by_uid or [id for id, one in self.operators.items() if one.name == called]

    def each(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All states, as they are described, with the ids of their operators."""
        for id, operator in self.operators.items():
            yield from ((id, state) for state in operator.states)

    def places(self) -> Iterator[Place]:
        """The places of all states."""
        yield from ((id, state["name"]) for id, state in self.each())


def states_of(plan: Mapping[str, Any]) -> SavedStates:
    """The operators that a snapshot of a plan's job will have, with the states that the plan tells."""
    operators = {
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
    return SavedStates(operators)


def _described(state: Mapping[str, Any]) -> dict[str, Any]:
    types = {name: parse_type(state[name] or "") for name in ("type", "key_type")}
    types["key_type"] = only_field(types["key_type"])
    told = {name: None if type is None else type.to_json() for name, type in types.items()}
    return {"name": state["name"], "kind": state["kind"].upper(), "scope": state["scope"], **told}


def stored(state: Mapping[str, Any]) -> Stored:
    """The form of a state that a snapshot describes."""
    return Stored(declaration(state["kind"], from_json(state["type"])), state.get("scope") == "broadcast")


def declaration(kind: str, type: TypeInformation | None) -> Declared:
    """A state by its kind and the type of all of it."""
    found = StateKind(kind.lower())
    inner = type.element_type if found is StateKind.LIST and isinstance(type, ListTypeInfo) else type
    return Declared(found, str(inner))


def whole(declared: Declared) -> TypeInformation:
    """The type of all of a state."""
    return Types.LIST(declared.parsed) if declared.kind is StateKind.LIST else declared.parsed
