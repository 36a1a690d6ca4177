"""The work that the driver gives a source or the head of a loop for an epoch."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from compat.compiler.spark.runtime_api.elements import Records
from compat.compiler.spark.runtime_api.splits import SourceWork


class IterationWork(Struct, frozen=True):
    """The records that the tail of a loop sent back; ``last`` if the loop ends with them."""

    feedback: tuple[Records, ...]
    last: bool


Work = SourceWork | IterationWork

WorkOfSubtask = Mapping[int, Work]
"""The work of one subtask by node: several nodes of a chain may have work."""
