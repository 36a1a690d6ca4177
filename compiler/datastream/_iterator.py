"""Records that come back to the program. Flink: ``CloseableIterator``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class CloseableIterator:
    """Iterates over collected records; closing it releases the job. Works in a ``with`` statement."""

    def __init__(self, records: Iterator[Any], type_info: Any = None) -> None:
        self._records = records
        self._type_info = type_info

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        self.close()

    def next(self) -> Any:
        """The next record; StopIteration after the last."""
        return next(self._records)

    def close(self) -> None:
        """Give up the records that were not read."""
        close = getattr(self._records, "close", None)
        if close is not None:
            close()
        self._records = iter(())
