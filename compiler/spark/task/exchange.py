"""The shipments between tasks of different stages, and the accounts that prove their arrival.

Spark may lose the output of a task after some readers have read it, and run the task again. The other readers then read the
output of a second run, which may differ. So each run of a task marks its output. It reports one account to the driver: the sum
of the marks that it sent, and the sum of those that it received. Accounts travel from partition to partition with the reports.
The driver takes an epoch only if each task gave one account and all sums are equal: then each task read exactly the output of
the runs whose reports arrived. The cost for each task does not grow with their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from compat.compiler.spark.runtime_api.elements import Buffer

_MARKS = 1 << 64
"""Marks are numbers below this; sums of them are taken modulo it."""


class Shipment(NamedTuple):
    """The buffers of a subtask for a group of slots in a later level. ``mark`` is unique to it among all runs."""

    level: int
    group: int
    mark: int
    buffers: list[Buffer]


@dataclass(slots=True)
class Account:
    """The account of one run of a task: the numbers of shipments sent and received, and the sums of their marks.

    ``run`` tells it from other runs of the task in the same epoch.
    """

    level: int
    partition: int
    run: str
    sent: int = 0
    marks_sent: int = 0
    taken: int = 0
    marks_taken: int = 0

    def ships(self, level: int, group: int, buffers: list[Buffer]) -> Shipment:
        """Count a shipment that this run sends."""
        mark = _mark(self.run, self.sent)
        self.sent += 1
        self.marks_sent = (self.marks_sent + mark) % _MARKS
        return Shipment(level, group, mark, buffers)

    def takes(self, shipment: Shipment) -> list[Buffer]:
        """The buffers of a shipment that arrived, which is counted."""
        self.taken += 1
        self.marks_taken = (self.marks_taken + shipment.mark) % _MARKS
        return shipment.buffers


def why_not_whole(accounts: Iterable[Account], tasks: Collection[tuple[int, int]]) -> str | None:
    """The reason why accounts are not those of one run of each task, by (level, partition), which read each other."""
    found = list(accounts)
    places = {(each.level, each.partition) for each in found}
    if len(places) < len(found):
        return "Spark gave what a task of the epoch reported twice."
    if missing := set(tasks) - places:
        return f"Spark lost what {len(missing)} of {len(tasks)} tasks of the epoch reported."
    sent, taken = sum(each.sent for each in found), sum(each.taken for each in found)
    if sent != taken:
        return f"Of {sent} shipments between tasks, {taken} arrived: Spark lost some, or computed a part of the epoch twice."
    if (sum(each.marks_sent for each in found) - sum(each.marks_taken for each in found)) % _MARKS:
        return "Spark computed a part of the epoch twice, after it had lost the first result."
    return None


def _mark(run: str, number: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{run} {number}".encode(), digest_size=8).digest())
