"""Earlier checks: the same two plans with the same options are decided alike.

Reading two plans and checking them takes a process tens of milliseconds, a look-up of the result takes one. A plan is
recognized by its text as sent, before it is decoded.
"""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from compat.service import worker
from compat.service.caches import ENTRY, MEGABYTE, PLANS, REPORTS, VERSIONS, Kept
from compat.service.options import Accepted, Options
from compat.service.records import CheckSide, Version
from compat.service.registry import Registry
from compat.service.registry.packing import unpack
from compat.service.registry.plans import PackedPlan
from compat.service.requests import CheckRequest, Reference

LARGEST = 4 * MEGABYTE
"""The size of the largest request that is looked up, in bytes; larger ones would delay others."""


SMALL = 256 * 1024
"""The size of a request that is looked up without delay, in bytes."""


class _Side(Struct, frozen=True):
    """A side of a check whose plan is known."""

    side: CheckSide
    job: str | None = None
    packed: PackedPlan | None = None


class Decisions:
    """Earlier decisions, in memory; the registry has the rest."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._plans: Kept[PackedPlan] = Kept(PLANS)
        self._reports: Kept[worker.Checked] = Kept(REPORTS)
        self._versions: Kept[Version] = Kept(VERSIONS)

    def find(self, asked: CheckRequest) -> worker.Checked | None:
        """The check that a request asks for, if it was made before. Raises NotFound. Blocks.

        Only the registry's present state counts: the version that runs, and what admins accepted. If the registry's
        database answers at once, so does this, except for the first look at a version.
        """
        if asked.options.accept:
            return None
        old, new = self._side(asked.old, "old"), self._side(asked.new, "new")
        if old is None or new is None:
            return None
        found = self._reports.get(self._key(old.side, new.side, self._asked(old, new, asked.options)))
        if found is None:
            return None
        return replace(
            found,
            report=unpack(found.packed_report),
            record=asked.record,
            job=old.job if old.job is not None else new.job,
            old=old.side,
            new=new.side,
            commit=asked.commit,
            author=asked.author,
            plans=tuple(side.packed for side in (old, new) if side.packed is not None),
            accepted=(),
        )

    def remember(self, asked: CheckRequest, made: worker.Checked) -> None:
        """Remember a check that was made for a request."""
        sent = [reference.plan for reference in (asked.old, asked.new) if reference.plan is not None]
        for text, packed in zip(sent, made.plans, strict=True):
            self._plans.put(_name(text), packed, len(packed.body) + ENTRY)
        if made.old.digest is not None and made.new.digest is not None and not asked.options.accept:
            kept = replace(made, report=b"", plans=(), accepted=())
            self._reports.put(self._key(made.old, made.new, made.options), kept, len(made.packed_report) + 2 * ENTRY)

    def _side(self, reference: Reference, name: str) -> _Side | None:
        if reference.plan is not None:
            packed = self._plans.get(_name(reference.plan))
            if packed is None:
                return None
            label = reference.label or packed.plan.job_name or name
            return _Side(CheckSide(label=label, kind="plan", digest=packed.plan.digest), packed=packed)
        if reference.job is None:
            return None
        version = self._version(reference.job, reference.version)
        side = CheckSide(label=version.label, kind="version", digest=version.plan.digest, version=version.number)
        return _Side(side, job=version.job)

    def _version(self, job: str, number: int | None) -> Version:
        """A version, which never changes, but may be deleted; which of them runs changes. Raises NotFound."""
        number = self._registry.jobs.running(job) if number is None else number
        known = self._versions.get((job, number))
        if known is None or not self._registry.jobs.has(job, number):
            known = self._registry.jobs.version(job, number)
            self._versions.put((job, number), known, 1)
        return known

    def _asked(self, old: _Side, new: _Side, options: Options) -> str:
        """The key of what is asked, with what admins accepted for these plans."""
        if old.job is None or old.side.digest is None or new.side.digest is None:
            return options.key
        accepted = self._registry.acceptances.between(old.job, old.side.digest, new.side.digest)
        return replace(options, accept=tuple(Accepted(each.fingerprint, each.reason) for each in accepted)).key

    @staticmethod
    def _key(old: CheckSide, new: CheckSide, options: str) -> tuple[str | None, ...]:
        """All that a report depends on."""
        return old.digest, new.digest, old.label, new.label, options


def _name(text: bytes) -> bytes:
    return sha256(text).digest()
