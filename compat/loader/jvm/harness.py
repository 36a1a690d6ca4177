"""One operator of a job in Flink's own test harness: the behaviour of a subtask before the first record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import jpype
from msgspec import Struct

from compat.loader.jvm.asking import declare
from compat.loader.jvm.bridge import FLINK, Java, class_name, described, flink, is_a, java, member, members, user_frames
from compat.loader.jvm.bridge import operator_of as held_by
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.libraries import CONNECTORS
from compat.loader.jvm.patience import Account, Patience, account_of
from compat.loader.jvm.pyflink.operators import runs_python
from compat.loader.jvm.unconnected import (
    FILE_WRITER,
    is_sink,
    open_flinks_part,
    replace_committer,
    replace_place,
    replace_writer,
)

T = TypeVar("T")
_MOST_STATE = (1 << 31) - 1
_MANAGED_MEMORY = 32 << 20
_KEYED_BACKEND = "runtime.state.AbstractKeyedStateBackend"
_ADAPTOR = "runtime.state.v2.adaptor.AsyncKeyedStateBackendAdaptor"
_WINDOWS = "streaming.runtime.operators.windowing.WindowOperator"
SOURCE = "streaming.api.operators.SourceOperatorFactory"
_SINK_OPERATORS = (
    "streaming.api.operators.StreamSink",
    "streaming.runtime.operators.GenericWriteAheadSink",
    FILE_WRITER,
)
_SINK_FUNCTIONS = (
    "streaming.api.functions.sink.SinkFunction",
    "streaming.api.functions.sink.legacy.SinkFunction",
)
_WITH_FUNCTION = "streaming.api.operators.AbstractUdfStreamOperator"
_LEGACY_SOURCE = "streaming.api.operators.StreamSource"
_SOURCE_FUNCTIONS = f"{FLINK}streaming.api.functions.source."
"""The packages of Flink's own source functions, none of which connects or commits when its position is restored."""


class OperatorFailed(Exception):
    """An operator that could not be set up, opened or restored; the message is Flink's, in one line.

    ``error`` is the exception of Java, None for a time-out.
    """

    def __init__(self, message: str, error: Java = None) -> None:
        super().__init__(message)
        self.error = error


class Bounds(Struct, frozen=True, kw_only=True):
    """The time limit of one operator, in seconds, and the class loader of the user's code."""

    loader: Java
    timeout: float


def bounded(work: Callable[[], T], bounds: Bounds, what: str) -> T:
    """The result of ``work``, done in a thread that is left behind when it takes too long. Raises OperatorFailed.

    The limit is for waiting: a computing operator gets more time, and time without a processor does not count.
    """
    result: list[T] = []
    failure: list[BaseException] = []
    started: list[Java] = []

    def run() -> None:
        thread = java("java.lang.Thread").currentThread()
        thread.setContextClassLoader(bounds.loader)
        started.append(thread)
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    patience = Patience(bounds.timeout, lambda: account_of(worker.native_id or 0) or Account(_worked(started)))
    worker.join(patience.tick)
    while worker.is_alive() and not patience.is_over():
        worker.join(patience.tick)
    if worker.is_alive():
        frames = list(user_frames(started[0].getStackTrace())) if started else []
        where = f", it was at {frames[0]}" if frames else ""
        raise OperatorFailed(f"{what} did not end within {patience}{where}")
    if failure:
        if isinstance(failure[0], jpype.JException):
            raise OperatorFailed(described(failure[0]), failure[0])
        raise failure[0]
    return result[0]


def _worked(started: list[Java]) -> float:
    """How many seconds a thread has had of a processor."""
    times = java("java.lang.management.ManagementFactory").getThreadMXBean()
    return max(int(times.getThreadCpuTime(started[0].getId())), 0) / 1e9 if started else 0.0


def operator_of(made: Java) -> Java:
    """The operator in a harness, whose own getter refuses those of several inputs (Flink: ``AbstractStreamOperatorV2``)."""
    return member(made, "operator")


def is_source(made: Java) -> bool:
    """True for a source in its harness: opening it connects to the outside world, and its states are there before that."""
    return is_a(made.getOperatorFactory(), SOURCE) or is_a(operator_of(made), _LEGACY_SOURCE)


def acts_on_values(operator: Configured, loader: Java) -> bool:
    """True for sources, and for sinks, which commit their restored state: values are not handed to them."""
    factory = operator.config.getStreamOperatorFactory(loader)
    held = held_by(factory)
    if is_a(held, _LEGACY_SOURCE):
        return not (class_name(held.getUserFunction()) or "").startswith(_SOURCE_FUNCTIONS)
    if is_a(factory, SOURCE) or is_a(held, *_SINK_OPERATORS) or is_sink(factory):
        return True
    return is_a(held, _WITH_FUNCTION) and is_a(held.getUserFunction(), *_SINK_FUNCTIONS)


