"""The file sink. Flink: ``FileSink``: writers write hidden files, the committer gives them their names.

Files are closed at every checkpoint, whatever the rolling policy says beyond that, so that nothing must be cut off after a crash.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from compiler.spark.sinks import WriterContext

_JAVA_PATTERNS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


class FileWriter:
    """Writes the records of one subtask into hidden files, one a bucket."""

    def __init__(self, settings: Any, context: WriterContext) -> None:
        self._settings = settings
        self._context = context
        self._base = Path(settings["base_path"].removeprefix("file://"))
        self._files: dict[str, tuple[Any, Path, Path]] = {}
        self._encoder = settings.get("encoder")
        if self._encoder is None and getattr(settings["writer_factory"], "format", "") != "parquet":
            raise NotImplementedError("Of the bulk formats only Parquet can be written yet.")

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record, encoded into the file of its bucket."""
        stream = self._file(self._bucket())
        if self._encoder is not None:
            self._encoder.encode(value, stream)
        else:
            stream.append(value)

    def prepare_commit(self) -> list[Any]:
        """Close the files; gives (hidden path, final path) of each."""
        made = []
        for stream, hidden, final in self._files.values():
            if self._encoder is not None:
                stream.flush()
                os.fsync(stream.fileno())
                stream.close()
            else:
                _write_parquet(stream, hidden)
            made.append((str(hidden), str(final)))
        self._files.clear()
        return made

    def _bucket(self) -> str:
        assigner = self._settings.get("bucket_assigner")
        if assigner is None or assigner.name == "date-time":
            pattern = getattr(assigner, "format", None) or "yyyy-MM-dd--HH"
            for java, python in _JAVA_PATTERNS.items():
                pattern = pattern.replace(java, python)
            return time.strftime(pattern)
        return ""

    def _file(self, bucket: str) -> Any:
        if bucket not in self._files:
            config = self._settings.get("output_file_config")
            prefix, suffix = (config.part_prefix, config.part_suffix) if config is not None else ("part", "")
            context = self._context
            name = f"{prefix}-{context.subtask}-{context.operator_id[:8]}-{context.epoch}{suffix}"
            directory = self._base / bucket
            directory.mkdir(parents=True, exist_ok=True)
            hidden = directory / f".{name}.inprogress.{context.attempt}"
            stream: Any = [] if self._encoder is None else open(hidden, "wb")  # noqa: SIM115
            self._files[bucket] = (stream, hidden, directory / name)
        return self._files[bucket][0]


def _write_parquet(rows: list[Any], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.Table.from_pylist([row.as_dict() if hasattr(row, "as_dict") else dict(row) for row in rows]), path
    )


class FileCommitter:
    """Gives the files their final names."""

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """Rename each file that still has its hidden name."""
        for hidden, final in committables:
            if os.path.exists(hidden):
                os.replace(hidden, final)
            elif not os.path.exists(final):
                raise FileNotFoundError(f"Neither {hidden} nor {final} is there: someone removed what the job wrote.")
