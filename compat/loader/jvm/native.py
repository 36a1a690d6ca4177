"""Writes keyed state in the own format of a state backend: that restores it, and takes a native savepoint of it."""

from __future__ import annotations

from compat.loader.jvm.backends import backend_of
from compat.loader.jvm.bridge import Java, flink, java
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.harness import Bounds, Subtask, bounded, harness, keyed_backend, open_operator, operator_of
from compat.loader.jvm.messages import WriteNative
from compat.loader.jvm.restore import Built

_CHECKPOINT = 1
_IN_PLACE = 20 << 10
"""Up to how many bytes stand in the metadata itself, as in Flink (`execution.checkpointing.data-inline-threshold`)."""
_BUFFER = 1 << 20


def write_native(command: WriteNative, built: Built) -> None:
    """Write the keyed state of an operator natively, subtask by subtask, and the metadata that refers to it.

    Raises OperatorFailed, and Flink's exceptions for metadata that it does not read.
    """
    metadata = _load(command.metadata, built.loader)
    state = next(
        one for one in metadata.getOperatorStates() if str(one.getOperatorID().toHexString()) == command.operator
    )
    operator = next(one for one in built.operators if command.operator in built.ids[one.node])
    bounds = Bounds(loader=built.loader, timeout=built.timeout + command.seconds)
    for index in sorted(map(int, state.getSubtaskStates().keySet())):
        subtask = state.getState(index)
        if subtask.getManagedKeyedState().isEmpty():
            continue
        place = Subtask(index, int(state.getParallelism()))
        max_parallelism = int(state.getMaxParallelism())
        written = bounded(
            lambda: _written(operator, subtask, max_parallelism, place, command, built.loader),  # noqa: B023
            bounds,
            "Writing the state",
        )
        state.putState(index, subtask.toBuilder().setManagedKeyedState(_only(written)).build())
    _store(_as_native(metadata), command.metadata)


def _written(
    operator: Configured, subtask: Java, max_parallelism: int, place: Subtask, command: WriteNative, loader: Java
) -> Java:
    """The handle of a subtask's keyed state as the backend writes it; None if there is no entry in it."""
    made = harness(operator, loader, max_parallelism, backend_of(command.backend)(), place)
    try:
        keyed_only = flink("runtime.checkpoint.OperatorSubtaskState").builder()
        made.initializeState(keyed_only.setManagedKeyedState(subtask.getManagedKeyedState()).build())
        open_operator(made, unconnected=operator.unconnected)  # what it declares, it writes with its own serializers
        now = int(java("java.lang.System").currentTimeMillis())
        backend = keyed_backend(operator_of(made))
        taken = backend.snapshot(_CHECKPOINT, now, _into_folder_of(command.metadata), _native_savepoint())
        taken.run()
        return taken.get().getJobManagerOwnedSnapshot()
    finally:
        made.close()


def _into_folder_of(metadata: str) -> Java:
    """What writes state into the folder of a savepoint, whose metadata names its files by their names alone."""
    folder = flink("core.fs.Path")(metadata).getParent()
    files = flink("core.fs.local.LocalFileSystem").getSharedInstance()
    return flink("runtime.state.filesystem.FsCheckpointStreamFactory")(files, folder, folder, _IN_PLACE, _BUFFER)


def _native_savepoint() -> Java:
    native = flink("core.execution.SavepointFormatType").NATIVE
    default = flink("runtime.state.CheckpointStorageLocationReference").getDefault()
    return flink("runtime.checkpoint.CheckpointOptions")(
        flink("runtime.checkpoint.SavepointType").savepoint(native), default
    )


def _as_native(metadata: Java) -> Java:
    """The metadata of a savepoint that says of itself that it is native."""
    properties = flink("runtime.checkpoint.CheckpointProperties").forSavepoint(
        False, flink("core.execution.SavepointFormatType").NATIVE
    )
    return flink("runtime.checkpoint.metadata.CheckpointMetadata")(
        metadata.getCheckpointId(), metadata.getOperatorStates(), metadata.getMasterStates(), properties
    )


def _only(handle: Java) -> Java:
    collection = flink("runtime.checkpoint.StateObjectCollection")
    return collection.empty() if handle is None else collection.singleton(handle)


def _load(path: str, loader: Java) -> Java:
    stream = java("java.io.DataInputStream")(java("java.io.FileInputStream")(path))
    try:
        return flink("runtime.checkpoint.Checkpoints").loadCheckpointMetadata(stream, loader, path)
    finally:
        stream.close()


def _store(metadata: Java, path: str) -> None:
    stream = java("java.io.FileOutputStream")(path)
    try:
        flink("runtime.checkpoint.Checkpoints").storeCheckpointMetadata(metadata, stream)
    finally:
        stream.close()
