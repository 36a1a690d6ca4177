"""The operators of a snapshot, as it describes them."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from compat.state.assignment import Assignable


class SavedOperator(Struct, frozen=True, kw_only=True):
    """An operator in a snapshot: its configuration, its states, and whether it has any state, or keyed state.

    ``replayed`` marks a source that Flink would read again after a restore, such as a collection. Here it goes on where it was.
    """

    id: str
    name: str
    uid: str | None
    parallelism: int
    max_parallelism: int
    states: tuple[dict[str, Any], ...]
    stateful: bool
    keyed: bool = False
    replayed: bool = False

    @property
    def recorded(self) -> Assignable:
        """The facts about the operator that a restore asks for."""
        return Assignable(
            id=self.id,
            has_state=self.stateful and not self.replayed,
            keyed=self.keyed,
            max_parallelism=self.max_parallelism,
            replayed=self.name if self.replayed else None,
        )

    @property
    def described(self) -> bytes:
        """The description, as it is written in a snapshot."""
        facts = {
            "name": self.name,
            "uid": self.uid,
            "user_hash": None,
            "replayed": self.replayed,
            "parallelism": self.parallelism,
            "max_parallelism": self.max_parallelism,
            "stateful": self.stateful,
            "keyed": self.keyed,
            "states": list(self.states),
        }
        return json.dumps(facts).encode()
