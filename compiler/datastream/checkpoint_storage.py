"""The storage of checkpoints. Flink: ``CheckpointStorage`` and its kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.compiler.errors import illegal_argument

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]

_DIRECTORY = "execution.checkpointing.dir"
_STORAGE = "execution.checkpointing.storage"


class CheckpointStorage:
    """A storage of checkpoints; ``options`` are the same setting as options of a job."""

    def options(self) -> dict[str, str]:
        """The options that choose this storage."""
        return {}


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in the coordinator's memory, for experiments."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        if self._max_state_size <= 0:
            raise illegal_argument("maxStateSize must be > 0")

    def get_checkpoint_path(self) -> str | None:
        return self._path

    def get_max_state_size(self) -> int:
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        return None

    def options(self) -> dict[str, str]:
        chosen = {_STORAGE: "jobmanager"}
        if self._path is not None:
            chosen[_DIRECTORY] = self._path
        return chosen

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage({self._path}, {self._max_state_size} bytes)"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints as files of a directory."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("FileSystemCheckpointStorage needs a checkpoint_path.")
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise illegal_argument(
                f"The threshold for file state size must be in [-1, {self.MAX_FILE_STATE_THRESHOLD}], "
                "where '-1' means to use the value from the deployment's configuration."
            )
        self._path = checkpoint_path
        self._threshold = threshold
        self._write_buffer_size = write_buffer_size

    def get_checkpoint_path(self) -> str:
        return self._path

    def get_savepoint_path(self) -> str | None:
        return None

    def get_min_file_size_threshold(self) -> int:
        """The size in bytes below which state goes into the metadata file."""
        return self._threshold if self._threshold >= 0 else 20 * 1024

    def get_write_buffer_size(self) -> int:
        return self._write_buffer_size if self._write_buffer_size >= 0 else 4096

    def options(self) -> dict[str, str]:
        chosen = {_STORAGE: "filesystem", _DIRECTORY: self._path}
        if self._threshold >= 0:
            chosen["execution.checkpointing.data-inline-threshold"] = f"{self._threshold} b"
        if self._write_buffer_size >= 0:
            chosen["execution.checkpointing.write-buffer-size"] = str(self._write_buffer_size)
        return chosen

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._path})"


def storage_of(options: Mapping[str, str]) -> CheckpointStorage | None:
    """The storage that a job's options choose; None if they choose none."""
    kind, directory = options.get(_STORAGE), options.get(_DIRECTORY)
    if kind == "jobmanager":
        return JobManagerCheckpointStorage(directory)
    if kind in (None, "filesystem"):
        return None if directory is None else FileSystemCheckpointStorage(directory)
    return CustomCheckpointStorage(kind)


class CustomCheckpointStorage(CheckpointStorage):
    """A storage of the user's, given by the name of its factory."""

    def __init__(self, j_custom_checkpoint_storage: Any) -> None:
        self._storage = j_custom_checkpoint_storage

    def options(self) -> dict[str, str]:
        return {_STORAGE: str(self._storage)}
