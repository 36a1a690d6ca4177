"""Methods of watermark strategies that PyFlink lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from compat.compiler.datastream.beyond.noting import beyond

if TYPE_CHECKING:
    from compat.compiler.datastream.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy


class StrategyBeyond:
    """Watermarks of the program's own making."""

    @beyond
    @staticmethod
    def for_generator(generator: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks of a class of the program's own, called once for each subtask, as in Flink's Java API."""
        from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy

        return WatermarkStrategy("custom", generator=generator)
