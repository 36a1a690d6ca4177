"""Writing files. Flink: ``FileSink`` and ``StreamingFileSink``; :mod:`.file_system` has the names."""

from __future__ import annotations

from typing import Any, TypeVar

from compat.compiler.datastream.common.serialization import BulkWriterFactory, Encoder, RowDataBulkWriterFactory
from compat.compiler.datastream.connectors.base import (
    Builder,
    Sink,
    StreamTransformer,
    SupportsPreprocessing,
    committer,
    writer,
)
from compat.compiler.datastream.connectors.file_settings import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
)
from compat.compiler.datastream.functions import SinkFunction
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.kinds import SinkStep, SinkTopology
from compat.compiler.transformations.partitioners import FORWARD, REBALANCE, Partitioner
from compat.state.types import ExternalTypeInfo, OpaqueTypeInfo

_ROW_DATA = OpaqueTypeInfo("GenericType<org.apache.flink.table.data.RowData>")


class RowToRowData(StreamTransformer):
    """Puts an operator before the sink that turns rows into those of the Table API."""

    def __init__(self, row_type: Any) -> None:
        self.row_type = row_type

    def apply(self, ds: Any) -> Any:
        if isinstance(ds.get_type(), ExternalTypeInfo):
            return ds
        return ds._java("Process", ops.RowsToRowData(function=self.row_type), _ROW_DATA)


