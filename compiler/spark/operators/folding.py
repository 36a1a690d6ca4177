"""Folds records into one value, as reduce and aggregate do in windows. Flink: ``ReduceApplyWindowFunction`` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from compat.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor


class Folding(Struct, frozen=True):
    """``fold`` makes one of what a window has of a key, and a value.

    If it ``reduces``, the first value of a window is its content. ``result`` makes the input of the window function from the
    content; None if they are the same.
    """

    reduces: bool
    fold: Callable[[Any, Any], Any]
    result: Callable[[Any], Any] | None = None

    @staticmethod
    def of(descriptor: StateDescriptor) -> Folding | None:
        """The folding of a state; None for one that keeps the records."""
        if isinstance(descriptor, ReducingStateDescriptor):
            return Folding(True, descriptor.get_reduce_function().reduce)
        if not isinstance(descriptor, AggregatingStateDescriptor):
            return None
        function = descriptor.get_agg_function()
        add, create = function.add, function.create_accumulator

        def fold(present: Any, value: Any) -> Any:
            return None if value is None else add(value, create() if present is None else present)

        return Folding(False, fold, function.get_result)


def folded(descriptor: StateDescriptor, values: list[Any]) -> list[Any]:
    """The values that the window function sees behind an evictor: reduced or aggregated only now."""
    if not values:
        return values
    if isinstance(descriptor, ReducingStateDescriptor):
        reduce = descriptor.get_reduce_function().reduce
        total = values[0]
        for value in values[1:]:
            total = reduce(total, value)
        return [total]
    assert isinstance(descriptor, AggregatingStateDescriptor)
    function = descriptor.get_agg_function()
    accumulator = function.create_accumulator()
    for value in values:
        accumulator = function.add(value, accumulator)
    return [function.get_result(accumulator)]
