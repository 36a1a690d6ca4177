"""Names for the ids in exceptions, from the program that wrote the state, a table of uids, or the savepoint itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from compat.diagnosis.diagnosing import Failure
from compat.savepoint.names import Names

_MOST_STATES = 3


class KnownState(Struct, frozen=True):
    """A state of an operator, and the short class name of its values' serializer if a savepoint records it."""

    name: str
    serializer: str | None = None


class Operators(Struct, frozen=True):
    """The known operators of a job; ``described`` is the output of ``compat inspect --format json`` for a savepoint,
    and ``named_by`` the program or the table with the names.
    """

    names: Names = field(default_factory=Names)
    described: Mapping[str, Any] = field(default_factory=dict)
    named_by: str | None = None

    def label(self, id: str) -> str | None:
        """The name of an operator, with its uid; None for an unknown one."""
        recorded = self._recorded(id)
        name = self.names.name(id) or recorded.get("name")
        uid = self.names.uid(id) or recorded.get("uid")
        if name is None:
            return uid and repr(uid)
        return repr(name) if uid in (None, name) else f"{name!r} (uid {uid})"

    def state_of(self, failure: Failure) -> str | None:
        """The state that a failure is about, in words; None if that is unknown or there is none."""
        named = failure.values.get("state")
        if named is not None:
            return f"state {named!r}"
        # Behind the first operator of a task there is no keyed state: its records come from an exchange by key.
        if failure.operator is None or not (failure.exact or "new state serializer" in failure.said):
            return None
        wrote = (failure.values.get("old") or failure.values.get("before") or "").partition("@")[0]
        states = list(self._states(failure.operator))
        fitting = [one.name for one in states if wrote and one.serializer == wrote]
        if not fitting and len(states) == 1 and (not wrote or states[0].serializer is None):
            fitting = [states[0].name]
        match fitting:
            case []:
                return None
            case [only]:
                return f"state {only!r}"
            case several:
                shown = ", ".join(map(repr, several[:_MOST_STATES]))
                return f"one of the states {shown}{', …' if len(several) > _MOST_STATES else ''}"

    def _recorded(self, id: str) -> Mapping[str, Any]:
        return next((one for one in self.described.get("operators", ()) if one["id"] == id), {})

    def _states(self, id: str) -> Iterator[KnownState]:
        seen = set()
        for subtask in self._recorded(id).get("subtasks", ()):
            for kind in ("managed_keyed", "managed_operator"):
                for handle in subtask.get(kind, ()):
                    for one in _declared(handle.get("backend", {})):
                        if one.name not in seen:
                            seen.add(one.name)
                            yield one
        operator = self.names.operator(id)
        if not seen and operator is not None:
            yield from (KnownState(state.name) for state in operator.states or ())


def _declared(header: Mapping[str, Any]) -> Iterator[KnownState]:
    for kind in ("states", "operator_states", "broadcast_states"):
        for state in header.get(kind, ()):
            if state.get("type") != "PRIORITY_QUEUE":
                value = state.get("serializers", {}).get("VALUE_SERIALIZER", {})
                whole = value.get("restored_serializer") or value.get("class") or ""
                yield KnownState(state["name"], whole.rpartition(".")[2] or None)