class FileSink(Sink, SupportsPreprocessing):
    """Writes records into files, exactly once (Flink: ``FileSink``).

    Writers write files, the committer gives them their final names after the checkpoint. With compaction a coordinator
    and compactors stand between the two. A sink with compaction, enabled or disabled explicitly, needs a uid.
    """

    connector = "filesystem"

    def __init__(self, settings: dict[str, Any], transformer: StreamTransformer | None = None) -> None:
        super().__init__(settings=settings)
        self._transformer = transformer

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Write record by record."""
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSink.BulkFormatBuilder:
        """Write many records at a time."""
        return FileSink.BulkFormatBuilder(base_path, writer_factory)

    def get_transformer(self) -> StreamTransformer | None:
        """The function that changes the stream before the sink, or None."""
        return self._transformer

    def topology(self) -> SinkTopology:
        """Writer and committer, with the parts of the compaction between them."""
        if self.settings.get("compact_strategy") is not None:
            between: tuple[SinkStep, ...] = (
                self._step(
                    "CompactorCoordinator", ops.FileCompactorCoordinator, "CompactCoordinatorFactory", REBALANCE, 1
                ),
                self._step("CompactorOperator", ops.FileCompactor, "CompactorOperatorFactory"),
            )
        elif self.settings.get("compaction_disabled"):
            between = (
                self._step(
                    "CompactorCoordinatorPlaceHolder",
                    ops.FileCompactorCoordinator,
                    "CompactCoordinatorStateHandlerFactory",
                    FORWARD,
                ),
                self._step(
                    "CompactorOperatorPlaceHolder", ops.FileCompactor, "CompactorOperatorStateHandlerFactory", FORWARD
                ),
            )
        else:
            between = ()
        return SinkTopology(writer=writer(self), pre_commit=between, committer=committer(self))

    def _step(
        self,
        name: str,
        kind: type[ops.Operator],
        factory: str,
        partitioner: Partitioner | None = None,
        parallelism: int | None = None,
    ) -> SinkStep:
        part = name.removesuffix("PlaceHolder")
        return SinkStep(
            name=name,
            operator=kind(function=self, factory=factory),
            partitioner=partitioner,
            uid=f"FileSink{part}",
            parallelism=parallelism,
        )

    class BaseBuilder(Builder):
        """The base of both builders."""

        def __init__(self, base_path: str, **settings: Any) -> None:
            super().__init__()
            self._set(base_path=str(base_path), **settings)

        def with_bucket_check_interval(self: B, interval: int) -> B:
            """Set how often, in milliseconds, to check whether a file is to be closed."""
            return self._set(bucket_check_interval=interval)

        def with_bucket_assigner(self: B, bucket_assigner: BucketAssigner) -> B:
            """Set the directory of a record."""
            return self._set(bucket_assigner=bucket_assigner)

        def with_rolling_policy(self: B, rolling_policy: Any) -> B:
            """Set the rule for closing files."""
            return self._set(rolling_policy=rolling_policy)

        def with_output_file_config(self: B, output_file_config: OutputFileConfig) -> B:
            """Set the prefix and suffix of file names."""
            return self._set(output_file_config=output_file_config)

        def enable_compact(self: B, strategy: FileCompactStrategy, compactor: FileCompactor) -> B:
            """Compact small files into one."""
            return self._set(compact_strategy=strategy, compactor=compactor, compaction_disabled=False)

        def disable_compact(self: B) -> B:
            """Stop compacting, except for files that an earlier version of the job left to compact."""
            return self._set(compact_strategy=None, compactor=None, compaction_disabled=True)

        def build(self) -> FileSink:
            """The sink."""
            return FileSink(self._settings)

    class RowFormatBuilder(BaseBuilder):
        """Collects the settings of a sink that writes record by record."""

        def __init__(self, base_path: str, encoder: Encoder) -> None:
            super().__init__(base_path, encoder=encoder)

    class BulkFormatBuilder(BaseBuilder):
        """Collects the settings of a sink that writes many records at a time."""

        def __init__(self, base_path: str, writer_factory: BulkWriterFactory) -> None:
            super().__init__(base_path, writer_factory=writer_factory)
            self._transformer: StreamTransformer | None = None
            if isinstance(writer_factory, RowDataBulkWriterFactory):
                self._transformer = RowToRowData(writer_factory.get_row_type())

        def with_rolling_policy(self, rolling_policy: OnCheckpointRollingPolicy) -> FileSink.BulkFormatBuilder:
            """Set the rule for closing files: it can only be at each checkpoint."""
            return self._set(rolling_policy=_at_checkpoints(rolling_policy))

        def build(self) -> FileSink:
            """The sink."""
            return FileSink(self._settings, self._transformer)


B = TypeVar("B", bound=FileSink.BaseBuilder)


def _at_checkpoints(rolling_policy: Any) -> OnCheckpointRollingPolicy:
    if not isinstance(rolling_policy, OnCheckpointRollingPolicy):
        raise ValueError(
            f"rolling_policy must be OnCheckpointRollingPolicy for bulk format, got {rolling_policy!r}: "
            "use RollingPolicy.on_checkpoint_rolling_policy()."
        )
    return rolling_policy


class StreamingFileSink(SinkFunction):
    """The file sink of the old kind (Flink: ``StreamingFileSink``)."""

    connector = "filesystem"

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__("StreamingFileSink")
        self.settings = dict(settings)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Write record by record."""
        return StreamingFileSink.DefaultRowFormatBuilder(base_path, encoder=encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Write many records at a time."""
        return StreamingFileSink.DefaultBulkFormatBuilder(base_path, writer_factory=writer_factory)

    class BaseBuilder(Builder):
        """The base of both builders."""

        def __init__(self, base_path: str, **settings: Any) -> None:
            super().__init__()
            self._set(base_path=str(base_path), **settings)

        def with_bucket_check_interval(self: S, interval: int) -> S:
            """Set how often, in milliseconds, to check whether a file is to be closed."""
            return self._set(bucket_check_interval=interval)

        def with_bucket_assigner(self: S, bucket_assigner: BucketAssigner) -> S:
            """Set the directory of a record."""
            return self._set(bucket_assigner=bucket_assigner)

        def with_rolling_policy(self: S, policy: Any) -> S:
            """Set the rule for closing files."""
            return self._set(rolling_policy=policy)

        def with_output_file_config(self: S, output_file_config: OutputFileConfig) -> S:
            """Set the prefix and suffix of file names."""
            return self._set(output_file_config=output_file_config)

        def build(self) -> StreamingFileSink:
            """The sink."""
            return StreamingFileSink(self._settings)

    class DefaultRowFormatBuilder(BaseBuilder):
        """Collects the settings of a sink that writes record by record."""

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Collects the settings of a sink that writes many records at a time."""

        def with_rolling_policy(self, policy: OnCheckpointRollingPolicy) -> StreamingFileSink.DefaultBulkFormatBuilder:
            """Set the rule for closing files: it can only be at each checkpoint."""
            return self._set(rolling_policy=_at_checkpoints(policy))


S = TypeVar("S", bound=StreamingFileSink.BaseBuilder)
