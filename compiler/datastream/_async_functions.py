"""Functions that wait for other systems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from compat.compiler.datastream._function import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """The conditions for another try of a call. Flink: ``AsyncRetryPredicate``."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """True for results that call for another try; or None."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """True for errors that call for another try; or None."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """The rule for further tries of a call. Flink: ``AsyncRetryStrategy``. Times are milliseconds."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """True if there may be another try after this many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The pause before the next try."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """The predicates for another try."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """A single try."""
        from compat.compiler.datastream.async_retry_strategies import NO_RETRY_STRATEGY

        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[Any]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[Any]:
        """The same pause before each try."""
        from compat.compiler.datastream.async_retry_strategies import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[Any]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[Any]:
        """Growing pauses between tries."""
        from compat.compiler.datastream.async_retry_strategies import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class AsyncFunction(Function, Generic[IN, OUT]):
    """Asks another system about each record without waiting for one before asking about the next."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The records to emit for ``value``."""

    def timeout(self, value: IN) -> list[OUT]:
        """The records to emit when there is no answer in time; by default an error."""
        raise TimeoutError(f"There was no answer in time for the record {value!r}.")


class AsyncFunctionDescriptor:
    """An asynchronous function with the way it is called."""

    class OutputMode(Enum):
        """ORDERED keeps the order of the records, UNORDERED emits answers as they come."""

        ORDERED = 0
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Any,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode
