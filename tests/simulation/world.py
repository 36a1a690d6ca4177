"""The world of a schedule: machines, a clock, and a seed that decides what goes wrong, and when."""

from __future__ import annotations

import errno
import random
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compat.state.delta.errors import StoreError

_SHARE = 0.3
"""The share of all kinds of faults that a seed has."""


class Killed(BaseException):
    """The driver is gone: kill -9."""


class HostKilled(BaseException):
    """A process that ran a task is gone: kill -9."""


@dataclass(frozen=True, slots=True)
class Late:
    """An attempt that goes on although nobody waits for it, of the job with that id."""

    job_id: str
    run: Callable[[], None]


@dataclass(slots=True)
class Machine:
    """A machine: the folder of its disk, and the hosts that live on it by plan and slot."""

    disk: Path
    hosts: dict[tuple[str, int], Any] = field(default_factory=dict)


class World:
    """What happens is drawn from ``random`` alone; ``trace`` tells it in order.

    A seed has some kinds of faults only, so that those are many of its own that need each other. ``faults`` may still happen,
    each with the probability ``rate`` at each point: when they are used up the job has to end.
    With a ``script`` there are those of its faults only, one after the other.

    While ``dying`` is set a process is being killed, and nothing of it may be tidied up.
    """

    def __init__(self, seed: int, folder: Path, *, faults: int, rate: float, machines: int = 2) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self._ids = random.Random(-1 - seed)
        self._kinds: dict[str, bool] = {}
        self.script: list[str] | None = None
        self.folder = folder
        self.faults, self.rate = faults, rate
        self.trace: list[str] = []
        self.machines = [Machine(folder / f"machine{number}") for number in range(machines)]
        self.here = self.machines[0]
        self.dying = False
        self.in_task = False
        self.late: list[Late] = []
        self.between: Callable[[Any], None] = lambda master: None
        self.paused: Callable[[str], None] = lambda where: None
        self._now = 1_700_000_000.0
        self._uptime = 1000.0

    # Time

    def time(self) -> float:
        """Seconds since 1970, as the machine of the driver has them."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never go back; each look takes some."""
        self.sleep(0.001)
        return self._uptime

    def sleep(self, seconds: float) -> None:
        """Time goes by."""
        self._now += seconds
        self._uptime += seconds

    def jump(self) -> None:
        """Someone sets the driver's clock."""
        self._now += self.random.choice((-3600.0, -3.0, 3.0, 3600.0))

    # Chance

    def uuid(self) -> uuid.UUID:
        """What ``uuid.uuid4`` gives."""
        return uuid.UUID(int=self._ids.getrandbits(128), version=4)

    def chance(self, what: str, factor: float = 1.0) -> bool:
        """Whether a fault happens here; ``factor`` is how much oftener than others it does."""
        if self.script is not None:
            return self._next_of_script(what)
        if self.faults <= 0 or self.dying or not self._has(what) or self.random.random() >= self.rate * factor:
            return False
        self.faults -= 1
        self.trace.append(what)
        return True

    def _next_of_script(self, what: str) -> bool:
        """Whether it is the turn of a fault, where they do not happen by chance."""
        if not self.script or self.dying or self.script[0] != what:
            return False
        self.trace.append(self.script.pop(0))
        return True

    def _has(self, what: str) -> bool:
        """Whether this seed has a kind of fault."""
        if what not in self._kinds:
            self._kinds[what] = random.Random(f"{self.seed} {what}").random() < _SHARE
        return self._kinds[what]

    def driver_point(self, where: str, failure: Exception | None = None) -> None:
        """A place where the driver may be killed or stand still, or what it asks may refuse, with ``failure``."""
        if self.in_task:
            return
        if self.chance(f"driver killed: {where}"):
            self.kill_driver()
        self.paused(where)
        if self.chance(f"{'store' if failure is None else 'request'} fails: {where}"):
            raise failure or StoreError(f"The store is away ({where}).")

    def kill_driver(self) -> None:
        """The driver's process ends, here."""
        self.dying = True
        raise Killed

    def disk_point(self, where: str) -> None:
        """A place where a disk may be full."""
        if self.chance(f"disk full: {where}"):
            raise OSError(errno.ENOSPC, "No space left on device")

    def task_point(self, where: str) -> None:
        """A place where the process of a task may be killed, or a disk may be full."""
        if self.chance(f"host killed: {where}"):
            self.dying = True
            raise HostKilled
        self.disk_point(where)

    def has_come_to_its_end(self) -> bool:
        """Whether what goes on beside the epochs is seen to be done."""
        return self.random.random() < 0.4

    # Machines

    def lose_machine(self) -> None:
        """A machine goes, with all that it had, and comes back empty."""
        machine = self.random.choice(self.machines)
        machine.hosts.clear()
        shutil.rmtree(machine.disk, ignore_errors=True)

    def cut_replicas(self) -> None:
        """The replicas of a machine lose their ends, as when the power went."""
        machine = self.random.choice(self.machines)
        for file in sorted(machine.disk.rglob("data.mdb")):
            with open(file, "r+b") as opened:
                opened.truncate(self.random.randrange(file.stat().st_size + 1))
