"""JVMs that stay while several programs are built with the same Flink: a start costs more than a small program."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.loader.jvm.process import JvmProcess, Setup

_LASTS = 100
"""After so many programs a JVM is ended: what they leave in it is never given back."""


class WarmJvms:
    """The JVMs that wait for a next program. They end with the ``with`` block."""

    def __init__(self) -> None:
        self._waiting: list[JvmProcess] = []

    def __enter__(self) -> WarmJvms:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for jvm in self._waiting:
                stack.callback(jvm.close if kind is None else jvm.end)

    def take(self, setup: Setup) -> JvmProcess | None:
        """One set up in this way, which nobody else has then; None where none waits."""
        for place, jvm in enumerate(self._waiting):
            if jvm.setup == setup and jvm.alive:
                del self._waiting[place]
                return jvm
        return None

    def give_back(self, jvm: JvmProcess) -> None:
        """Let one wait for its next program; one that has had many, or that a program ended, is ended."""
        if jvm.alive and jvm.builds < _LASTS:
            self._waiting.append(jvm)
        else:
            jvm.close()
