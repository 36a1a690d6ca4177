"""Streams cut into windows. Flink: ``WindowedStream``, ``AllWindowedStream``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from compat.compiler.datastream import _build
from compat.compiler.datastream.beyond.windows import Evicting
from compat.compiler.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    NullByteKeySelector,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from compat.compiler.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from compat.compiler.datastream.window import Evictor, MergingWindowAssigner, Trigger, WindowAssigner
from compat.compiler.transformations.operators import Window, WindowCall
from compat.state.names import WINDOW_CONTENTS

if TYPE_CHECKING:
    from compat.compiler.datastream._keyed import KeyedStream
    from compat.compiler.datastream._stream import DataStream
    from compat.compiler.datastream.common.typeinfo import TypeInformation
    from compat.compiler.datastream.output_tag import OutputTag
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["WINDOW_STATE_NAME", "AllWindowedStream", "WindowedStream"]

WINDOW_STATE_NAME = WINDOW_CONTENTS


class _Windowed(Evicting):
    """The common part of windows on keyed streams and on whole streams."""

    _for_all: ClassVar[bool]
    _window_function: ClassVar[type]
    _process_function: ClassVar[type]

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._keyed_stream = keyed_stream
        self._window_assigner = window_assigner
        self._allowed_lateness = 0
        self._late_data_output_tag: OutputTag | None = None
        self._window_trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the records in the windows."""
        return self._keyed_stream._original_data_type_info  # type: ignore[no-any-return]

    def _reduce(self, reduce_function: Any, window_function: Any, output_type: TypeInformation | None) -> DataStream:
        self._check_window_function(window_function)
        if window_function is None and output_type is None:
            output_type = self.get_input_type()
        return self._window(
            WindowCall.REDUCE,
            window_function,
            reduce_function,
            ReducingStateDescriptor(WINDOW_STATE_NAME, reduce_function, self.get_input_type()),
            output_type,
        )

    def _aggregate(
        self,
        aggregate_function: Any,
        window_function: Any,
        accumulator_type: TypeInformation | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        self._check_window_function(window_function)
        return self._window(
            WindowCall.AGGREGATE,
            window_function,
            aggregate_function,
            AggregatingStateDescriptor(WINDOW_STATE_NAME, aggregate_function, _build.output_type_of(accumulator_type)),
            output_type,
        )

    def _contents(self, call: WindowCall, window_function: Any, output_type: TypeInformation | None) -> DataStream:
        return self._window(
            call,
            window_function,
            None,
            ListStateDescriptor(WINDOW_STATE_NAME, self.get_input_type()),
            output_type,
        )

    def _window(
        self,
        call: WindowCall,
        window_function: Any,
        pre_function: Any,
        state: StateDescriptor,
        output_type: TypeInformation | None,
    ) -> DataStream:
        """The operator: ``pre_function`` combines records as they come, ``window_function`` sees what is there."""
        environment = self.get_execution_environment()
        assigner = self._window_assigner
        trigger = self._window_trigger
        if trigger is None:
            trigger = self._window_trigger = assigner.get_default_trigger(environment)
        operator = Window(
            function=window_function,
            thread_mode=_build.in_thread_mode(environment),
            key_selector=self._keyed_stream._key_selector,
            call=call,
            for_all=self._for_all,
            combine=pre_function,
            assigner=assigner,
            trigger=trigger,
            allowed_lateness=self._allowed_lateness,
            late_data_output_tag=self._late_data_output_tag,
            state_descriptor=state,
            window_serializer=assigner.get_window_serializer(),
            evictor=self._evictor,
            input_type=self.get_input_type(),
        )
        functions = [function for function in (pre_function, window_function) if function is not None]
        shown = ", ".join(type(function).__name__ for function in functions)
        return self._keyed_stream._keyed_operator(
            type(assigner).__name__,
            operator,
            output_type,
            description=f"{'AllWindow' if self._for_all else 'Window'}({assigner}, {type(trigger).__name__}, {shown})",
        )

    def _check_window_function(self, function: Any) -> None:
        kinds = (self._window_function, self._process_function)
        if function is not None and not isinstance(function, kinds):
            raise TypeError(
                f"window_function is a {kinds[0].__name__} or a {kinds[1].__name__}, not {type(function).__name__}."
            )


class WindowedStream(_Windowed):
    """Windows for each key of a keyed stream."""

    _for_all = False
    _window_function = WindowFunction
    _process_function = ProcessWindowFunction

    def trigger(self, trigger: Trigger[Any, Any]) -> WindowedStream:
        """Set the trigger that decides when windows fire, instead of the assigner's default."""
        self._window_trigger = trigger
        return self

    def allowed_lateness(self, time_ms: int) -> WindowedStream:
        """Set how long a window is kept for late records after it fired."""
        self._allowed_lateness = time_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> WindowedStream:
        """Set the side output for records that come too late even for the allowed lateness."""
        self._late_data_output_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """One value a window, combined as records come; the window function sees it when the window fires."""
        return self._reduce(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """One accumulator a window."""
        return self._aggregate(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self,
        window_function: WindowFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The records that a window function makes of all records of a window."""
        return self._contents(WindowCall.APPLY, window_function, output_type)

    def process(
        self,
        process_window_function: ProcessWindowFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The records that a window function with a context makes of all records of a window."""
        return self._contents(WindowCall.PROCESS, process_window_function, output_type)


class AllWindowedStream(_Windowed):
    """Windows over all records of a stream: PyFlink gives all of them the same key."""

    _for_all = True
    _window_function = AllWindowFunction
    _process_function = ProcessAllWindowFunction

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(NullByteKeySelector()), window_assigner)

    def trigger(self, trigger: Trigger[Any, Any]) -> AllWindowedStream:
        """Set the trigger that decides when windows fire, instead of the assigner's default."""
        if isinstance(self._window_assigner, MergingWindowAssigner) and trigger.can_merge() is not True:
            raise TypeError(
                f"{type(self._window_assigner).__name__} merges windows, and {type(trigger).__name__} "
                "cannot be merged: use a trigger whose can_merge() is True."
            )
        self._window_trigger = trigger
        return self

    def allowed_lateness(self, time_ms: int) -> AllWindowedStream:
        """Set how long a window is kept for late records after it fired."""
        self._allowed_lateness = time_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> AllWindowedStream:
        """Set the side output for records that come too late even for the allowed lateness."""
        self._late_data_output_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """One value a window, combined as records come."""
        return self._reduce(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """One accumulator a window."""
        return self._aggregate(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: AllWindowFunction[Any, Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """The records that a window function makes of all records of a window."""
        return self._contents(WindowCall.APPLY, window_function, output_type)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The records that a window function with a context makes of all records of a window."""
        return self._contents(WindowCall.PROCESS, process_window_function, output_type)
