"""Conditions for another try of an asynchronous call. Flink: ``RetryPredicates``."""

from __future__ import annotations

from typing import Any


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Try again when the call gave nothing."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Try again when the call failed."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Try again when the call failed with that kind of error."""
    return isinstance(error, expected_error_type)
