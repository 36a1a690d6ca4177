"""``compat check SNAPSHOT NEW --dry-run``: what the command line adds to the restore."""

from __future__ import annotations

from dataclasses import replace

import click

from compat.check.findings import Report, Verdict
from compat.comparison import Comparison, Outcomes
from compat.report.failure import Failure, Side, Undecided


def require_snapshot(old: str) -> None:
    """Refuse what is no snapshot of a job on Spark. Raises a usage error."""
    try:
        from compiler.spark.restore import find_snapshot
        from state.delta.errors import StoreError
    except ModuleNotFoundError as error:
        raise click.UsageError(f"--dry-run needs {error.name}: pip install 'stream-compat[spark]'.") from error
    try:
        find_snapshot(old)
    except StoreError as error:
        raise click.UsageError(f"--dry-run restores a snapshot of a job on Spark. {error}") from error


def restored(result: Outcomes, comparison: Comparison) -> Outcomes:
    """The result with a note of each operator's state that was restored; undecided if the restore itself failed.

    What the check refuses is not restored.
    """
    from compat.execution.dry_run import DryRun, DryRunFailed, dry_run

    reports = [outcome for outcome in result.outcomes if isinstance(outcome, Report)]
    if len(reports) < len(result.outcomes):
        return result
    if any(report.verdict is Verdict.INCOMPATIBLE for report in reports):
        refused = ("dry run: not made, as the check refuses the restore",)
        return replace(result, outcomes=tuple(replace(each, notes=(*each.notes, *refused)) for each in reports))
    wanted = DryRun(
        snapshot=comparison.old,
        program=comparison.new,
        arguments=comparison.new_arguments,
        options=dict(comparison.load.options),
        allow_non_restored=comparison.allow_non_restored,
    )
    try:
        jobs = dry_run(wanted, comparison.load.timeout)
    except DryRunFailed as error:
        failure = Failure(
            rule="CMP901",
            message=f"The dry run of the restore failed: {error}",
            name=comparison.new,
            side=Side.NEW,
        )
        return replace(result, outcomes=(Undecided(failures=(failure,), old=comparison.old, new=comparison.new),))
    chosen = jobs if comparison.job is None else jobs[comparison.job : comparison.job + 1]
    notes = [tuple(f"dry run: {operator}" for operator in job) or ("dry run: there is no state",) for job in chosen]
    return replace(
        result,
        outcomes=tuple(
            replace(report, notes=(*report.notes, *told)) for report, told in zip(reports, notes, strict=False)
        ),
    )
