"""Number sequences and generated records. Flink: ``NumberSequenceSource``, ``DataGeneratorSource``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator


class NumberEnumerator(SplitEnumerator):
    """One range per subtask, of nearly equal lengths."""

    complete = True

    def __init__(self, start: int, end: int, parallelism: int) -> None:
        self._start, self._end, self._parallelism = start, end, parallelism

    def discover(self, known: set[str]) -> list[Split]:
        if known:
            return []
        count = self._end - self._start + 1
        parts = min(self._parallelism, count)
        bounds = [self._start + number * count // parts for number in range(parts + 1)]
        return [{"id": str(number), "next": bounds[number], "end": bounds[number + 1] - 1} for number in range(parts)]


class NumberReader:
    """Counts."""

    def read(self, split: Split, limit: int) -> Read:
        start = split["next"]
        stop = min(start + limit, split["end"] + 1)

        def after(count: int) -> Split:
            return {**split, "next": start + count}

        return Read(list(range(start, stop)), None, after(stop - start), stop > split["end"], after)


class GeneratorEnumerator(NumberEnumerator):
    """Ranges of numbers, given out no faster than the rate allows, which is in records a second over all subtasks."""

    def __init__(self, count: int, rate: float | None, parallelism: int) -> None:
        super().__init__(0, count - 1, parallelism)
        self._rate = None if rate is None else rate / min(parallelism, count)
        self._given: dict[str, tuple[float, int]] = {}

    def ready(self, split: Split) -> bool:
        """True when the rate allows another record."""
        return self._rate is None or self._most(split, self._rate) > 0

    def fill(self, split: Split, limit: int) -> Split:
        """The split with the number of records that the rate allows by now."""
        return split if self._rate is None else {**split, "most": self._most(split, self._rate)}

    def _most(self, split: Split, rate: float) -> int:
        began, first = self._given.setdefault(split["id"], (time.monotonic(), split["next"]))
        allowed = first + 1 + int((time.monotonic() - began) * rate)
        return int(max(0, allowed - split["next"]))


class GeneratorReader:
    """Calls the program's function with one number after the other. Flink: ``GeneratorFunction``."""

    def __init__(self, function: Callable[[int], Any]) -> None:
        self._function = function
        self._numbers = NumberReader()

    def read(self, split: Split, limit: int) -> Read:
        read = self._numbers.read(split, min(limit, split.pop("most", limit)))
        return replace(read, values=list(map(self._function, read.values)))
