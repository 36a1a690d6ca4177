"""Processes for the heavy work, so that the server's own process only passes bytes on.

Each size of work has its own lane of processes with a queue, so that a check of ten operators does not wait for one of ten
thousand. One more lane reads files that others write. In a lane clients take turns: a client that sends more waits longer, and
no client can fill the lane. Work of a client that left is dropped. A task that takes too long or too much memory ends with its
process, not with the server. All processes end with the server, however it ends.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from compat.service import worker
from compat.service.settings import ServiceSettings
from compat.service.shares import OURSELVES, Client, Shares

T = TypeVar("T")

MOST_WAITING = 512
"""The maximum tasks of a lane; beyond them, a client is told to try again later."""

TASKS_A_PROCESS = 20_000
"""The number of tasks after which a process is replaced by a fresh one."""

GRACE = 2.0
"""The seconds for which work goes on when its result is no longer wanted: a process takes longer than that to start."""


class Busy(RuntimeError):
    """More tasks wait than the processes can take."""


class WorkFailed(RuntimeError):
    """A task that exceeded its time or memory."""


class Size(Enum):
    """The sizes of work, by the bytes it is about, and work on files of others."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    FILES = "files"


_TASKS = {Size.SMALL: MOST_WAITING, Size.MEDIUM: 64, Size.LARGE: 16, Size.FILES: 64}
"""Tasks that a lane takes; half of them, a quarter in the lane for the largest, of one client."""


class Pools:
    """The processes of a server. Call :meth:`close` at the end."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        given = worker.WorkerSettings(
            settings.database, settings.database_timeout, settings.max_depth, settings.worker_memory
        )
        processes = {Size.SMALL: settings.workers, Size.MEDIUM: max(1, settings.workers // 2)}
        self._lanes = {size: _Lane(processes.get(size, 1), given, _TASKS[size], size is Size.LARGE) for size in Size}

    @property
    def waiting(self) -> int:
        """The number of tasks that are not done yet."""
        return sum(lane.shares.total for lane in self._lanes.values())

    def size_of(self, bytes: int) -> Size:
        """The size of work on so many bytes."""
        if bytes < self._settings.heavy_body:
            return Size.SMALL
        return Size.MEDIUM if bytes < self._settings.huge_body else Size.LARGE

    async def start(self) -> None:
        """Start the processes for small work, and wait for the first one; others start when they are needed."""
        await self.run(worker.ping, size=0)

    async def run(
        self,
        function: Callable[..., T],
        *arguments: Any,
        size: int | Size,
        client: Client = OURSELVES,
        timeout: float | None = None,
    ) -> T:
        """Call ``function`` in a process for work on ``size`` bytes; gives its result.

        Raises the errors of the work; WorkFailed if it took too much memory, or longer than ``timeout`` seconds (by default the
        limit of checks); Busy if too many wait. If this is cancelled, waiting work is dropped, and running work ends soon.
        """
        lane = self._lanes[size if isinstance(size, Size) else self.size_of(size)]
        seconds = self._settings.check_timeout if timeout is None else timeout
        result: T = await lane.run(_Task(function, arguments, seconds), client)
        return result

    def close(self) -> None:
        """End all processes."""
        for lane in self._lanes.values():
            lane.stop()
        for lane in self._lanes.values():
            lane.join()


@dataclass(eq=False, slots=True)
class _Task:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout: float
    turn: asyncio.Future[None] | None = None


class _Lane:
    """Processes for one size of work, and who waits for them. Clients take turns."""

    def __init__(self, processes: int, given: worker.WorkerSettings, most: int, narrow: bool) -> None:
        self._processes = processes
        self._given = given
        self._pool: ProcessPool | None = None
        self._free = processes
        self._queues: OrderedDict[Client, deque[_Task]] = OrderedDict()
        self.shares = Shares(most, most // (4 if narrow else 2))

    async def run(self, task: _Task, client: Client) -> Any:
        if self.shares.total >= MOST_WAITING or not self.shares.take(client):
            raise Busy("The server has more checks waiting than it can take. Try again in a few seconds.")
        try:
            await self._wait(task, client)
        except BaseException:
            self.shares.give(client)
            raise
        try:
            future = self._schedule(task)
        except BaseException:
            self._done(client)
            raise
        future.add_done_callback(_released(asyncio.get_running_loop(), lambda: self._done(client)))
        outcome = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(outcome)
        except asyncio.CancelledError:
            outcome.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody asks for it any more
            asyncio.get_running_loop().call_later(GRACE, future.cancel)
            raise
        except (TookTooLong, TimeoutError):
            raise WorkFailed(f"This took longer than {task.timeout:g} seconds and was given up.") from None
        except (ProcessExpired, MemoryError):
            raise WorkFailed("This took more memory than it may and was given up.") from None

    async def _wait(self, task: _Task, client: Client) -> None:
        """Return when it is the task's turn: a process is free for it."""
        if self._free and not self._queues:
            self._free -= 1
            return
        task.turn = asyncio.get_running_loop().create_future()
        queue = self._queues.setdefault(client, deque())
        queue.append(task)
        try:
            await task.turn
        except asyncio.CancelledError:
            if task in queue:
                queue.remove(task)
                if not queue and self._queues.get(client) is queue:
                    del self._queues[client]
            elif not task.turn.cancelled():  # its turn came at this very moment
                self._next()
            raise

    def _done(self, client: Client) -> None:
        self.shares.give(client)
        self._next()

    def _next(self) -> None:
        """A process is free: give it to the client whose turn it is."""
        while self._queues:
            client, queue = self._queues.popitem(last=False)
            task = queue.popleft()
            if queue:
                self._queues[client] = queue
            assert task.turn is not None
            if not task.turn.cancelled():  # or its client left a moment ago
                task.turn.set_result(None)
                return
        self._free += 1

    def _schedule(self, task: _Task) -> ProcessFuture[Any]:
        if self._pool is None:
            self._pool = ProcessPool(
                max_workers=self._processes,
                max_tasks=TASKS_A_PROCESS,
                context=multiprocessing.get_context("spawn"),
                initializer=worker.start,
                initargs=[self._given],
            )
        return self._pool.schedule(task.function, args=task.arguments, timeout=task.timeout)

    def stop(self) -> None:
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]

    def join(self) -> None:
        if self._pool is not None:
            self._pool.join()


def _released(loop: asyncio.AbstractEventLoop, done: Callable[[], None]) -> Callable[[Any], None]:
    """A callback for another thread that has ``done`` called in the loop, if that still runs."""

    def callback(_: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server ends
            loop.call_soon_threadsafe(done)

    return callback
