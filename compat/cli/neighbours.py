"""The other jobs of a project that load a file which ``--fix`` edits: they are checked before and after."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from compat.check.findings import Level, Report
from compat.check.undecided import Undecided
from compat.cli.against import ProjectJobs
from compat.cli.command import CheckCommand
from compat.comparison import Comparison, Outcomes, compare
from compat.loader.history import reference_of
from compat.loader.jvm.warm import WarmJvms
from compat.loader.revisions import PREFIX, NoRevision, places, why_unknown


def neighbours_of(
    new: str, command: CheckCommand, comparison: Callable[[str, str], Comparison]
) -> CheckedNeighbours | None:
    """The other jobs of NEW's project; None outside of a repository."""
    with suppress(NoRevision):
        top, _, _ = places()
        if top and Path(os.path.realpath(new)).is_relative_to(os.path.realpath(top)):
            olds = [old for old in (command.files[0], *command.others) if old.startswith(PREFIX)]
            reference = reference_of(olds[0]) if olds else "HEAD"
            if why_unknown(reference) is None:
                jobs = ProjectJobs(command, reference, top)
                return CheckedNeighbours(jobs, new, comparison, command.context.fails)
    return None


class CheckedNeighbours:
    """Checks of the other jobs against the revision, by file."""

    def __init__(
        self, jobs: ProjectJobs, new: str, comparison: Callable[[str, str], Comparison], fails: Callable[[Level], bool]
    ) -> None:
        self._jobs = jobs
        self._new = new
        self._comparison = comparison
        self._fails = fails
        self._before: dict[str, Outcomes] = {}
        self._after: dict[str, Outcomes] = {}

    def look(self, paths: Sequence[Path]) -> None:
        """Check the jobs that load one of these files, before it is edited."""
        others = [
            job
            for job in self._jobs.loading(paths)
            if os.path.realpath(job) != os.path.realpath(self._new) and job not in self._before
        ]
        self._before |= self._checked(others)

    def harmed(self) -> list[str]:
        """Check them again; the names of those that the edits made worse."""
        self._after = self._checked(list(self._before))
        return [job for job, before in self._before.items() if self._is_worse(before, self._after[job])]

    def undecided(self) -> list[Outcomes]:
        """The outcomes of the jobs whose checks are not decided."""
        return [one for one in self._after.values() if any(map(_is_open, one.outcomes))]

    def _checked(self, jobs: Sequence[str]) -> dict[str, Outcomes]:
        if not jobs:
            return {}
        with WarmJvms() as jvms:
            return {job: compare(self._jobs.against(job, self._comparison), jvms=jvms) for job in jobs}

    def _is_worse(self, before: Outcomes, after: Outcomes) -> bool:
        if any(map(_is_open, after.outcomes)):
            return not any(map(_is_open, before.outcomes))
        return self._count(after) > self._count(before)

    def _count(self, result: Outcomes) -> int:
        reports = [one for one in result.outcomes if isinstance(one, Report)]
        return sum(self._fails(finding.level) for report in reports for finding in report.findings)


def _is_open(outcome: Report | Undecided) -> bool:
    return isinstance(outcome, Undecided) and outcome.unchecked is None
