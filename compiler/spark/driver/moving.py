"""State that moves while it is restored: to other operators, under other names, as other types, by a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.spark.runtime_api.internal_states import STATES
from compat.state.delta.rekeying import Rekeying
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row
from compat.state.delta.savepoint import Migrations, Moved
from compat.state.delta.state_changes import Place, StateChange


class Moves(Struct, frozen=True, kw_only=True):
    """The effect of a recipe on a snapshot.

    ``saved`` are its operators after the recipe, by their new ids; ``plan`` is the plan of OLD after the recipe. ``ids`` are
    the new ids by the ids in the snapshot, without dropped operators. ``states`` are the new places of moved states, by their
    places in the snapshot; None for a dropped state. ``changes`` are states with other values and ``keys`` operators with other
    keys, both named as in the snapshot. ``here`` says that their functions run only in this process; ``end`` ends that.
    """

    saved: Mapping[str, SavedOperator]
    plan: dict[str, Any] | None
    ids: Mapping[str, str]
    states: Mapping[Place, Place | None]
    changes: Mapping[Place, StateChange] = {}
    keys: Mapping[str, Rekeying] = {}
    here: bool = False
    end: Callable[[], None] = lambda: None

    @property
    def none(self) -> bool:
        """True if nothing moves."""
        return not (self.states or self.changes or self.keys) and all(old == then for old, then in self.ids.items())


def stays(saved: Mapping[str, SavedOperator], plan: dict[str, Any] | None) -> Moves:
    """The moves of a restore in which nothing moves."""
    return Moves(saved=saved, plan=plan, ids={id: id for id in saved}, states={})


class Handed(Struct, frozen=True):
    """The state to take over, by the ids and names in the snapshot: operators, the conversions of values, and moved
    states.
    """

    operators: dict[str, str]
    migrations: Migrations
    moved: Moved
    here: bool = False
    end: Callable[[], None] = lambda: None

    @property
    def converted(self) -> list[tuple[str, str, str]]:
        """The addresses of the converted states."""
        return [*self.migrations, *((id, one.old.kind, name) for (id, name), one in self.moved.changes.items())]


def handed(moves: Moves, mapping: Mapping[str, str], migrations: Migrations) -> Handed:
    """The moves to the operators of NEW that ``mapping`` gives; ``migrations`` are those that NEW's types ask for besides.

    Both know the operators by their ids after the moves.
    """
    operators = {old: mapping[then] for old, then in moves.ids.items() if then in mapping}
    if moves.none:
        return Handed(operators, migrations, Moved())
    states = {
        place: None if then is None or then[0] not in mapping else (mapping[then[0]], then[1])
        for place, then in moves.states.items()
    }
    before = {id: old for old, id in moves.ids.items()}
    origins = {then: place for place, then in moves.states.items() if then is not None}
    found: dict[tuple[str, str, str], Callable[[bytes], bytes]] = {}
    for (id, kind, state), migrate in migrations.items():
        if state != STATES:
            operator, name = origins.get((id, state), (before.get(id, id), state))
            found[operator, kind, name] = migrate
    rows = tuple(_described(moves.saved[then], new, migrations) for then, new in mapping.items())
    owners = operators.keys() | {place[0] for place, then in states.items() if then is not None}
    keys = {id: rekeying for id, rekeying in moves.keys.items() if id in owners}
    return Handed(operators, found, Moved(states, rows, moves.changes, keys), moves.here, moves.end)


def _described(operator: SavedOperator, new: str, migrations: Migrations) -> Row:
    """The description of an operator, with the types that its states have once they are migrated."""
    anew = migrations.get((operator.id, Kind.OPERATOR, STATES))
    value = operator.described if anew is None else anew(operator.described)
    return Row(new, Kind.OPERATOR, NO_KEY_GROUP, STATES, b"", b"", b"", value)
