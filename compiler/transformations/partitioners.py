"""The distribution of records over the subtasks of the next operator.

Flink: ``org.apache.flink.streaming.runtime.partitioner``. A partitioner is a plain value; two edges have equal
partitioners when these values are equal.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace


class Ship(Enum):
    """The ship strategy: Flink's class name, whether it is pointwise, and how channel state is remapped.

    The mappers say what happens to in-flight records of an unaligned checkpoint on rescaling, upstream and downstream.
    """

    FORWARD = ("ForwardPartitioner", True, "UNSUPPORTED", "UNSUPPORTED")
    RESCALE = ("RescalePartitioner", True, "UNSUPPORTED", "UNSUPPORTED")
    REBALANCE = ("RebalancePartitioner", False, "ARBITRARY", "ROUND_ROBIN")
    SHUFFLE = ("ShufflePartitioner", False, "ARBITRARY", "ROUND_ROBIN")
    HASH = ("KeyGroupStreamPartitioner", False, "ARBITRARY", "RANGE")
    GLOBAL = ("GlobalPartitioner", False, "ARBITRARY", "FIRST")
    BROADCAST = ("BroadcastPartitioner", False, "UNSUPPORTED", "UNSUPPORTED")
    CUSTOM = ("CustomPartitionerWrapper", False, "ARBITRARY", "FULL")

    @property
    def flink_class(self) -> str:
        return self.value[0]

    @property
    def pointwise(self) -> bool:
        return self.value[1]

    @property
    def upstream_state_mapper(self) -> str:
        return self.value[2]

    @property
    def downstream_state_mapper(self) -> str:
        return self.value[3]


class Partitioner(Struct, frozen=True):
    """A ship strategy, and the values that distinguish partitioners of the same strategy.

    ``selector`` identifies the key selector of HASH and the partitioner and selector of CUSTOM (0 for the others);
    ``unspecified`` marks the FORWARD that a dynamic graph adds if the program set no partitioner. ``unaligned_allowed`` is off
    between the parts of a sink, where a barrier must not overtake committables.
    """

    ship: Ship
    selector: int = 0
    unspecified: bool = False
    unaligned_allowed: bool = True

    @property
    def flink_class(self) -> str:
        """The simple name of Flink's class."""
        return "ForwardForUnspecifiedPartitioner" if self.unspecified else self.ship.flink_class

    @property
    def identity(self) -> tuple[str, int]:
        """An identity, equal for partitioners that Flink's ``equals`` considers equal."""
        return (self.flink_class, self.selector)

    def without_unaligned(self) -> Partitioner:
        """The same partitioner on an edge that must not take part in unaligned checkpoints."""
        return replace(self, unaligned_allowed=False)


FORWARD = Partitioner(Ship.FORWARD)
RESCALE = Partitioner(Ship.RESCALE)
REBALANCE = Partitioner(Ship.REBALANCE)
SHUFFLE = Partitioner(Ship.SHUFFLE)
GLOBAL = Partitioner(Ship.GLOBAL)
BROADCAST = Partitioner(Ship.BROADCAST)


class ExchangeMode(Enum):
    """The data exchange of an edge (Flink: ``StreamExchangeMode``)."""

    PIPELINED = "PIPELINED"
    BATCH = "BATCH"
    UNDEFINED = "UNDEFINED"
