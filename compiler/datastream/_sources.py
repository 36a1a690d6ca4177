"""The calls of an environment that make streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream import _build
from compat.compiler.datastream._location import here
from compat.compiler.datastream._stream import DataStream, DataStreamSource
from compat.compiler.datastream._versions import only
from compat.compiler.datastream.common.io import TextInputFormat
from compat.compiler.datastream.common.typeinfo import Types
from compat.compiler.errors import ProgramError
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.kinds import LegacySource, Source
from compat.compiler.transformations.operators import ChainingStrategy, Operator
from compat.compiler.transformations.pipeline import Pipeline

if TYPE_CHECKING:
    from compat.compiler.datastream.common.io import InputFormat
    from compat.compiler.datastream.common.typeinfo import TypeInformation
    from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
    from compat.compiler.datastream.functions import SourceFunction
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment


class Sources:
    """Part of :class:`StreamExecutionEnvironment`."""

    pipeline: Pipeline

    def get_parallelism(self) -> int:
        """The parallelism of operators that have none of their own."""
        raise NotImplementedError

    def create_input(self, input_format: InputFormat, type_info: TypeInformation | None = None) -> DataStream:
        """The records that an input format reads."""
        return self._legacy_source(
            "Custom Source",
            ops.InputFormat(function=input_format),
            _produced_type(input_format, type_info),
            bounded=True,
            parallel=True,
        )

    @only("1.20")
    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """The lines of a file, read once: one operator watches it, another reads (Flink: ``readTextFile``)."""
        lines = TextInputFormat(file_path, charset_name)
        found = self._legacy_source(
            "Custom File Source",
            ops.FileMonitor(function=lines),
            _build.pickled(),
            bounded=True,
            parallel=False,
            max_parallelism=1,
        )
        read = _build.one_input(
            self._environment(),
            found._id,
            "Split Reader: Custom File Source",
            Types.STRING(),
            ops.FileSplitReader(function=lines),
            chaining=ChainingStrategy.HEAD,
        )
        return DataStream(self._environment(), read.id)

    def add_source(
        self,
        source_func: SourceFunction,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The records of a source of the old kind."""
        return self._legacy_source(
            source_name,
            ops.LegacySource(function=source_func),
            _produced_type(source_func, type_info),
            bounded=False,
            parallel=getattr(source_func, "parallel", False),
        )

    def from_source(
        self,
        source: Any,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The records of a source of a connector, with the timestamps and watermarks of ``watermark_strategy``."""
        if not hasattr(source, "bounded"):
            raise TypeError(f"from_source takes a source of a connector, not {type(source).__name__}.")
        made = self.pipeline.add(
            Source(
                id=self.pipeline.new_id(),
                name=source_name,
                output_type=_produced_type(source, type_info),
                parallelism=self.get_parallelism(),
                bounded=source.bounded,
                operator=ops.Source(function=source, watermark_strategy=watermark_strategy),
                location=here(),
            ),
            register=False,
        )
        return DataStreamSource(self._environment(), made.id)

    def from_collection(self, collection: list[Any], type_info: TypeInformation | None = None) -> DataStream:
        """The elements of a list as a stream; one subtask makes them."""
        elements = tuple(collection)
        if type_info is not None:
            elements = tuple(type_info.to_internal_type(element) for element in elements)
        return self._legacy_source(
            "Collection Source",
            ops.Collection(function=elements),
            _build.pickled() if type_info is None else type_info,
            bounded=True,
            parallel=False,
            max_parallelism=1,
        )

    def _legacy_source(
        self,
        name: str,
        operator: Operator,
        output_type: Any,
        *,
        bounded: bool,
        parallel: bool,
        max_parallelism: int = -1,
    ) -> DataStream:
        made = self.pipeline.add(
            LegacySource(
                id=self.pipeline.new_id(),
                name=name,
                output_type=output_type,
                parallelism=self.get_parallelism() if parallel else 1,
                parallelism_configured=not parallel,
                max_parallelism=max_parallelism,
                bounded=bounded,
                parallel=parallel,
                operator=operator,
                chaining=ChainingStrategy.HEAD,
                location=here(),
            ),
            register=False,
        )
        return DataStreamSource(self._environment(), made.id, parallel=parallel)

    def _environment(self) -> StreamExecutionEnvironment:
        return self  # type: ignore[return-value]


def _produced_type(source: Any, given: Any) -> Any:
    """The type of a source's records: given, or what the source says, or pickled objects."""
    if given is not None:
        return given
    produced = getattr(source, "get_produced_type", None)
    if produced is None:
        return _build.pickled()
    output_type = produced()
    if output_type is None:
        raise ProgramError(
            f"The type of the records of {type(source).__name__} is not known: give type_info.", location=here()
        )
    return output_type
