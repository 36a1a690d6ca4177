"""Reading files. Flink: ``FileSource`` and what is set on it; :mod:`.file_system` has the names."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream.connectors.base import Builder, Source
from compat.compiler.errors import illegal_argument
from compat.state.time import Duration
from compat.state.types import TypeInformation, Types


class FileEnumeratorProvider:
    """The way in which files are found and cut into splits."""

    def __init__(self, j_file_enumerator_provider: Any) -> None:
        self.name = str(j_file_enumerator_provider)

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Large files are read by several subtasks."""
        return FileEnumeratorProvider("splittable")

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Each file is read by one subtask."""
        return FileEnumeratorProvider("non-splittable")

    def __repr__(self) -> str:
        return f"FileEnumeratorProvider({self.name})"


class FileSplitAssignerProvider:
    """The assignment of splits to subtasks."""

    def __init__(self, j_file_split_assigner: Any) -> None:
        self.name = str(j_file_split_assigner)

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Splits go to subtasks on the host that has them."""
        return FileSplitAssignerProvider("locality-aware")

    def __repr__(self) -> str:
        return f"FileSplitAssignerProvider({self.name})"


class StreamFormat:
    """A file format that is read record by record (Flink: ``StreamFormat``)."""

    def __init__(self, j_stream_format: Any, *, produced_type: TypeInformation | None = None, **settings: Any) -> None:
        self.name = str(j_stream_format)
        self.settings = settings
        self._produced_type = produced_type

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """A line a record."""
        return StreamFormat("text", produced_type=Types.STRING(), charset=charset_name)

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records, or None."""
        return self._produced_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.settings})"


class BulkFormat:
    """A file format that is read many records at a time (Flink: ``BulkFormat``)."""

    def __init__(self, j_bulk_format: Any, *, produced_type: TypeInformation | None = None, **settings: Any) -> None:
        self.name = str(j_bulk_format)
        self.settings = settings
        self._produced_type = produced_type

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records, or None."""
        return self._produced_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.settings})"


class FileSource(Source):
    """The records of files (Flink: ``FileSource``). Bounded unless it keeps looking for new files."""

    connector = "filesystem"

    def __init__(self, file_format: StreamFormat | BulkFormat, paths: tuple[str, ...], **settings: Any) -> None:
        interval: Duration | None = settings.get("discovery_interval")
        super().__init__(
            bounded=interval is None,
            produced_type=file_format.get_produced_type(),
            settings={"format": file_format, "paths": paths, **settings},
        )
        self.format = file_format
        self.paths = paths

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Read files of a format that is read record by record."""
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Read files of a format that is read many records at a time."""
        return FileSourceBuilder(bulk_format, paths)


class FileSourceBuilder(Builder):
    """Collects the settings of a :class:`FileSource`."""

    def __init__(self, file_format: StreamFormat | BulkFormat, paths: tuple[str, ...]) -> None:
        super().__init__()
        if not paths:
            raise illegal_argument("paths must not be empty: give a FileSource at least one file or directory.")
        self._format = file_format
        self._paths = tuple(map(str, paths))

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Look for new files again and again."""
        return self._set(discovery_interval=discovery_interval)

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the present files, and end (the default)."""
        self._settings.pop("discovery_interval", None)
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Set how files are found."""
        return self._set(file_enumerator=file_enumerator)

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Set the assignment of splits to subtasks."""
        return self._set(split_assigner=split_assigner)

    def build(self) -> FileSource:
        """The source."""
        return FileSource(self._format, self._paths, **self._settings)
