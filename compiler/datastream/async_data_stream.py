"""Asynchronous calls for each record. Flink: ``AsyncDataStream``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream import _build
from compat.compiler.datastream._stream import DataStream
from compat.compiler.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from compat.compiler.datastream.functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from compat.compiler.transformations.operators import AsyncWait

if TYPE_CHECKING:
    from compat.compiler.datastream.common.time import Time
    from compat.compiler.datastream.common.typeinfo import TypeInformation

_IS_COROUTINE = 0x80
"""The flag of a code object that comes from ``async def`` (``inspect.CO_COROUTINE``)."""


class AsyncDataStream:
    """Puts an operator behind a stream that calls an asynchronous function for up to ``capacity`` records at once."""

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Answers in the order in which they come."""
        return AsyncDataStream.unordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Answers in the order in which they come, with more than one try."""
        mode = AsyncFunctionDescriptor.OutputMode.UNORDERED
        return _wait(
            data_stream,
            AsyncFunctionDescriptor(async_function, timeout, capacity, async_retry_strategy, mode),
            output_type,
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Answers in the order of the records."""
        return AsyncDataStream.ordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Answers in the order of the records, with more than one try."""
        mode = AsyncFunctionDescriptor.OutputMode.ORDERED
        return _wait(
            data_stream,
            AsyncFunctionDescriptor(async_function, timeout, capacity, async_retry_strategy, mode),
            output_type,
        )


def _wait(stream: DataStream, call: AsyncFunctionDescriptor, output_type: Any) -> DataStream:
    _validate(stream, call)
    return stream._python(
        "async wait operator",
        AsyncWait,
        call.async_function,
        output_type,
        timeout=call.timeout,
        capacity=call.capacity,
        retry_strategy=call.async_retry_strategy,
        ordered=call.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED,
    )


def _validate(stream: DataStream, call: AsyncFunctionDescriptor) -> None:
    function = call.async_function
    code = getattr(getattr(function, "async_invoke", None), "__code__", None)
    if code is None or not code.co_flags & _IS_COROUTINE:
        raise TypeError(f"async_invoke of {type(function).__name__} must be declared with 'async def'.")
    strategy = call.async_retry_strategy
    if strategy is None:
        raise TypeError("An asynchronous call needs a retry strategy: AsyncRetryStrategy.no_restart() for one try.")
    if strategy is not NO_RETRY_STRATEGY and call.timeout.to_milliseconds() <= 0:
        raise ValueError("An asynchronous call with retries needs a timeout greater than zero.")
    if strategy.get_retry_predicate() is None:
        raise ValueError(f"The retry strategy {type(strategy).__name__} has no retry predicate.")
    if _build.in_thread_mode(stream.get_execution_environment()):
        raise ValueError("Asynchronous functions do not work with python.execution-mode 'thread'.")
