"""Writes keyed state in another format: a state backend restores it, and takes a native or a canonical savepoint of it."""

from __future__ import annotations

from compat.loader.jvm.backends import backend_of
from compat.loader.jvm.bridge import Java, flink, java
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.harness import Bounds, Subtask, bounded, harness, keyed_backend, open_operator, operator_of
from compat.loader.jvm.messages import KeyedForm, WriteKeyed
from compat.loader.jvm.restore import Built

_CHECKPOINT = 1
_IN_PLACE = 20 << 10
"""Up to how many bytes stand in the metadata itself, as in Flink (`execution.checkpointing.data-inline-threshold`)."""
_BUFFER = 1 << 20


def write_keyed(command: WriteKeyed, built: Built) -> None:
    """Write the keyed state of an operator anew, subtask by subtask, and the metadata that refers to it.

    An operator that the job does not have keeps its form. Raises OperatorFailed, and Flink's exceptions for metadata that it
    does not read.
    """
    metadata = _load(command.metadata, built.loader)
    state = next(
        one for one in metadata.getOperatorStates() if str(one.getOperatorID().toHexString()) == command.operator
    )
    operator = next((one for one in built.operators if command.operator in built.ids[one.node]), None)
    if operator is None:
        return
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
    _store(_as_savepoint(metadata, command.form), command.metadata)


def _written(
    operator: Configured, subtask: Java, max_parallelism: int, place: Subtask, command: WriteKeyed, loader: Java
) -> Java:
    """The handle of a subtask's keyed state as the backend writes it; None if there is no entry in it."""
    made = harness(operator, loader, max_parallelism, _backend_for(command.form)(), place)
    try:
        keyed_only = flink("runtime.checkpoint.OperatorSubtaskState").builder()
        made.initializeState(keyed_only.setManagedKeyedState(subtask.getManagedKeyedState()).build())
        open_operator(made, unconnected=operator.unconnected)  # what it declares, it writes with its own serializers
        now = int(java("java.lang.System").currentTimeMillis())
        backend = keyed_backend(operator_of(made))
        taker = _canonically(backend) if command.form == "canonical" else backend
        taken = taker.snapshot(_CHECKPOINT, now, _into_folder_of(command.metadata), _options(command.form))
        taken.run()
        return taken.get().getJobManagerOwnedSnapshot()
    finally:
        made.close()


def _into_folder_of(metadata: str) -> Java:
    """What writes state into the folder of a savepoint, whose metadata names its files by their names alone."""
    folder = flink("core.fs.Path")(metadata).getParent()
    files = flink("core.fs.local.LocalFileSystem").getSharedInstance()
    return flink("runtime.state.filesystem.FsCheckpointStreamFactory")(files, folder, folder, _IN_PLACE, _BUFFER)


def _backend_for(form: KeyedForm) -> Java:
    """The state backend that writes a form; the heap also reads what only classes can read."""
    return backend_of("hashmap" if form == "canonical" else form)


def _canonically(backend: Java) -> Java:
    """What takes the canonical savepoint of a backend (Flink: ``StreamOperatorStateHandler.snapshotState``)."""
    resources = backend.savepoint()
    return flink("runtime.state.SnapshotStrategyRunner")(
        "canonical savepoint",
        flink("runtime.state.SavepointSnapshotStrategy")(resources.getSnapshotResources()),
        flink("core.fs.CloseableRegistry")(),
        resources.getPreferredSnapshotExecutionType(),
    )


def _format(form: KeyedForm) -> Java:
    formats = flink("core.execution.SavepointFormatType")
    return formats.CANONICAL if form == "canonical" else formats.NATIVE


def _options(form: KeyedForm) -> Java:
    default = flink("runtime.state.CheckpointStorageLocationReference").getDefault()
    kind = flink("runtime.checkpoint.SavepointType").savepoint(_format(form))
    return flink("runtime.checkpoint.CheckpointOptions")(kind, default)


def _as_savepoint(metadata: Java, form: KeyedForm) -> Java:
    """The metadata of a savepoint that names its form."""
    properties = flink("runtime.checkpoint.CheckpointProperties").forSavepoint(False, _format(form))
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
