"""Numbers from one to another. Flink: ``pyflink.datastream.connectors.number_seq``."""

from __future__ import annotations

from compat.compiler.datastream.connectors.base import Source
from compat.compiler.errors import illegal_argument
from compat.state.types import Types

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The whole numbers from ``start`` to ``end``, both included, in parallel (Flink: ``NumberSequenceSource``)."""

    connector = "number-sequence"

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise illegal_argument(f"'from' must be <= 'to': a sequence from {start} to {end} has no numbers.")
        super().__init__(bounded=True, produced_type=Types.LONG(), settings={"start": start, "end": end})
        self.start = start
        self.end = end
