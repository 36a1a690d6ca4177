"""Processes that do the heavy work, so that the server's own process only passes bytes on.

Small and large bodies go to pools of their own: a check of ten thousand operators keeps none of ten waiting. A task that
takes too long or too much memory ends with its process, not with the server.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import TimeoutError as TookTooLong
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from compat.service import worker
from compat.service.settings import ServiceSettings

T = TypeVar("T")

MOST_WAITING = 256
"""Tasks that may wait for a process; beyond them a client is told to come again."""

TASKS_A_PROCESS = 20_000
"""After so many a process is replaced by a fresh one."""


class Busy(RuntimeError):
    """More tasks wait than the processes can take."""


class WorkFailed(RuntimeError):
    """A task that took more time or memory than it may."""


class Pools:
    """The processes of a server. Call :meth:`close` at the end."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        given = worker.WorkerSettings(
            settings.database, settings.database_timeout, settings.max_depth, settings.worker_memory
        )
        self._light = _pool(settings.workers, given)
        self._heavy = _pool(1, given)
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Tasks that were given and are not done."""
        return self._waiting

    async def start(self) -> None:
        """Start the processes, and wait until one of each kind is there."""
        await asyncio.gather(self.run(worker.ping, size=0), self.run(worker.ping, size=self._settings.heavy_body))

    async def run(self, function: Callable[..., T], *arguments: Any, size: int) -> T:
        """Call ``function`` in a process chosen by the ``size`` of its arguments in bytes; gives its result.

        Raises what it raises, WorkFailed if it took more than it may, Busy if too many wait.
        """
        if self._waiting >= MOST_WAITING:
            raise Busy("The server has more checks waiting than it can take. Try again in a few seconds.")
        pool = self._heavy if size >= self._settings.heavy_body else self._light
        timeout = self._settings.check_timeout
        self._waiting += 1
        try:
            future = pool.schedule(function, args=arguments, timeout=timeout)
            result: T = await asyncio.wrap_future(future)
        except (TookTooLong, TimeoutError):
            raise WorkFailed(f"This took longer than {timeout:g} seconds and was given up.") from None
        except (ProcessExpired, MemoryError):
            raise WorkFailed("This took more memory than it may and was given up.") from None
        finally:
            self._waiting -= 1
        return result

    def close(self) -> None:
        """End all processes."""
        for pool in (self._light, self._heavy):
            pool.stop()  # type: ignore[no-untyped-call]
        for pool in (self._light, self._heavy):
            pool.join()


def _pool(workers: int, given: worker.WorkerSettings) -> ProcessPool:
    return ProcessPool(
        max_workers=workers,
        max_tasks=TASKS_A_PROCESS,
        context=multiprocessing.get_context("spawn"),
        initializer=worker.start,
        initargs=[given],
    )
