"""Methods of streams that PyFlink lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.compiler.datastream.beyond.noting import beyond

if TYPE_CHECKING:
    from compat.compiler.datastream._stream import DataStream
    from compat.compiler.datastream.beyond.iterative import IterativeStream


class StreamBeyond:
    """Loops."""

    @beyond
    def iterate(self: DataStream, max_wait_ms: int = 0) -> IterativeStream:  # type: ignore[misc]
        """The head of a loop (Flink before 2.0): ``close_with`` leads records back to it."""
        from compat.compiler.datastream.beyond.iterative import IterativeStream

        return IterativeStream(self, max_wait_ms)
