"""A result that may not be there yet. Flink: ``CompletableFuture`` of Java."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CompletableFuture"]


class CompletableFuture:
    """The result of a job client's call. Here ``compute`` makes it when it is first asked for."""

    def __init__(self, compute: Callable[[], Any], py_class: Callable[[Any], Any] | None = None) -> None:
        self._compute = compute
        self._py_class = py_class
        self._done = False
        self._cancelled = False
        self._value: Any = None
        self._error: Exception | None = None

    @classmethod
    def completed(cls, value: Any) -> CompletableFuture:
        """A future whose result is known."""
        future = cls(lambda: value)
        future._resolve()
        return future

    def cancel(self) -> bool:
        """Cancel the call; True if there was no result yet."""
        if self._done:
            return False
        self._done = self._cancelled = True
        self._error = RuntimeError("The future was cancelled.")
        return True

    def cancelled(self) -> bool:
        """True after a successful :meth:`cancel`."""
        return self._cancelled

    def done(self) -> bool:
        """True when there is a result or an error."""
        return self._done

    def result(self) -> Any:
        """The result; raises the error if the call failed."""
        self._resolve()
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self) -> Exception | None:
        """The exception that the call ended with, or None."""
        return self._error if self._done else None

    def _resolve(self) -> None:
        if self._done:
            return
        try:
            value = self._compute()
            self._value = value if self._py_class is None else self._py_class(value)
        except Exception as error:
            self._error = error
        self._done = True

    def __str__(self) -> str:
        return f"CompletableFuture({'completed' if self._done else 'not completed'})"
