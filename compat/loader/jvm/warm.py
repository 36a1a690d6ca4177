"""JVMs that are reused for several programs with the same Flink: a start costs more than a small program."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.loader.jvm.process import JvmProcess, Setup

_LASTS = 100
"""The number of programs after which a JVM is ended, as their leftovers in it are never freed."""


class WarmJvms:
    """A JVM for each way to set one up. They end with the ``with`` block.

    Both versions of a job are built in one: the second costs a tenth of the first, and less than it takes to start another.
    """

    def __init__(self) -> None:
        self._jvms: list[JvmProcess] = []

    def __enter__(self) -> WarmJvms:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for jvm in self._jvms:
                stack.callback(jvm.close if kind is None else jvm.end)

    def take(self, setup: Setup) -> JvmProcess:
        """The JVM that is set up in this way and takes programs; a new one where there is none."""
        for jvm in self._jvms:
            if jvm.setup == setup and jvm.alive and jvm.builds < _LASTS:
                return jvm
        return self.start(setup)

    def start(self, setup: Setup) -> JvmProcess:
        """A JVM in which no program ran, which takes the next ones too."""
        from compat.loader.jvm.process import JvmProcess

        self._drop([jvm for jvm in self._jvms if jvm.setup == setup])
        self._jvms.append(JvmProcess(setup))
        return self._jvms[-1]

    def _drop(self, jvms: list[JvmProcess]) -> None:
        for jvm in jvms:
            jvm.close()
            self._jvms.remove(jvm)
