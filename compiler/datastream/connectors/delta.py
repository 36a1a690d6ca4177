"""Delta tables as sources and sinks. PyFlink has none; the names follow those of the Delta connector for Flink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat.compiler.datastream.connectors.base import Builder, Sink, Source, committer, writer
from compat.compiler.errors import illegal_argument
from compat.compiler.transformations.kinds import SinkTopology
from compat.state.types import RowTypeInfo, TypeInformation

__all__ = ["DeltaSink", "DeltaSinkBuilder", "DeltaSource", "DeltaSourceBuilder"]


class DeltaSource(Source):
    """The rows of a Delta table (Delta connector: ``DeltaSource``).

    Bounded: one version, or the changes up to ``ending_version``. Continuous: what is there, then each new version.
    """

    connector = "delta"

    @staticmethod
    def for_bounded_row_data(path: str) -> DeltaSourceBuilder:
        """Read the table once."""
        return DeltaSourceBuilder(path, bounded=True)

    @staticmethod
    def for_continuous_row_data(path: str) -> DeltaSourceBuilder:
        """Read the table, then all changes."""
        return DeltaSourceBuilder(path, bounded=False)


class DeltaSourceBuilder(Builder):
    """Collects the settings of a :class:`DeltaSource`. Versions count from 0; timestamps are ISO texts in UTC."""

    def __init__(self, path: str, *, bounded: bool) -> None:
        super().__init__()
        if not path:
            raise illegal_argument("A DeltaSource needs the path of a table, not an empty text.")
        self._bounded = bounded
        self._row_type: TypeInformation | None = None
        self._set(path=str(path))

    def version_as_of(self, version: int) -> DeltaSourceBuilder:
        """The version to read; bounded sources only."""
        return self._only(True, "version_as_of", _version(version))

    def timestamp_as_of(self, timestamp: str) -> DeltaSourceBuilder:
        """The version that was current then; bounded sources only."""
        return self._only(True, "timestamp_as_of", timestamp)

    def starting_version(self, version: int) -> DeltaSourceBuilder:
        """Only changes from this version on."""
        return self._set(starting_version=_version(version))

    def ending_version(self, version: int) -> DeltaSourceBuilder:
        """Only changes up to this version; bounded sources only."""
        return self._only(True, "ending_version", _version(version))

    def starting_timestamp(self, timestamp: str) -> DeltaSourceBuilder:
        """Only changes from then on."""
        return self._set(starting_timestamp=timestamp)

    def update_check_interval(self, interval_millis: int) -> DeltaSourceBuilder:
        """Milliseconds between two checks for new versions; continuous sources only."""
        return self._only(False, "update_check_interval", interval_millis)

    def ignore_deletes(self, ignore: bool) -> DeltaSourceBuilder:
        """Set whether versions that delete rows are skipped; continuous sources only."""
        return self._only(False, "ignore_deletes", ignore)

    def ignore_changes(self, ignore: bool) -> DeltaSourceBuilder:
        """Set whether rewritten rows are read again; continuous sources only."""
        return self._only(False, "ignore_changes", ignore)

    def column_names(self, names: Sequence[str]) -> DeltaSourceBuilder:
        """Read these columns only."""
        return self._set(column_names=tuple(names))

    def row_type(self, row_type: TypeInformation) -> DeltaSourceBuilder:
        """The type of the rows; pickled rows if not set."""
        self._row_type = row_type
        return self

    def option(self, key: str, value: Any) -> DeltaSourceBuilder:
        """An option of the reader."""
        return self._put("options", {key: value})

    def build(self) -> DeltaSource:
        """The source."""
        settings = self._settings
        first, last = settings.get("starting_version"), settings.get("ending_version")
        if last is not None and first is None:
            raise illegal_argument("ending_version needs starting_version: call starting_version(…) too.")
        if first is not None and last is not None and first > last:
            raise illegal_argument(f"starting_version {first} is after ending_version {last}.")
        points = [
            name
            for name in ("version_as_of", "timestamp_as_of", "starting_version", "starting_timestamp")
            if name in settings
        ]
        if len(points) > 1:
            raise illegal_argument(f"Only one of {', '.join(points)} can be set on a DeltaSource.")
        return DeltaSource(bounded=self._bounded, produced_type=self._row_type, settings=settings)

    def _only(self, bounded: bool, setting: str, value: Any) -> DeltaSourceBuilder:
        if self._bounded is not bounded:
            kind = "bounded" if bounded else "continuous"
            raise illegal_argument(f"{setting} is for {kind} sources: use DeltaSource.for_{kind}_row_data(…).")
        return self._set(**{setting: value})


def _version(version: int) -> int:
    if version < 0:
        raise illegal_argument(f"Versions of a Delta table count from 0, got {version}.")
    return version


class DeltaSink(Sink):
    """Appends rows to a Delta table, exactly once (Delta connector: ``DeltaSink``).

    Writers write data files, the committer adds them to the table's log after the checkpoint.
    """

    connector = "delta"

    @staticmethod
    def for_row_data(path: str, row_type: RowTypeInfo | None = None) -> DeltaSinkBuilder:
        """Write to the table at ``path``; a new table gets the columns of ``row_type``."""
        return DeltaSinkBuilder(path, row_type)

    def topology(self) -> SinkTopology:
        return SinkTopology(writer=writer(self), committer=committer(self))


class DeltaSinkBuilder(Builder):
    """Collects the settings of a :class:`DeltaSink`."""

    def __init__(self, path: str, row_type: RowTypeInfo | None = None) -> None:
        super().__init__()
        if not path:
            raise illegal_argument("A DeltaSink needs the path of a table, not an empty text.")
        self._set(path=str(path), row_type=row_type)

    def with_partition_columns(self, *columns: str) -> DeltaSinkBuilder:
        """The columns whose values name the directories."""
        return self._set(partition_columns=tuple(columns))

    def with_merge_schema(self, merge_schema: bool) -> DeltaSinkBuilder:
        """Set whether new columns are added to the table."""
        return self._set(merge_schema=merge_schema)

    def option(self, key: str, value: Any) -> DeltaSinkBuilder:
        """An option of the writer."""
        return self._put("options", {key: value})

    def build(self) -> DeltaSink:
        """The sink."""
        row_type = self._settings["row_type"]
        columns = self._settings.get("partition_columns", ())
        unknown = [] if row_type is None else [c for c in columns if c not in row_type.field_names]
        if row_type is not None and unknown:
            raise illegal_argument(
                f"Partition columns {unknown} are not columns of the table: {list(row_type.field_names)}."
            )
        return DeltaSink(settings=self._settings)
