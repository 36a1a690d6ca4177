"""State that moves while it is restored: to other operators, under other names, as other types, by a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.spark.runtime_api.internal_states import STATES
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row
from compat.state.delta.savepoint import Migrations, Moved

Place = tuple[str, str]
"""An operator's id, and the name of a state of it."""


class Moves(Struct, frozen=True, kw_only=True):
    """The effect of a recipe on a snapshot.

    ``saved`` are its operators as they are afterwards, by their ids then, ``plan`` is the plan of OLD likewise. ``ids`` are
    these ids by those in the snapshot, but for operators that go; ``states`` places then by those in the snapshot, of states
    that do not stay where they are; None for one that goes. ``migrations`` have the addresses of the snapshot.
    """

    saved: Mapping[str, SavedOperator]
    plan: dict[str, Any] | None
    ids: Mapping[str, str]
    states: Mapping[Place, Place | None]
    migrations: Migrations


def stays(saved: Mapping[str, SavedOperator], plan: dict[str, Any] | None) -> Moves:
    """Nothing moves."""
    return Moves(saved=saved, plan=plan, ids={id: id for id in saved}, states={}, migrations={})


class Handed(Struct, frozen=True):
    """The state to take over, by the ids and names in the snapshot: operators, the conversions of values, and moved
    states.
    """

    operators: dict[str, str]
    migrations: Migrations
    moved: Moved


def handed(moves: Moves, mapping: Mapping[str, str], migrations: Migrations) -> Handed:
    """The moves to the operators of NEW that ``mapping`` gives; ``migrations`` are those that NEW's types ask for besides.

    Both know the operators by their ids after the moves.
    """
    operators = {old: mapping[then] for old, then in moves.ids.items() if then in mapping}
    if not moves.states and not moves.migrations and all(old == then for old, then in moves.ids.items()):
        return Handed(operators, migrations, Moved())
    states = {
        place: None if then is None or then[0] not in mapping else (mapping[then[0]], then[1])
        for place, then in moves.states.items()
    }
    before = {id: old for old, id in moves.ids.items()}
    origins = {then: place for place, then in moves.states.items() if then is not None}
    converted: dict[tuple[str, str, str], Callable[[bytes], bytes]] = {**moves.migrations}
    for (id, kind, state), migrate in migrations.items():
        if state != STATES:
            operator, name = origins.get((id, state), (before.get(id, id), state))
            first = converted.get((operator, kind, name))
            converted[operator, kind, name] = migrate if first is None else _both(first, migrate)
    rows = tuple(_described(moves.saved[then], new, migrations) for then, new in mapping.items())
    return Handed(operators, converted, Moved(states, rows))


def _both(first: Callable[[bytes], bytes], then: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: then(first(data))


def _described(operator: SavedOperator, new: str, migrations: Migrations) -> Row:
    """The description of an operator, with the types that its states have once they are migrated."""
    anew = migrations.get((operator.id, Kind.OPERATOR, STATES))
    value = operator.described if anew is None else anew(operator.described)
    return Row(new, Kind.OPERATOR, NO_KEY_GROUP, STATES, b"", b"", b"", value)
