"""The differences between two programs, as data: settings, operators, their states, and types down to their fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compat.check.findings import Change, Difference, Fate, OperatorChanges, Report
from compat.check.mapping import map_state
from compat.check.similarity import find_successors
from compat.plan.families import family
from compat.state.model.operators import Operator
from compat.state.model.states import State
from compat.state.types.spelling import parse_type

if TYPE_CHECKING:
    from deepdiff.model import DiffLevel

_KINDS = {
    "values_changed": "changed",
    "type_changes": "changed",
    "dictionary_item_added": "added",
    "dictionary_item_removed": "removed",
}


def difference(report: Report) -> Difference:
    """The structured difference of the two programs of a report.

    Operators are paired as a restore pairs them if they are of one sort, else by what they do.
    """
    old, new = report.old, report.new
    strangers = {row.old.id for row in report.mapping if row.old is not None and row.fate is Fate.WRONG_HANDS}
    pairs = {
        pair.new.id: (pair.old, pair.new)
        for pair in map_state(old, new).pairs
        if pair.old.id not in strangers and family(pair.old) == family(pair.new)
    }
    taken = {before.id for before, _ in pairs.values()}
    left = {operator.id: operator for operator in old.operators if operator.id not in taken}
    alike = find_successors(left.values(), [operator for operator in new.operators if operator.id not in pairs])
    pairs |= {operator.id: (left[id], operator) for id, operator in alike.items()}
    taken |= alike.keys()
    changed = (
        OperatorChanges(old=before, new=after, changes=tuple(_changes(_operator(before), _operator(after))))
        for before, after in pairs.values()
    )
    return Difference(
        settings=tuple(_changes(dict(old.settings), dict(new.settings))),
        operators=tuple(item for item in changed if item.changes),
        removed=tuple(operator for operator in old.operators if operator.id not in taken),
        added=tuple(operator for operator in new.operators if operator.id not in pairs),
    )


def _changes(was: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    from deepdiff import DeepDiff

    found = DeepDiff(was, now, view="tree", threshold_to_diff_deeper=0)
    changes = [_change(kind, level) for group, kind in _KINDS.items() for level in found.get(group, ())]
    return iter(sorted(changes, key=lambda change: change.path))


def _change(kind: str, level: DiffLevel) -> Change:
    path = tuple(str(part) for part in level.path(output_format="list"))
    return Change(
        kind=kind,
        path=path,
        was=None if kind == "added" else level.t1,
        now=None if kind == "removed" else level.t2,
    )


def _operator(operator: Operator) -> dict[str, Any]:
    """The facts of an operator, without its place in the program."""
    facts: dict[str, Any] = {
        "operator_id": operator.id,
        "user_hash": operator.user_hash,
        "uid": operator.uid,
        "name": operator.name,
        "kind": operator.kind,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "max_parallelism_configured": operator.max_parallelism_configured,
        "position": operator.position,
        "chained_outputs": operator.chained_outputs,
        "inputs": len(operator.inputs),
        # What feeds it is the change of another operator.
        "detail": {name: value for name, value in operator.detail.items() if name != "fed"},
    }
    if operator.states is not None:
        facts["states"] = {_state_name(state, operator.states): _state(state) for state in operator.states}
    return facts


def _state_name(state: State, states: tuple[State, ...]) -> str:
    """A state's name, with its scope if keyed and operator state share the name."""
    alone = sum(other.name == state.name for other in states) == 1
    return state.name if alone else f"{state.name} ({state.scope.value})"


def _state(state: State) -> dict[str, Any]:
    return {
        "kind": state.kind.value,
        "scope": state.scope.value,
        "type": _type(state.type),
        "key_type": _type(state.key_type),
        "namespace_type": state.namespace_type,
        "ttl": state.ttl,
    }


def _type(text: str | None) -> Any:
    """A type as a tree, so that an added or removed field shows as one; its text if it cannot be read."""
    parsed = None if text is None else parse_type(text)
    return text if parsed is None else _tree(parsed.to_json())


def _tree(data: Any) -> Any:
    """Lists keyed by name if the items have names, else by number, so that one more item does not change all after it."""
    if isinstance(data, dict):
        if data.keys() == {"name", "type"}:
            return _tree(data["type"])
        return {key: _tree(value) for key, value in data.items()}
    if isinstance(data, list):
        named = all(isinstance(item, dict) and "name" in item for item in data)
        return {str(item["name"] if named else place): _tree(item) for place, item in enumerate(data)}
    return data
