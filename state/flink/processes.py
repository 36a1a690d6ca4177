"""Work that is divided among several processes of this machine, where one would take too long."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Generic, NamedTuple, TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")

_PATIENCE = 5.0
"""Seconds that a process has to end what it started."""


class ProcessDied(Exception):
    """A process ended before its work was done; ``code`` is its exit code, negative for a signal."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(f"a process ended with {code}")


class Done(NamedTuple, Generic[Task, Result]):
    """A task, and its result."""

    task: Task
    result: Result


class _Failed(NamedTuple):
    error: Exception


def in_processes(work: Callable[[Task], Result], tasks: Sequence[Task], processes: int) -> Iterator[Done[Task, Result]]:
    """The results of all tasks, as they come in. With one process, or one task, this process does the work itself.

    ``work``, tasks and results are pickled. The processes end with this one. The first error of a task is raised here, and ends
    them all. Raises ProcessDied if one of them is killed.
    """
    number = min(processes, len(tasks))
    if number <= 1:
        yield from (Done(task, work(task)) for task in tasks)
        return
    with ExitStack() as stack:
        crew = {}
        for first in range(number):
            worker = _Worker(work, tasks[first::number])
            stack.callback(worker.end)
            crew[worker.answers] = worker
        while crew:
            for answers in wait(list(crew)):
                worker = crew[cast("Connection", answers)]
                yield worker.answer()
                if not worker.left:
                    del crew[worker.answers]


class _Worker(Generic[Task, Result]):
    """A process with its share of the tasks, which it does in their order."""

    def __init__(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> None:
        context = get_context("spawn")  # a fork would have the locks of this process's threads, but not the threads
        self.left = list(tasks)
        self.answers, answers = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(target=_work, args=(work, self.left, answers), daemon=False)
        self._process.start()
        answers.close()

    def answer(self) -> Done[Task, Result]:
        """The result of the next task. Raises its error, and ProcessDied."""
        try:
            answer: Result | _Failed = self.answers.recv()
        except EOFError:
            self._process.join(_PATIENCE)
            raise ProcessDied(self._process.exitcode) from None
        if isinstance(answer, _Failed):
            raise answer.error
        return Done(self.left.pop(0), answer)

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.terminate()
        self._process.join(_PATIENCE)
        self._process.kill()
        self._process.join()
        self.answers.close()


def _work(work: Callable[[Task], Result], tasks: Sequence[Task], answers: Connection) -> None:
    """The process: an interrupt of the terminal is the parent's to handle, and what ends it lets it end its own children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for task in tasks:
        answer: Result | _Failed
        try:
            answer = work(task)
        except Exception as error:  # it is raised in the parent
            answer = _Failed(error)
        with suppress(BrokenPipeError):
            answers.send(answer)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _leave(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # what ends its children now is not interrupted
    sys.exit(128 + number)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
