"""The states that a restore converts: those whose declared type differs from the snapshot's, but can be converted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from compat.compiler.spark.runtime_api.internal_states import STATES
from compat.state.compatibility import Answer, resolve_state
from compat.state.compatibility.migration import state_migration
from compat.state.delta.rows import Kind
from compat.state.delta.savepoint import Migrations
from compat.state.types.spelling import parse_type

_ROWS = {"LIST": Kind.LIST, "MAP": Kind.MAP}


class Unreadable(Exception):
    """States of a snapshot that the types declared by the program cannot read; one line for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def find_migrations(
    saved: Mapping[str, Iterable[dict[str, Any]]], operators: Mapping[str, str], plan: Mapping[str, Any]
) -> Migrations:
    """The conversions that a snapshot needs for the program of this plan.

    ``saved`` are the recorded states of each operator, ``operators`` new operator ids by old ones. States that the plan does
    not know are left alone until the program asks for them. Raises Unreadable.
    """
    declared = {operator["operator_id"]: operator.get("states") or () for operator in plan.get("operators") or ()}
    found: dict[tuple[str, str, str], Callable[[bytes], bytes]] = {}
    problems: list[str] = []
    for id, states in saved.items():
        retyped: dict[str, Any] = {}
        for old, new in _pairs(states, declared.get(operators.get(id, ""), ())):
            if old["name"] in retyped:
                continue
            answer = resolve_state(old, new)
            if not answer.readable and not new["built_in"]:
                problems.append(f"State {old['name']!r} of operator {id}: {'; '.join(answer.changes)}.")
            elif answer.answer is Answer.AFTER_MIGRATION:
                migrate = state_migration(old, new)
                if migrate is not None:
                    broadcast = old.get("scope") == "broadcast"
                    kind = Kind.BROADCAST if broadcast else _ROWS.get(old["kind"], Kind.VALUE)
                    found[(id, kind, old["name"])] = migrate
            if answer.readable and old["type"] != new["type"]:
                retyped[old["name"]] = new["type"]
        if retyped:
            found[(id, Kind.OPERATOR, STATES)] = _described_anew(retyped)
    if problems:
        raise Unreadable(problems)
    return found


def _pairs(
    saved: Iterable[dict[str, Any]], declared: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The states that are in both, each as the snapshot and as the program describes it."""
    by_name = {(state["name"], state["scope"] == "keyed"): state for state in declared}
    for old in saved:
        new = by_name.get((old["name"], old.get("scope", "keyed") == "keyed"))
        type_info = parse_type(new["type"]) if new is not None and new.get("type") else None
        if new is None or type_info is None:
            continue
        built_in = bool(new.get("built_in"))
        kind = old["kind"] if built_in else new["kind"].upper()
        yield old, {"name": old["name"], "kind": kind, "type": type_info.to_json(), "built_in": built_in}


def _described_anew(types: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    """Writes the new types into what a snapshot says of an operator's states."""

    def rewrite(data: bytes) -> bytes:
        facts = json.loads(data)
        facts["states"] = [
            {**state, "type": types[state["name"]]} if state["name"] in types else state for state in facts["states"]
        ]
        return json.dumps(facts).encode()

    return rewrite
