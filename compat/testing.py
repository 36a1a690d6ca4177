"""Compatibility checks in a team's own tests: ``assert_compatible("jobs/v1.py", "jobs/v2.py")``.

The pytest plugin that comes with compat gives the same function as a fixture, with paths from the root of the project.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from compat.check.findings import Level, Report
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import FlinkJars
from compat.migration.going_back import with_way_back
from compat.report import ReportContext, render
from compat.settings import Settings, find

Job = str | os.PathLike[str]
"""A job as ``compat check`` takes it: a program, a topology file, a plan, ``git:REF:path``; as OLD a savepoint too."""


class IncompatibleError(AssertionError):
    """NEW cannot restore the state of OLD, or the check could not decide; the message is the report."""


def assert_compatible(
    old: Job,
    new: Job,
    *,
    allow_non_restored_state: bool | None = None,
    allow_unknown: bool | None = None,
    fail_on: Literal["error", "warning"] | None = None,
    rollback: bool = False,
    old_args: Sequence[str] = (),
    new_args: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    job: int | None = None,
    flink: str | None = None,
    timeout: float | None = None,
    call_open: bool | None = None,
    jars: FlinkJars | None = None,
) -> tuple[Report, ...]:
    """Fail, with the whole report, unless NEW restores the state of OLD; gives the reports, one per job.

    The arguments are the options of ``compat check``: ``options`` those of ``-D``, ``rollback`` also asks whether OLD
    restores what NEW writes, ``jars`` says where Flink's classes come from for jars and SQL. Options that are left out
    come from the project's settings. A new job (``git:REF:path`` has no such file, nor one renamed to it) passes
    without a report, as on the command line. Raises IncompatibleError.
    """
    __tracebackhide__ = True
    settings = (
        find(Path.cwd(), Path(new))
        .of_job(os.fspath(new))
        .under(
            Settings(
                fail_on=None if fail_on is None else Level(fail_on),
                allow_unknown=allow_unknown,
                allow_non_restored_state=allow_non_restored_state,
                flink=flink,
                timeout=timeout,
                options=dict(options or {}),
                no_open=None if call_open is None else not call_open,
                jars=jars or FlinkJars(),
            )
        )
    )
    entry = settings.entry(os.fspath(new))
    usual = () if entry is None else tuple(shlex.split(entry.args))
    forward = Comparison(
        old=os.fspath(old),
        new=os.fspath(new),
        load=settings.load_options(),
        old_arguments=tuple(old_args) or usual,
        new_arguments=tuple(new_args) or usual,
        allow_non_restored=bool(settings.allow_non_restored_state),
        job=job,
        ignored=settings.ignore,
        baseline=settings.baseline,
    )
    results = [with_way_back(compare(one)) for one in ((forward, forward.reversed()) if rollback else (forward,))]
    outcomes = [outcome for result in results for outcome in result.outcomes]
    context = ReportContext(
        sources={name: lines for result in results for name, lines in result.sources.items()},
        fail_on=settings.fail_on or Level.ERROR,
        allow_unknown=bool(settings.allow_unknown),
        verbose=True,
    )
    reports = tuple(outcome for outcome in outcomes if isinstance(outcome, Report))
    failing = any(context.fails(finding.level) for report in reports for finding in report.findings)
    if failing or any(isinstance(one, Undecided) and one.unchecked is None for one in outcomes):
        raise IncompatibleError("\n" + render("text", outcomes, context))
    return reports
