"""Searches jobs and deployments by text and status, and sorts them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from msgspec import Struct
from starlette.requests import Request

from compat.cluster.deployments.records import Deployment, Step
from compat.cluster.observation import JobSeen
from compat.compiler.executiongraph.states import JobStatus

LONGEST = 200
"""The maximum characters of a search text."""


class Order(StrEnum):
    """An order of jobs."""

    NEWEST = "newest"
    NAME = "name"
    STATUS = "status"
    PROGRAM = "program"


ORDERS = {
    Order.NEWEST.value: "newest first",
    Order.NAME.value: "by name",
    Order.STATUS.value: "worst status first",
    Order.PROGRAM.value: "by program",
}
"""The names of the orders."""

STATUSES = {status.value: status.value for status in JobStatus}
ENDED = {status.value: status.value for status in JobStatus if status.terminal}
STEPS = {step.value: step.value for step in Step}
_WORST = (JobStatus.FAILED, JobStatus.FAILING, JobStatus.RESTARTING)


class Wanted(Struct, frozen=True, kw_only=True):
    """A search: ``text`` is in the name, program, id or sender, and ``status`` is the status; empty for any."""

    text: str = ""
    status: str = ""
    order: Order = Order.NEWEST

    @classmethod
    def of(cls, request: Request, statuses: Collection[str]) -> Wanted:
        """The search in a query; unknown statuses and orders are ignored."""
        given = request.query_params
        status, order = given.get("status", ""), given.get("sort", "")
        return cls(
            text=given.get("q", "").strip()[:LONGEST],
            status=status if status in statuses else "",
            order=Order(order) if order in set(Order) else Order.NEWEST,
        )

    @property
    def all(self) -> bool:
        """True if every job and deployment matches."""
        return not (self.text or self.status)

    def jobs(self, seen: Iterable[JobSeen]) -> list[JobSeen]:
        """The jobs that match, in their order."""
        found = [
            each
            for each in seen
            if self._is(each.job.status.value, (each.job.name, each.job.program, each.job.id, each.job.by))
        ]
        match self.order:
            case Order.NAME:
                return sorted(found, key=lambda each: each.job.name.lower())
            case Order.PROGRAM:
                return sorted(found, key=lambda each: each.job.program.lower())
            case Order.STATUS:
                return sorted(
                    found, key=lambda each: _WORST.index(each.job.status) if each.job.status in _WORST else len(_WORST)
                )
        return found

    def deployments(self, made: Iterable[Deployment]) -> list[Deployment]:
        """The deployments that match."""
        return [each for each in made if self._is(each.step, (each.job, each.program, each.id, each.by))]

    def _is(self, status: str, told: Iterable[str]) -> bool:
        return self.status in ("", status) and any(self.text.lower() in each.lower() for each in told)
