"""Generated records. Flink: ``DataGeneratorSource`` of the Java API; PyFlink has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compat.compiler.datastream.connectors.base import Source
from compat.compiler.errors import illegal_argument
from compat.state.types import TypeInformation

__all__ = ["DataGeneratorSource"]


class DataGeneratorSource(Source):
    """Records that ``function`` makes of the numbers from 0 to ``count`` - 1, in parallel, ``rate`` a second if given."""

    connector = "data-generator"

    def __init__(
        self,
        function: Callable[[int], Any],
        count: int,
        type_info: TypeInformation | None = None,
        rate: float | None = None,
    ) -> None:
        if count < 1:
            raise illegal_argument(f"A data generator makes at least one record, got a count of {count}.")
        if rate is not None and rate <= 0:
            raise illegal_argument(f"The rate of a data generator is more than 0 records a second, got {rate}.")
        settings = {"function": function, "count": count, "rate": rate}
        super().__init__(bounded=True, produced_type=type_info, settings=settings)
