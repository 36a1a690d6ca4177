"""``compat check SNAPSHOT NEW --dry-run``: the command line of the dry run."""

from __future__ import annotations

from contextlib import suppress

import click
from msgspec.structs import replace

from compat.check.findings import Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, Outcomes
from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.inputs import InputError, opened, pyfiles_of


def require_snapshot(old: str) -> None:
    """Refuse anything but a snapshot of a job on Spark. Raises a usage error."""
    try:
        from compat.compiler.spark.driver.restore import find_snapshot
        from compat.state.delta.errors import StoreError
    except ModuleNotFoundError as error:
        raise click.UsageError(f"--dry-run needs {error.name}: pip install 'stream-compat[spark]'.") from error
    try:
        find_snapshot(old)
    except StoreError as error:
        raise click.UsageError(f"--dry-run restores a snapshot of a job on Spark. {error}") from error


def require_program(new: str) -> None:
    """Refuse a NEW that is not a program: there would be nothing to restore into. Raises a usage error."""
    with suppress(InputError), opened(new) as given:
        if given.kind != "program":
            raise click.UsageError(f"--dry-run restores into a program, and {new} is a {given.kind}.")


def restored(result: Outcomes, comparison: Comparison) -> Outcomes:
    """The result with a note of each operator's state that was restored; undecided if the restore itself failed.

    Nothing is restored if the check refuses.
    """
    from compat.execution.dry_run import DryRun, DryRunFailed, dry_run

    reports = [outcome for outcome in result.outcomes if isinstance(outcome, Report)]
    if len(reports) < len(result.outcomes):
        return result
    if any(report.verdict is Verdict.INCOMPATIBLE for report in reports):
        refused = ("dry run: not made, as the check refuses the restore",)
        return replace(result, outcomes=tuple(replace(each, notes=(*each.notes, *refused)) for each in reports))
    try:
        with opened(comparison.new, comparison.new_arguments) as given:
            wanted = DryRun(
                snapshot=comparison.old,
                program=given.path,
                arguments=given.arguments,
                options=dict(comparison.load.options),
                flink=comparison.load.flink,
                allow_non_restored=comparison.allow_non_restored,
                job=comparison.job,
                pyfiles=pyfiles_of(given, comparison.load),
                environment=comparison.load.environment,
            )
            jobs = dry_run(wanted, comparison.load.timeout)
        if len(jobs) != len(reports):
            raise DryRunFailed(f"The program submitted {len(jobs)} jobs, and {len(reports)} when it was checked.")
    except DryRunFailed as error:
        failure = Failure(
            rule=Undecidable.PROGRAM_FAILED,
            message=f"The dry run of the restore failed: {error}",
            name=comparison.new,
            side=Side.NEW,
        )
        return replace(result, outcomes=(Undecided(failures=(failure,), old=comparison.old, new=comparison.new),))
    notes = [tuple(f"dry run: {operator}" for operator in job) or ("dry run: there is no state",) for job in jobs]
    return replace(
        result,
        outcomes=tuple(
            replace(report, notes=(*report.notes, *told)) for report, told in zip(reports, notes, strict=True)
        ),
    )
