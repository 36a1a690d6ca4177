"""Moves states of a savepoint: to another operator, another name, types with other names, or drops them.

    transfer = Transfer(states={StateKey("cbc3…", "total", True): StateTarget("cbc3…", "sum")})
    transferred = write_states(savepoint, transfer, folder)                   # the state files that are new
    made = with_references(read_draft(savepoint), transferred.changes)        # the metadata that names them

Keys and values stay byte for byte. An operator that keeps its states as they are is not read: only its headers are, where types
have other names. State is read and written key group by key group, entry by entry, so that it may be larger than the memory,
and each subtask on its own, so that several processes can do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from compat.state.flink.entry_conversion import Conversion
from compat.state.flink.header_parts import Field, StateKey, TypeNames
from compat.state.flink.rekeying import KeyChange
from compat.state.flink.rewriting import Changes, NewId
from compat.state.flink.tally import Tally


class StateTarget(NamedTuple):
    """The operator that is to have a state, by the id that it has in the savepoint or is added with, and the state's name."""

    operator: str
    name: str


class Transfer(Struct, frozen=True, kw_only=True):
    """The changes to a savepoint. Operators have the ids of the savepoint; all changes are made at once.

    ``states`` has None for a state that is dropped; what is not named stays. ``added`` are operators that are not there and
    are given states, by their ids. ``converted`` are states whose values another serializer is to read,
    ``keys`` operators whose keys become others, or go, ``coordinators`` what those of operators keep. With ``canonical``
    operators whose keyed state is in a backend's own format are written anew, too, but for those in ``by_flink``, which it
    writes itself: all that is written is canonical.
    """

    ids: Mapping[str, NewId] = {}
    dropped: frozenset[str] = frozenset()
    states: Mapping[StateKey, StateTarget | None] = {}
    added: Mapping[str, NewId] = {}
    types: TypeNames = TypeNames()
    converted: Mapping[StateKey, Conversion] = {}
    keys: Mapping[str, KeyChange] = {}
    coordinators: Mapping[str, bytes] = {}
    canonical: bool = False
    by_flink: frozenset[str] = frozenset()

    def becomes(self, key: StateKey) -> StateKey | None:
        """The new place of a state; None if it is dropped."""
        stays = None if key.operator in self.dropped else StateTarget(key.operator, key.name)
        target = self.states.get(key, stays)
        if target is None:
            return None
        return StateKey(self.id_of(target.operator), target.name, key.keyed)

    def id_of(self, operator: str) -> str:
        """The id that an operator of the savepoint has afterwards."""
        return self.ids[operator].id if operator in self.ids else operator


class Transferred(Struct, frozen=True):
    """The changes of the metadata, the counts of each state's entries, and the names of the renamed types that occurred."""

    changes: Changes
    tally: Tally
    types: frozenset[str | Field]

    @property
    def entries(self) -> Mapping[StateKey, int]:
        """The entries of each state that were written."""
        return self.tally.written