def is_of_connector(operator: Configured, loader: Java) -> bool:
    """True for an operator whose function is a connector's own or a source of Flink's own, as it was published."""
    held = held_by(operator.config.getStreamOperatorFactory(loader))
    name = (class_name(held.getUserFunction()) or "") if is_a(held, _WITH_FUNCTION) else ""
    return name.startswith(_SOURCE_FUNCTIONS) or name.replace(".", "/").startswith(CONNECTORS)


class Subtask(Struct, frozen=True):
    """One of several subtasks of an operator: its number, and how many there are."""

    index: int
    parallelism: int


THE_ONLY_ONE = Subtask(0, 1)


def harness(
    operator: Configured, loader: Java, max_parallelism: int, backend: Java = None, subtask: Subtask = THE_ONLY_ONE
) -> Java:
    """An operator set up as a subtask of its vertex: with the configuration and factory that a task would get."""
    config = flink("streaming.api.graph.StreamConfig")(operator.config.getConfiguration().clone())
    config.setVertexNonChainedOutputs(java("java.util.ArrayList")())
    config.serializeAllConfigs()
    builder = flink("runtime.operators.testutils.MockEnvironmentBuilder")()
    builder.setTaskName("compat").setTaskConfiguration(config.getConfiguration()).setUserCodeClassLoader(loader)
    builder.setExecutionConfig(operator.execution)
    builder.setManagedMemorySize(_MANAGED_MEMORY).setMaxParallelism(max_parallelism)
    builder.setSubtaskIndex(subtask.index).setParallelism(subtask.parallelism)
    factory = config.getStreamOperatorFactory(loader)
    if operator.unconnected:
        replace_committer(factory)
    made = flink("streaming.util.AbstractStreamOperatorTestHarness")(factory, builder.build())
    if backend is not None:
        made.setStateBackend(backend)
    made.setCheckpointStorage(flink("runtime.state.storage.JobManagerCheckpointStorage")(_MOST_STATE))
    made.setup()
    if operator.unconnected:
        replace_writer(operator_of(made))
        replace_place(operator_of(made))
    return made


class FailedAtFirstRead(OperatorFailed):
    """An operator that was restored, but fails as soon as a record comes."""


def open_operator(made: Java, *, unconnected: bool = False) -> str | None:
    """Open an operator, and have it declare the states that wait for the first record: its trigger's, and the functions'.

    Gives the reason why it may keep more states. A source stays closed, because its reader would connect to the outside world.
    An operator that would start a Python process stays closed, too, and so does the function of an operator that is
    ``unconnected``: its states are read from its code.
    Raises FailedAtFirstRead.
    """
    operator = operator_of(made)
    if is_source(made) or runs_python(operator):
        return None
    if unconnected:
        open_flinks_part(made, operator)
    else:
        made.open()
    if is_a(operator, _WINDOWS):
        _declare_triggers_state(made, operator)
    try:
        return declare(operator, made.getExecutionConfig(), opened=not unconnected)
    except jpype.JException as error:
        raise FailedAtFirstRead(described(error), error) from error


def _declare_triggers_state(made: Java, operator: Java) -> None:
    window_serializer = member(operator, "windowSerializer")
    for descriptor in _descriptors(member(operator, "trigger")):
        descriptor.initializeSerializerUnlessSet(made.getExecutionConfig())
        operator.getKeyedStateBackend().getOrCreateKeyedState(window_serializer, descriptor)


def keyed_backend(operator: Java) -> Java:
    """The backend that keeps the keyed state of an open operator, that of an asynchronous one too; None if it has none."""
    backend = operator.getKeyedStateBackend() if hasattr(operator, "getKeyedStateBackend") else None
    if backend is None and hasattr(operator, "getAsyncKeyedStateBackend"):
        backend = operator.getAsyncKeyedStateBackend()
        if is_a(backend, _ADAPTOR):
            backend = member(backend, "keyedStateBackend")
    return backend if is_a(backend, _KEYED_BACKEND) else None


def _descriptors(trigger: Java) -> Iterator[Java]:
    """The state descriptors that a trigger and those within it hold."""
    for value in members(trigger):
        if is_a(value, "api.common.state.StateDescriptor"):
            yield value
        elif is_a(value, "streaming.api.windowing.triggers.Trigger"):
            yield from _descriptors(value)


def default_max_parallelism(operator: Configured) -> int:
    """The max parallelism of an operator's vertex: as configured, or derived from its parallelism by the scheduler."""
    vertex = operator.vertex
    configured = int(vertex.getMaxParallelism())
    if configured > 0:
        return configured
    assignment = flink("runtime.state.KeyGroupRangeAssignment")
    return int(assignment.computeDefaultMaxParallelism(max(int(vertex.getParallelism()), 1)))
