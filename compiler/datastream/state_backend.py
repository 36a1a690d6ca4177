"""The backends of working state. Flink: ``StateBackend`` and its kinds."""

from __future__ import annotations

from enum import Enum
from typing import Any

from compat.compiler.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from compat.compiler.errors import illegal_argument

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]


class StateBackend:
    """A kind of state backend; ``options`` are the same setting as options of a job."""

    def options(self) -> dict[str, str]:
        """The options that choose this backend."""
        return {}


class HashMapStateBackend(StateBackend):
    """State as objects on the heap."""

    def options(self) -> dict[str, str]:
        return {"state.backend.type": "hashmap"}

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Sets of settings for kinds of storage."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class _RocksDB(StateBackend):
    """What both backends with an embedded store have."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise TypeError(
                f"enable_incremental_checkpointing is None, True or False, not {enable_incremental_checkpointing!r}."
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] = []
        self._predefined = PredefinedOptions.DEFAULT
        self._factory: str | None = None
        self._threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Directories of the local disk; none for the task's own."""
        self._paths = list(paths)

    def get_db_storage_paths(self) -> list[str]:
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """The name of a Java class that makes settings; it is kept, and used by nothing here."""
        self._factory = options_factory_class_name

    def get_options(self) -> str | None:
        return self._factory

    def _set_threads(self, number: int) -> None:
        if number < 1:
            raise illegal_argument(
                "The number of threads used to transfer files in EmbeddedRocksDBStateBackend "
                "should be greater than zero."
            )
        self._threads = number

    def options(self) -> dict[str, str]:
        chosen = {
            "state.backend.type": "rocksdb",
            "state.backend.rocksdb.predefined-options": self._predefined.name,
            "state.backend.rocksdb.checkpoint.transfer.thread.num": str(self._threads),
        }
        if self._incremental is not None:
            chosen["execution.checkpointing.incremental"] = str(self._incremental).lower()
        if self._paths:
            chosen["state.backend.rocksdb.localdir"] = ",".join(self._paths)
        if self._factory is not None:
            chosen["state.backend.rocksdb.options-factory"] = self._factory
        return chosen


class EmbeddedRocksDBStateBackend(_RocksDB):
    """State as bytes in an embedded store on the local disk."""

    def get_number_of_transfer_threads(self) -> int:
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        self._set_threads(number_of_transfering_threads)

    def __str__(self) -> str:
        return f"EmbeddedRocksDBStateBackend({self._predefined.name})"


class MemoryStateBackend(StateBackend):
    """State on the heap, and checkpoints in the coordinator's memory (Flink up to 1.20)."""

    DEFAULT_MAX_STATE_SIZE = JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        _require_flag("using_asynchronous_snapshots", using_asynchronous_snapshots)
        self._storage = JobManagerCheckpointStorage(checkpoint_path, max_state_size)
        self._savepoints = savepoint_path

    def get_max_state_size(self) -> int:
        """The bytes of state that a subtask may have."""
        return self._storage.get_max_state_size()

    def is_using_asynchronous_snapshots(self) -> bool:
        """True: all snapshots are."""
        return True

    def options(self) -> dict[str, str]:
        return HashMapStateBackend().options() | self._storage.options() | _savepoints(self._savepoints)


class FsStateBackend(StateBackend):
    """State on the heap, and checkpoints as files of a directory (Flink up to 1.20)."""

    def __init__(
        self,
        checkpoint_directory_uri: str | None = None,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        if checkpoint_directory_uri is None:
            raise ValueError("The parameter 'checkpoint_directory_uri' is required!")
        _require_flag("using_asynchronous_snapshots", using_asynchronous_snapshots)
        buffer = -1 if write_buffer_size is None else write_buffer_size
        self._storage = FileSystemCheckpointStorage(checkpoint_directory_uri, file_state_size_threshold, buffer)
        self._savepoints = default_savepoint_directory_uri

    def get_checkpoint_path(self) -> str:
        return self._storage.get_checkpoint_path()

    def get_min_file_size_threshold(self) -> int:
        """The size in bytes below which state goes into the metadata file."""
        return self._storage.get_min_file_size_threshold()

    def get_write_buffer_size(self) -> int:
        """In bytes."""
        return self._storage.get_write_buffer_size()

    def is_using_asynchronous_snapshots(self) -> bool:
        """True: all snapshots are."""
        return True

    def options(self) -> dict[str, str]:
        return HashMapStateBackend().options() | self._storage.options() | _savepoints(self._savepoints)


class RocksDBStateBackend(_RocksDB):
    """State in an embedded store, and checkpoints as in another backend (Flink up to 1.20)."""

    def __init__(
        self,
        checkpoint_data_uri: str | None = None,
        enable_incremental_checkpointing: bool | None = None,
        checkpoint_stream_backend: StateBackend | None = None,
    ) -> None:
        super().__init__(enable_incremental_checkpointing)
        if checkpoint_data_uri is not None:
            checkpoint_stream_backend = FsStateBackend(checkpoint_data_uri)
        if checkpoint_stream_backend is None:
            raise ValueError("RocksDBStateBackend needs a checkpoint_data_uri or a checkpoint_stream_backend.")
        self._checkpoints = checkpoint_stream_backend

    def get_checkpoint_backend(self) -> StateBackend:
        """The backend that sets the storage of checkpoints."""
        return self._checkpoints

    def get_number_of_transfering_threads(self) -> int:
        return self._threads

    def set_number_of_transfering_threads(self, number_of_transfering_threads: int) -> None:
        self._set_threads(number_of_transfering_threads)

    def options(self) -> dict[str, str]:
        return self._checkpoints.options() | super().options()


def _require_flag(name: str, value: object) -> None:
    if value not in (None, True, False):
        raise TypeError(f"{name} is None, True or False, not {value!r}.")


def _savepoints(directory: str | None) -> dict[str, str]:
    return {} if directory is None else {"execution.checkpointing.savepoint-dir": directory}


class CustomStateBackend(StateBackend):
    """A backend of the user's, given by the name of its factory."""

    def __init__(self, j_custom_state_backend: Any) -> None:
        self._backend = j_custom_state_backend

    def options(self) -> dict[str, str]:
        return {"state.backend.type": str(self._backend)}
