"""Where working state lives. Flink: ``StateBackend`` and its kinds."""

from __future__ import annotations

from enum import Enum
from typing import Any

from compat.compiler.errors import illegal_argument

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


class StateBackend:
    """A kind of state backend; ``options`` says the same in a job's options."""

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


class EmbeddedRocksDBStateBackend(StateBackend):
    """State as bytes in an embedded store on the local disk."""

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

    def get_number_of_transfer_threads(self) -> int:
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        if number_of_transfering_threads < 1:
            raise illegal_argument(
                "The number of threads used to transfer files in EmbeddedRocksDBStateBackend "
                "should be greater than zero."
            )
        self._threads = number_of_transfering_threads

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

    def __str__(self) -> str:
        return f"EmbeddedRocksDBStateBackend({self._predefined.name})"


class CustomStateBackend(StateBackend):
    """A backend of the user's, known by the name of its factory."""

    def __init__(self, j_custom_state_backend: Any) -> None:
        self._backend = j_custom_state_backend

    def options(self) -> dict[str, str]:
        return {"state.backend.type": str(self._backend)}
