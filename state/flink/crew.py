"""Those who write a savepoint together: processes of this machine, and other machines that run the same command.

The machines share the folder that is being made. Each of them does every n-th task, leaves the results in the folder, and waits
for those of the others; so all of them get to the same savepoint, and one of them, the leader, finishes it. A machine that was
interrupted is started again, and does not repeat what it has left.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from msgspec import Struct, msgpack

from compat.state.flink.errors import NotWritten
from compat.state.flink.header_parts import StateKey
from compat.state.flink.processes import Done, ProcessDied, in_processes

Task = TypeVar("Task")
Result = TypeVar("Result")

MUCH = 32 << 20
"""Bytes of state from which on further processes save more time than their start takes."""
_PAUSE = 0.2
"""Seconds between two looks for what another machine has left."""


class Phase(Struct, Generic[Task, Result], frozen=True):
    """A part of the work: its name, what is done with each task, the type of the results, and about how many bytes it reads.

    Where it is the ``last`` one, only the leader waits for the results of the others.
    """

    name: str
    work: Callable[[Task], Result]
    result: type[Result]
    size: int
    last: bool = False


class Crew(Struct, frozen=True):
    """So many processes of this machine; it has the number ``machine``, from 1, of so many ``machines``."""

    processes: int = 1
    machine: int = 1
    machines: int = 1

    @property
    def leads(self) -> bool:
        """Whether this machine finishes the savepoint."""
        return self.machine == 1

    @property
    def shared(self) -> bool:
        """Whether other machines write into the same folder."""
        return self.machines > 1

    def results(self, phase: Phase[Task, Result], tasks: Sequence[Task], folder: str) -> Iterator[Done[Task, Result]]:
        """The results of all tasks, through a shared folder; of a last phase only the leader gets those of the others.

        Raises NotWritten if a process is killed, or if the leader gives up, and what the work raises.
        """
        if not self.shared:
            yield from self._here(phase, tasks, folder)
            return
        self._do_share(phase, tasks, folder)
        wanted = range(1, self.machines + 1) if self.leads or not phase.last else (self.machine,)
        for number in wanted:
            for task, result in zip(self._share(tasks, number), self._left_by(number, phase, folder), strict=True):
                yield Done(task, result)

    def until(self, file: str) -> None:
        """Wait for a file in the shared folder. Raises NotWritten if the folder goes: the leader has given up."""
        while not os.path.exists(file):
            if not os.path.isdir(os.path.dirname(file)):
                raise NotWritten(
                    "machine 1 has given up",
                    path=os.path.dirname(file),
                    advice="See why on that machine, and begin anew.",
                )
            time.sleep(_PAUSE)

    def _here(self, phase: Phase[Task, Result], tasks: Sequence[Task], folder: str) -> Iterator[Done[Task, Result]]:
        """The results of tasks that this machine does."""
        try:
            yield from in_processes(phase.work, tasks, self.processes if phase.size >= MUCH else 1)
        except ProcessDied as error:
            raise NotWritten(
                "a process that had a share of the state was killed",
                path=folder,
                why=f"its exit code is {error.code}",
                advice="Is there enough memory? Use fewer processes: --processes 1.",
            ) from None

    def _share(self, tasks: Sequence[Task], number: int) -> Sequence[Task]:
        return tasks[number - 1 :: self.machines]

    def _do_share(self, phase: Phase[Task, Result], tasks: Sequence[Task], folder: str) -> None:
        """Do the tasks of this machine and leave their results, unless they were left before."""
        left = _left(folder, phase.name, self.machine)
        if os.path.exists(left):
            return
        mine = self._share(tasks, self.machine)
        results = {id(task): result for task, result in self._here(phase, mine, folder)}
        write_whole(left, msgpack.encode([results[id(task)] for task in mine]))

    def _left_by(self, number: int, phase: Phase[Task, Result], folder: str) -> list[Result]:
        """The results that a machine leaves, when it has done so."""
        left = _left(folder, phase.name, number)
        self.until(left)
        with open(left, "rb") as file:
            return msgpack.decode(file.read(), type=list[phase.result], dec_hook=_counter)  # type: ignore[name-defined]


def write_whole(path: str, data: bytes) -> None:
    """Write a file that others see only when all of it is there."""
    unfinished = f"{path}.{secrets.token_hex(4)}"
    with open(unfinished, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def _left(folder: str, phase: str, machine: int) -> str:
    return os.path.join(folder, f"{phase}.{machine}")


def _counter(kind: type, given: object) -> object:
    """The counts of states, which are a kind of dictionary that is not known there."""
    assert isinstance(given, dict)
    return Counter({StateKey(*key): number for key, number in given.items()})
