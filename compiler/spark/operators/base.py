"""The parts that every operator has. Flink: ``AbstractStreamOperator``, ``Output``, ``StreamingRuntimeContext``."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from compat.compiler.datastream.functions import RuntimeContext
from compat.compiler.datastream.output_tag import OutputTag
from compat.compiler.spark.environment import DistributedCache
from compat.compiler.spark.operators.metrics import MetricGroup, Metrics
from compat.compiler.spark.plan import OperatorSpec
from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP, Consumer, LatencyMarker, Timestamps, Values
from compat.compiler.spark.runtime_api.published import Published
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.state.panes import Panes
from compat.compiler.spark.state.sessions import Sessions
from compat.compiler.spark.state.timers import InternalTimers
from compat.compiler.transformations.operators import Operator
from compat.state.serializers import dump

_IMMUTABLE = (str, int, float, bool, bytes, type(None))


class UserFunctionError(Exception):
    """The program's own code failed: ``operator`` names the operator and ``record`` shows what it was given."""

    def __init__(self, operator: str, record: str | None, cause: str) -> None:
        super().__init__(operator, record, cause)
        self.operator, self.record, self.cause = operator, record, cause

    def __str__(self) -> str:
        given = "" if self.record is None else f"\nThe record: {self.record}"
        return f"Operator {self.operator!r} failed.{given}\n{self.cause}"


@dataclass(slots=True)
class Opened:
    """The objects that open functions were given and hold on to: they serve later epochs, as the functions do."""

    backend: KeyedBackend | None = None
    timers: InternalTimers | None = None
    panes: Panes | None = None
    sessions: Sessions | None = None
    runtime: TaskRuntimeContext | None = None


@dataclass(slots=True)
class OperatorContext:
    """The context that an operator is given by its task. ``watermark`` is the one that it had reached in the epoch before.

    ``opened`` says whether its functions were opened in an earlier epoch, and with what.
    """

    spec: OperatorSpec
    task_name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    epoch: int
    attempt: int
    memory: Memory
    clock: Callable[[], int]
    options: Mapping[str, str]
    restored: Any = None
    watermark: int = MIN_TIMESTAMP
    floor: int = MIN_TIMESTAMP
    described: Mapping[str, Any] = field(default_factory=dict)
    batch: bool = False
    store: str = ""
    job_id: str = ""
    cached: Mapping[str, str] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)
    opened: Opened = field(default_factory=Opened)


class Output:
    """The destinations of an operator's records: the main stream, and side outputs by tag.

    If it is not ``tagged``, pairs with a tag are records of the main stream.
    """

    def __init__(self, *, tagged: bool = True) -> None:
        self.tagged = tagged
        self.main: list[Consumer] = []
        self.side: dict[str, list[Consumer]] = {}

    def records(self, values: Values, timestamps: Timestamps) -> None:
        """Emit records to the main stream."""
        if values:
            _give(self.main, values, timestamps)

    def keyed(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Emit records with their keys to the main stream."""
        if not values:
            return
        for consumer in self.main[:-1]:
            consumer.keyed(*_twins(keys, values), timestamps)
        for consumer in self.main[-1:]:
            consumer.keyed(keys, values, timestamps)

    def to_side(self, tag: str, values: Values, timestamps: Timestamps) -> None:
        """Emit records under a tag; does nothing if the tag has no reader."""
        if values and tag in self.side:
            _give(self.side[tag], values, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Emit a watermark to everything."""
        for consumer in self._all():
            consumer.watermark(timestamp)

    def status(self, idle: bool) -> None:
        """Emit a watermark status to everything."""
        for consumer in self._all():
            consumer.status(idle)

    def latency(self, marker: LatencyMarker) -> None:
        """Emit a latency marker to the main stream."""
        for consumer in self.main:
            consumer.latency(marker)

    def _all(self) -> list[Consumer]:
        return [*self.main, *(each for consumers in self.side.values() for each in consumers)]


def _give(consumers: list[Consumer], values: Values, timestamps: Timestamps) -> None:
    for number, consumer in enumerate(consumers):
        # One reader must not see another one's changes to a mutable record.
        last = number == len(consumers) - 1
        consumer.records(values if last or all(map(_immutable, values)) else pickle.loads(dump(values)), timestamps)


def _twins(keys: Values, values: Values) -> tuple[Values, Values]:
    if all(map(_immutable, keys)) and all(map(_immutable, values)):
        return keys, values
    return pickle.loads(dump((keys, values)))  # type: ignore[no-any-return]


def _immutable(value: Any) -> bool:
    return isinstance(value, _IMMUTABLE) or (type(value) is tuple and all(map(_immutable, value)))


class StreamOperator:
    """An operator in a task: initialize_state, open, records and watermarks, finish, snapshot_state, close."""

    published: Sequence[Published] = ()
    """The output that leaves the job with the epoch."""

    def __init__(self, context: OperatorContext, output: Output) -> None:
        self.context = context
        self.output = output
        self.watermark_now = context.watermark

    def initialize_state(self) -> None:
        """Prepare the state, before :meth:`open`."""

    def open(self) -> None:
        """Prepare for the first record."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        """Process records of an input."""
        raise NotImplementedError

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Process records of an input with their keys."""
        self.process(input, list(zip(keys, values, strict=True)), timestamps)

    def process_watermark(self, timestamp: int) -> None:
        """Handle the growth of the watermark over all inputs."""
        self.watermark_now = timestamp
        self.output.watermark(timestamp)

    def process_status(self, idle: bool) -> None:
        """Handle the change to idle of all inputs, or to active of one."""
        self.output.status(idle)

    def process_latency(self, marker: LatencyMarker) -> None:
        """Pass a latency marker on; the last operator notes how long it travelled."""
        if self.context.spec.outputs:
            self.output.latency(marker)
        else:
            self.context.metrics.distribution("latency").update(self.context.clock() - marker.marked)

    def advance_processing_time(self, now: int) -> None:
        """Fire the timers that are due by the clock."""

    def next_timer(self) -> int | None:
        """The time at which :meth:`advance_processing_time` is next needed; None for never."""
        return None

    def finish(self) -> None:
        """Handle the end of all input."""

    def snapshot_state(self, changes: Changes) -> Any:
        """Add changed state; what is returned is handed back as ``context.restored`` in the next epoch."""
        return None

    def describe_states(self) -> list[dict[str, Any]]:
        """The states as plain data."""
        return []

    def close(self) -> None:
        """Close the functions: the task ends or fails, after the last record of the last epoch."""

    def fail(self, record: Any, error: BaseException) -> NoReturn:
        """Raise an error with the operator that failed, and the record."""
        raise user_error(self.context.spec.name, record, error) from error


def user_error(operator: str, record: Any, error: BaseException) -> UserFunctionError:
    """The failure of the program's own code, with its traceback cut to the program's frames."""
    import traceback

    from compat.compiler.own_code import is_our_file

    if isinstance(error, UserFunctionError):
        return error
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_our_file(frame.filename)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    text = "".join([*lines, *traceback.format_exception_only(type(error), error)]).rstrip()
    return UserFunctionError(operator, None if record is NO_RECORD else repr(record)[:1000], text)


NO_RECORD = object()


class TaskRuntimeContext(RuntimeContext):
    """The runtime context of functions (Flink: ``StreamingRuntimeContext``); keyed state comes from ``backend``, if any."""

    def __init__(self, context: OperatorContext, backend: KeyedBackend | None) -> None:
        self._context = context
        self._backend = backend

    def move_to(self, context: OperatorContext) -> None:
        """Take over the values of a later epoch."""
        self._context = context

    def get_task_name(self) -> str:
        return self._context.spec.name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._context.subtask

    def get_attempt_number(self) -> int:
        return self._context.attempt

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._context.task_name} ({self._context.subtask + 1}/{self._context.parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._context.options.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return MetricGroup(self._context.metrics)

    def get_distributed_cache(self) -> DistributedCache:
        return DistributedCache(self._context.cached)

    def _state(self) -> KeyedBackend:
        if self._backend is None:
            raise RuntimeError(
                f"Keyed state can only be used on a keyed stream: call key_by(…) before {self._context.spec.name!r}."
            )
        return self._backend

    def get_state(self, state_descriptor: Any) -> Any:
        return self._state().cells(state_descriptor)

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state


def call_of(function: Any, method: str) -> Callable[..., Any]:
    """The method of a function object, or the plain function itself."""
    found = getattr(function, method, None)
    return found if found is not None else function  # type: ignore[no-any-return]


def open_functions(operator: Operator, context: OperatorContext, make: Callable[[], TaskRuntimeContext]) -> None:
    """Call ``open`` of an operator's function objects with what ``make`` gives, unless an earlier epoch did."""
    if context.opened.runtime is not None:
        context.opened.runtime.move_to(context)
        return
    runtime = context.opened.runtime = make()
    for function in operator.functions:
        if hasattr(function, "open"):
            function.open(runtime)


def close_functions(operator: Operator) -> None:
    """Call ``close`` of an operator's function objects."""
    for function in operator.functions:
        if hasattr(function, "close"):
            function.close()


class Emitter:
    """Collects what functions yield, and sends it in order: main and side outputs apart."""

    __slots__ = ("_output", "_side", "times", "values")

    def __init__(self, output: Output) -> None:
        self._output = output
        self._side: dict[str, tuple[Values, list[int | None]]] = {}
        self.values: Values = []
        self.times: list[int | None] = []

    def take(self, results: Iterable[Any] | None, timestamp: int | None) -> None:
        """Emit the results of a call; a result (tag, value) goes to the side output.

        If no side output of the operator is read at all, it is a record like any other, as in PyFlink.
        """
        if results is None:
            return
        tagged = self._output.tagged
        for result in results:
            if tagged and type(result) is tuple and result and type(result[0]) is OutputTag:
                self.to_side(result[0].tag_id, result[1], timestamp)
            else:
                self.values.append(result)
                self.times.append(timestamp)

    def one(self, result: Any, timestamp: int | None) -> None:
        """Emit one record."""
        self.values.append(result)
        self.times.append(timestamp)

    def to_side(self, tag: str, result: Any, timestamp: int | None) -> None:
        """Emit one record under a tag."""
        values, times = self._side.setdefault(tag, ([], []))
        values.append(result)
        times.append(timestamp)

    def flush(self) -> None:
        """Send the collected records."""
        if self.values:
            values, times = self.values, self.times
            self.values, self.times = [], []
            self._output.records(values, _known(times))
        if self._side:
            side, self._side = self._side, {}
            for tag, (values, times) in side.items():
                self._output.to_side(tag, values, _known(times))


def _known(times: list[int | None]) -> Timestamps:
    return None if times.count(None) == len(times) else times
