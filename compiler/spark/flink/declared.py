"""The states of an operator by the types that the program declares, which decode PyFlink's bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from compat.compiler.spark.plan import OperatorSpec
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.compiler.transformations import operators as ops
from compat.state import names
from compat.state.descriptors import StateDescriptor
from compat.state.types import TypeInformation, Types
from compat.state.types.spelling import parse_type

LIST, MAP = "LIST", "MAP"


class Declared(Struct, frozen=True):
    """A state of a program: its kind, as descriptors name it, and the type of the whole state."""

    kind: str
    type: TypeInformation

    @classmethod
    def of(cls, descriptor: StateDescriptor) -> Declared:
        """The declaration of a descriptor."""
        return cls(descriptor.kind, descriptor.type_info)


class Declarations(Struct, frozen=True):
    """The states of an operator, by name. ``complete`` if the program asks for all of its states when it is opened."""

    states: Mapping[str, Declared]
    complete: bool

    def get(self, name: str) -> Declared | None:
        """The state of a name, None for one that the program does not ask for. Raises Untranslatable if that is unknown."""
        found = self.states.get(name)
        if found is None and not self.complete and name != names.MERGING_WINDOWS:
            raise Untranslatable(
                f"the program does not say of which type its state {name!r} is: it has to ask for all its states in open()"
            )
        return found


_OF_WINDOWS = {
    names.TUMBLING_COUNT: Declared("VALUE", Types.LONG()),
    names.SLIDING_COUNT: Declared("VALUE", Types.LONG()),
    "count": Declared("REDUCING", Types.LONG()),
    "fire-time": Declared("REDUCING", Types.LONG()),
}
"""The states of count windows and of PyFlink's triggers."""


def keyed_states(spec: OperatorSpec, planned: Iterable[Mapping[str, Any]]) -> dict[str, Declared]:
    """The keyed states of an operator, by name: those of the program as its plan has them, and those of the operator itself."""
    found = dict(_planned(planned))
    match spec.operator:
        case ops.Window() as window:
            found = {**_OF_WINDOWS, **found, names.WINDOW_CONTENTS: Declared.of(window.state_descriptor)}
        case ops.KeyedReduce(value_type=type) if type is not None:
            found[names.PYTHON_REDUCE] = Declared("REDUCING", type)
        case _:
            pass
    return found


def broadcast_states(spec: OperatorSpec) -> dict[str, Declared]:
    """The broadcast states of an operator, by name."""
    match spec.operator:
        case ops.BroadcastProcess() | ops.KeyedBroadcastProcess() as operator:
            return {descriptor.name: Declared.of(descriptor) for descriptor in operator.state_descriptors}
        case _:
            return {}


def _planned(states: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Declared]]:
    for state in states:
        type = parse_type(state["type"]) if state.get("type") else None
        if type is not None and state["scope"] == "keyed" and not state.get("built_in"):
            yield state["name"], Declared(state["kind"].upper(), type)
