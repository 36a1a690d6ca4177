"""The contexts of window assigners, triggers, evictors and functions. Flink: ``WindowOperator.Context``,
``WindowContext``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.window import Trigger, WindowAssigner
from compat.compiler.datastream.window.evictors import Evictor
from compat.compiler.spark.operators.base import TaskRuntimeContext
from compat.compiler.spark.operators.metrics import MetricGroup
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.slots import VOID
from compat.state.descriptors import MapStateDescriptor, ValueStateDescriptor

if TYPE_CHECKING:
    from compat.compiler.spark.operators.windows import WindowOperator


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """The context of assigners."""

    def __init__(self, operator: WindowOperator) -> None:
        self._clock = operator.context.clock
        self._runtime = TaskRuntimeContext(operator.context, operator.backend)

    def get_current_processing_time(self) -> int:
        return self._clock()

    def get_runtime_context(self) -> Any:
        return self._runtime


class TriggerContext(Trigger.OnMergeContext):
    """The context of triggers; state and timers belong to the selected window."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._timers = operator.timers
        self.merged: list[Any] = []
        self.register_processing_time_timer = operator.timers.processing.register  # type: ignore[method-assign, assignment]
        self.register_event_time_timer = operator.timers.event.register  # type: ignore[method-assign, assignment]
        self.delete_processing_time_timer = operator.timers.processing.delete  # type: ignore[method-assign, assignment]
        self.delete_event_time_timer = operator.timers.event.delete  # type: ignore[method-assign, assignment]

    def get_current_processing_time(self) -> int:
        return self._timers.clock()

    def get_metric_group(self) -> Any:
        return MetricGroup(self._operator.context.metrics)

    def get_current_watermark(self) -> int:
        return self._timers.watermark

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self._operator.backend.cells(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        if isinstance(state_descriptor, (MapStateDescriptor, ValueStateDescriptor)):
            raise TypeError(f"State {state_descriptor.name!r} cannot be merged: a list or folded state can.")
        operator = self._operator
        into = operator.backend.slot
        namespace = operator.backend.namespace
        slots = [slot for window in self.merged if (slot := operator.slot_of(window)) != into]
        operator.backend.set_namespace(namespace)
        operator.backend.cells(state_descriptor).merge(slots, into)
        operator.backend.set_namespace(namespace)

    def register_processing_time_timer(self, time: int) -> None: ...

    def register_event_time_timer(self, time: int) -> None: ...

    def delete_processing_time_timer(self, time: int) -> None: ...

    def delete_event_time_timer(self, time: int) -> None: ...


class EvictorContext(Evictor.EvictorContext):
    """The context of evictors."""

    def __init__(self, operator: WindowOperator) -> None:
        self._timers = operator.timers

    def get_current_processing_time(self) -> int:
        return self._timers.clock()

    def get_current_watermark(self) -> int:
        return self._timers.watermark


class ProcessContext:
    """The context of process window functions."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def window(self) -> Any:
        """The window that fired."""
        return self._operator.window

    def current_processing_time(self) -> int:
        """The machine's time."""
        return self._operator.timers.clock()

    def current_watermark(self) -> int:
        """The present event time."""
        return self._operator.timers.watermark

    def window_state(self) -> Any:
        """The state of this key and window."""
        return _InNamespace(self._operator, window=True)

    def global_state(self) -> Any:
        """The state of this key over all its windows."""
        return _InNamespace(self._operator, window=False)


class _InNamespace:
    """A store whose states always belong to the window, or always to the key."""

    def __init__(self, operator: WindowOperator, window: bool) -> None:
        self._operator = operator
        self._window = window

    def get_state(self, descriptor: Any) -> Any:
        """The state of a descriptor, apart from those of the other store."""
        operator = self._operator
        if self._window and operator.merging is not None:
            raise RuntimeError("Windows that merge have no state of their own: use global_state() or other windows.")
        namespace = operator.encode_window(operator.window) if self._window else b""
        return _Bound(operator.backend, operator.backend.cells(descriptor), namespace)

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state


class WindowRuntimeContext(TaskRuntimeContext):
    """The runtime context of window functions: the state that they ask for belongs to the key, whatever window fires."""

    def get_state(self, state_descriptor: Any) -> Any:
        backend = self._state()
        return _Bound(backend, backend.cells(state_descriptor), VOID)

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state


class _Bound:
    """A state whose every call is made in one namespace."""

    def __init__(self, backend: KeyedBackend, cells: Any, namespace: bytes) -> None:
        self._backend, self._cells, self._namespace = backend, cells, namespace

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cells, name)
        backend = self._backend

        def call(*arguments: Any) -> Any:
            before = backend.namespace
            backend.set_namespace(self._namespace)
            try:
                return method(*arguments)
            finally:
                backend.set_namespace(before)

        return call

    def __iter__(self) -> Any:
        return iter(self.get() if hasattr(self._cells, "get") else self.keys())

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __contains__(self, key: Any) -> bool:
        return bool(self.contains(key))
