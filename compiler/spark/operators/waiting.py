"""Asynchronous functions. Flink: ``AsyncWaitOperator``."""

from __future__ import annotations

import asyncio
from itertools import repeat
from typing import Any

from compat.compiler.spark.operators.base import Emitter
from compat.compiler.spark.operators.stateless import FunctionOperator
from compat.compiler.spark.runtime_api.elements import Timestamps, Values
from compat.compiler.transformations.operators import AsyncWait
from compat.state.time import milliseconds_of


class AsyncWaitOperator(FunctionOperator[AsyncWait]):
    """Calls for up to ``capacity`` records at once; all answers are there before the barrier."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        emitter = Emitter(self.output)
        for results, time in asyncio.run(self._all(values, timestamps)):
            emitter.take(results, time)
        emitter.flush()

    async def _all(self, values: Values, timestamps: Timestamps) -> list[tuple[Any, int | None]]:
        ordered = self.operator.ordered
        free = asyncio.Semaphore(self.operator.capacity)
        answers: list[tuple[Any, int | None]] = []

        async def one(value: Any, time: int | None) -> tuple[Any, int | None]:
            async with free:
                answer = (await self._ask(value), time)
            if not ordered:
                answers.append(answer)
            return answer

        calls = [one(value, time) for value, time in zip(values, timestamps or repeat(None), strict=False)]
        gathered = await asyncio.gather(*calls)
        return list(gathered) if ordered else answers

    async def _ask(self, value: Any) -> Any:
        timeout = milliseconds_of(self.operator.timeout) / 1000
        try:
            if timeout <= 0:
                return await self._with_retries(value)
            return await asyncio.wait_for(self._with_retries(value), timeout)
        except TimeoutError:
            try:
                return self.function.timeout(value)
            except Exception as error:
                self.fail(value, error)
        except Exception as error:
            self.fail(value, error)

    async def _with_retries(self, value: Any) -> Any:
        strategy = self.operator.retry_strategy
        predicate = strategy.get_retry_predicate()
        bad_result, bad_error = predicate.result_predicate(), predicate.exception_predicate()
        attempts = 1
        while True:
            try:
                result = await self.function.async_invoke(value)
                if bad_result is None or not bad_result(result) or not strategy.can_retry(attempts):
                    return result
            except Exception as error:
                if bad_error is None or not bad_error(error) or not strategy.can_retry(attempts):
                    raise
            await asyncio.sleep(strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1
