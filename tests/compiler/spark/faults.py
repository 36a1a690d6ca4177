"""Faults at a chosen call, in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """The driver is gone."""


def failing(
    real: Callable[..., Any], call: int, after: bool, error: BaseException, *, for_good: bool = False
) -> Callable[..., Any]:
    """``real``, but with ``error`` at one call, or from then on; before or after the work is done."""
    calls = itertools.count(1)

    def fail(*arguments: Any, **named: Any) -> Any:
        now = next(calls)
        hit = now == call or (for_good and now > call)
        if hit and not after:
            raise error
        result = real(*arguments, **named)
        if hit:
            raise error
        return result

    return fail
