"""Collections of the program. Flink: ``FromElementsFunction``."""

from __future__ import annotations

from typing import Any

from compat.compiler.spark.runtime_api.records import converter, from_internal
from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator


class CollectionEnumerator(SplitEnumerator):
    """One split; the elements of an epoch travel with it, so that tasks need not hold the collection."""

    complete = True

    def __init__(self, elements: tuple[Any, ...]) -> None:
        self._elements = elements

    def discover(self, known: set[str]) -> list[Split]:
        return [] if known else [{"id": "0", "next": 0, "end": len(self._elements)}]

    def fill(self, split: Split, limit: int) -> Split:
        """The split with the elements that the epoch reads."""
        start = split["next"]
        return {**split, "elements": self._elements[start : start + limit]}


class CollectionReader:
    """Gives the elements that came with the split."""

    def __init__(self, output_type: Any) -> None:
        self._convert = from_internal(output_type)
        self._form = converter(output_type) or (lambda values: values)

    def read(self, split: Split, limit: int) -> Read:
        elements = split["elements"]
        values = self._form([self._convert(element) for element in elements])

        def after(count: int) -> Split:
            return {"id": split["id"], "next": split["next"] + count, "end": split["end"]}

        rest = after(len(elements))
        return Read(values, None, rest, rest["next"] >= split["end"], after)
