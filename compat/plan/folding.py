"""The code that folds new values into a state."""

from __future__ import annotations

from typing import Any

from compat.plan.made import digest, values_of
from compat.plan.reached import Reached
from compat.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor
from compat.state.model.code import Captured, UserCode

_FOLDS = ("create_accumulator", "add", "merge")
"""What makes an accumulator of values: the result that is made of one is not kept."""


def fold_of(descriptor: StateDescriptor) -> UserCode | None:
    """The function of a reducing or an aggregating state; None for others."""
    if isinstance(descriptor, ReducingStateDescriptor):
        function = descriptor.get_reduce_function()
        function = getattr(function, "function", function)
        return _code(function, [getattr(function, "reduce", function)])
    if isinstance(descriptor, AggregatingStateDescriptor):
        function = descriptor.get_agg_function()
        return _code(function, [getattr(function, name) for name in _FOLDS if hasattr(function, name)])
    return None


def _code(function: Any, methods: list[Any]) -> UserCode:
    return UserCode(
        name=getattr(function, "__qualname__", type(function).__qualname__),
        digest=digest([Reached(one).text for one in methods]),
        captured=tuple(Captured(name=name, digest=value) for name, value in values_of(function).items()),
    )
