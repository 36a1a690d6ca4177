"""The world of a schedule: machines, a clock, and a seed that decides what goes wrong, and when."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from compat.state.delta.errors import StoreError

_SHARE = 0.3
"""The share of all kinds of faults that a seed has."""
_QUIET = (0, 0, 1, 2, 3)
"""So many steps of a seed's drivers are without faults, one of these: else all are used up in the first epoch of most."""

ONCE_IT_GOES_ON = "once it goes on: "
"""What a fault of a script begins with that is not meant for the driver which took the job over, but for the one before."""


class Killed(BaseException):
    """The driver is gone: kill -9."""


class HostKilled(BaseException):
    """A process that ran a task is gone: kill -9."""


_DRAWN, _VERSION = ~(0xF000 << 64 | 0xC000 << 48), 0x4000 << 64 | 0x8000 << 48
"""What is random of an identifier, and what tells how it was made."""


class Id(NamedTuple):
    """In the place of ``uuid.UUID``, of which a schedule makes hundreds."""

    hex: str

    def __str__(self) -> str:
        return "-".join((self.hex[:8], self.hex[8:12], self.hex[12:16], self.hex[16:20], self.hex[20:]))


class Late(Struct, frozen=True):
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

    Where it is ``local`` there is one machine, which Spark knows.

    While ``dying`` is set a process is being killed, and nothing of it may be tidied up.
    """

    def __init__(self, seed: int, folder: Path, *, faults: int, rate: float, local: bool = False) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self._ids = random.Random(-1 - seed)
        self._kinds: dict[str, bool] = {}
        self.script: list[str] | None = None
        self.folder = folder
        self.faults, self.rate = faults, rate
        self.quiet = random.Random(f"{seed} quiet").choice(_QUIET)
        self.trace: list[str] = []
        self.machines = [Machine(folder / f"machine{number}") for number in range(1 if local else 2)]
        self.local = local
        self.here = self.machines[0]
        self.dying = False
        self.in_task = False
        self.taken_over = False
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

    def uuid(self) -> Id:
        """What ``uuid.uuid4`` gives."""
        return Id(f"{self._ids.getrandbits(128) & _DRAWN | _VERSION:032x}")

    def chance(self, what: str, factor: float = 1.0, *, cost: int = 1, drawn: random.Random | None = None) -> bool:
        """Whether a fault happens here; ``factor`` is how much oftener than others it does.

        One without ``cost`` harms nobody by itself, so that a job ends however often it happens. It may be ``drawn`` from
        another source than most are.
        """
        if self.script is not None:
            return self._next_of_script(what)
        if (cost and self.faults <= 0) or self.quiet > 0 or self.dying or not self._has(what):
            return False
        if (drawn or self.random).random() >= self.rate * factor:
            return False
        self.faults -= cost
        self.trace.append(what)
        return True

    def _next_of_script(self, what: str) -> bool:
        """Whether it is the turn of a fault, where they do not happen by chance."""
        if not self.script or self.dying:
            return False
        wanted = self.script[0] if self.taken_over else self.script[0].removeprefix(ONCE_IT_GOES_ON)
        if wanted != what:
            return False
        self.script.pop(0)
        self.trace.append(what)
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
        """The replicas of a machine lose their ends, as when the power went.

        Each loses a share of its bytes: how many it has is another number where the library is a double, and must not decide
        what comes next.
        """
        machine = self.random.choice(self.machines)
        for file in sorted(machine.disk.rglob("data.mdb")):
            with open(file, "r+b") as opened:
                opened.truncate(1 + int(self.random.random() * (file.stat().st_size - 1)))
