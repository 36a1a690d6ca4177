"""The connector for number sequences and generators of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compat.compiler.spark.connectors.base import Connector, Position, SourceConnector
from compat.compiler.spark.connectors.numbers.source import (
    GeneratorEnumerator,
    GeneratorReader,
    NumberEnumerator,
    NumberReader,
)
from compat.compiler.spark.runtime_api.splits import SourceReader

if TYPE_CHECKING:
    from compat.state.flink.binary import ByteReader
    from compat.state.flink.savepoint import OperatorState


class _Sequence(SourceConnector):
    def enumerator(self, source: Any, parallelism: int) -> NumberEnumerator:
        return NumberEnumerator(source.start, source.end, parallelism)

    def reader(self, source: Any, output_type: Any) -> SourceReader:
        return NumberReader()

    def positions(self, source: Any, operator: OperatorState, splits: Iterator[ByteReader]) -> list[Position]:
        from compat.compiler.spark.connectors.numbers.savepoint import positions

        return positions(operator, splits)


class _Generator(_Sequence):
    def enumerator(self, source: Any, parallelism: int) -> GeneratorEnumerator:
        return GeneratorEnumerator(source.settings["count"], source.settings["rate"], parallelism)

    def reader(self, source: Any, output_type: Any) -> SourceReader:
        return GeneratorReader(source.settings["function"])


CONNECTORS = {"number-sequence": Connector(source=_Sequence()), "data-generator": Connector(source=_Generator())}
