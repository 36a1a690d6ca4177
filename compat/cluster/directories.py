"""The folders for data that all machines have to see: a cluster's defaults for Flink's options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.directories import (
    CHECKPOINT_DIRECTORY,
    DIRECTORIES,
    SAVEPOINT_DIRECTORY,
    checkpoint_directory,
    savepoint_directory,
)
from compat.compiler.spark.driver.job_folders import prove_conditional
from compat.compiler.spark.driver.masters import is_elsewhere, is_standalone
from compat.state.stores.mounts import is_mounted
from compat.state.stores.paths import place_of
from compat.state.stores.schemes import is_remote


class Directories(Struct, frozen=True, kw_only=True):
    """The folders for the ``checkpoints`` and ``savepoints`` of jobs without their own; empty for the cluster's folder."""

    checkpoints: str = ""
    savepoints: str = ""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Directories:
        """The folders from options in Flink's spelling, as absolute paths. Raises StoreError for an unknown storage."""
        return cls(
            checkpoints=_absolute(checkpoint_directory(options), "The directory for checkpoints"),
            savepoints=_absolute(savepoint_directory(options), "The directory for savepoints"),
        )

    @staticmethod
    def is_option(name: str) -> bool:
        """True for an option that sets one of these folders."""
        return name in DIRECTORIES

    def beside(self, options: Mapping[str, str]) -> dict[str, str]:
        """A program's options, completed by these folders."""
        mine = {} if checkpoint_directory(options) else {CHECKPOINT_DIRECTORY: self.checkpoints}
        mine |= {} if savepoint_directory(options) else {SAVEPOINT_DIRECTORY: self.savepoints}
        return {**options, **{name: folder for name, folder in mine.items() if folder}}

    def prove(self) -> None:
        """Raise a StoreError if the storage for checkpoints is unreachable, or lacks a needed feature."""
        if self.checkpoints:
            prove_conditional(place_of(self.checkpoints), "The directory for checkpoints")


def refuse_unseen(directories: Directories, folder: Path, master: str) -> str | None:
    """Raise a ProgramError if the machines of a master do not see the files that jobs write.

    ``folder`` is the cluster's. If nobody can know it, gives a warning: the workers of a standalone cluster may be on this
    machine, too.
    """
    if not is_elsewhere(master):
        return None
    written = {
        CHECKPOINT_DIRECTORY: directories.checkpoints or str(folder / "jobs"),
        SAVEPOINT_DIRECTORY: directories.savepoints or str(folder / "savepoints"),
    }
    unseen = {name: path for name, path in written.items() if not is_remote(path) and not is_mounted(path)}
    if not unseen:
        return None
    paths = " and ".join(unseen.values())
    given = " ".join(f"-D {name}=hdfs://HOST:PORT/FOLDER" for name in unseen)
    if is_standalone(master):
        return (
            f"Jobs write to {paths}, a folder of this machine: unless the workers of {master} have it mounted, or are on this "
            f"machine, too, jobs fail. Give {given}, or s3://BUCKET/FOLDER."
        )
    raise ProgramError(
        f"The tasks of {master} run on other machines, which do not see {paths}, where the cluster's jobs would write: give "
        f"{given}, or s3://BUCKET/FOLDER, or a folder that all machines have mounted."
    )


def _absolute(folder: str, what: str) -> str:
    return str(place_of(folder, what).absolute()) if folder else ""
