"""``compat check``: the verdict."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from compat.check.baseline import BaselineError
from compat.check.findings import Level, Report
from compat.check.undecided import Undecided
from compat.cli.command import CheckCommand, command_of
from compat.cli.dry_run import require_program, require_snapshot, restored
from compat.cli.faults import sentence
from compat.cli.fixing import fixed, previewed, require_source
from compat.cli.modes import Mode, require_programs
from compat.cli.options import (
    color_option,
    colored,
    deployments,
    jars_of_old,
    loading,
    origin_options,
    paths,
    report_formats,
    server_options,
)
from compat.cli.rehearsal import rehearsal_options
from compat.cli.running import room_for_copies, running_options, with_running
from compat.cli.savepoints import check_all, savepoint_options
from compat.cli.spelled import Grouped, Spelled, left_behind
from compat.comparison import Comparison, Outcomes, compare
from compat.loader.failure import Failure, Undecidable
from compat.loader.inputs import InputError
from compat.loader.jvm.warm import WarmJvms
from compat.loader.revisions import revision_of
from compat.report import NAMES as FORMAT_NAMES
from compat.report import ReportContext, prepare, render
from compat.report.context import WIDTH, OfferedRecipe
from compat.state.safe_open import open_regular

if TYPE_CHECKING:
    from compat.cli.remote import Server

FOUND, UNDECIDED = 1, 2


_GROUPS = {
    "Inputs": ("against", "changed", "others", "savepoints", "names", "args", "server", "job"),
    "Flink": (
        *("allow_non_restored_state", "definitions", "flink", "flink_version", "flink_home", "classpath", "connector"),
        "main_class",
        "deployment",
    ),
    "Python": ("pyfiles", "env", "pyflink"),
    "Reports": ("outputs", "verbose", "explain", "fix", "diff"),
    "Gate": ("fail_on", "allow_unknown", "baseline", "write_baseline", "rollback", "rehearse"),
}
"""The most needed options, in the order of the help."""


@click.command("check", cls=Grouped, groups=_GROUPS)
@click.argument("old", required=False, shell_complete=paths)
@click.argument("new", required=False, shell_complete=paths)
@click.argument("more", nargs=-1, metavar="", shell_complete=paths)
@left_behind("allow_non_restored_state", default=None)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT[=PATH]",
    shell_complete=report_formats,
    help=f"A report, to a file or to standard output; repeatable. Formats: {', '.join(FORMAT_NAMES)} (default: text).",
)
@click.option("--format", "form", metavar="FORMAT", shell_complete=report_formats, help="The same as --output FORMAT.")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: source lines, reasons, ids, the table of states.")
@color_option
@click.option(
    "--fail-on", type=click.Choice(["error", "warning"]), help="Exit with 1 for findings of this level or worse."
)
@click.option("--allow-unknown", is_flag=True, default=None, help="Do not fail on open questions.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Ignore the findings in this file.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline instead of reporting them.")
@click.option(
    "--write-recipe",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a recipe for the state that NEW cannot restore, for compat migrate.",
)
@click.option("--also", "others", multiple=True, metavar="OLD2", help="A further OLD; repeatable.")
@click.option("--rollback", is_flag=True, help="Also check whether OLD can restore what NEW writes.")
@click.option(
    "--explain", is_flag=True, help="Show everything, with where each state goes and why, and what is different."
)
@click.option("--fix", is_flag=True, help="Write the safe fixes into NEW, show them, and check again.")
@click.option("--diff", is_flag=True, help="With --fix: show what would be written, and write nothing.")
@click.option(
    "--try-restore",
    "dry_run",
    cls=Spelled,
    former=["--dry-run"],
    is_flag=True,
    help="Also restore the snapshot OLD into NEW, into a temporary table.",
)
@rehearsal_options
@click.option("--against", metavar="REF", help="Check each file given against the same file at a git revision.")
@click.option(
    "--changed",
    is_flag=True,
    help="Check only the project's jobs that use a file changed since the revision (default: HEAD), or a FILE.",
)
@click.option(
    "--skip", "skips", multiple=True, metavar="FILE", help="Do not check this job; it may be deleted. Repeatable."
)
@click.option("--args", help="Arguments of both programs.")
@click.option("--old-args", help="Arguments of the program OLD (default: --args).")
@click.option("--new-args", help="Arguments of the program NEW (default: --args).")
@click.option("--job", metavar="NAME", help="With --server: the job's name in the registry.")
@click.option("--job-number", "job_number", metavar="N", help="Which job of programs that submit several, from 0.")
@click.option(
    "--pairs", type=click.Path(exists=True, dir_okay=False), help='Lines {"old": …, "new": …}; one report per line.'
)
@savepoint_options
@running_options
@server_options(required=False)
@origin_options
@deployments
@loading
@jars_of_old
@click.pass_context
def check(context: click.Context, /, **_: Any) -> None:
    """Can NEW restore the state of OLD?

    OLD and NEW are programs (job.py, job.jar, job.sql), plans or topology files (job.json), or git:REF:path. OLD may be a
    savepoint or a checkpoint, or a job that runs (flink:http://HOST:8081/NAME, k8s:NAMESPACE/NAME), NEW a FlinkDeployment
    (job.yaml). Exit codes: 0 yes, 1 findings, 2 undecided. With --server URL --job NAME, OLD is the version of that job that
    runs, and the check is recorded there.

    Example: compat check job_v1.py job_v2.py
    """
    try:
        sys.exit(_checked(command_of(context), context))
    except BaselineError as error:
        raise click.UsageError(str(error)) from error


def _checked(command: CheckCommand, context: click.Context) -> int:
    """Check in the chosen mode and give the exit code. Raises usage errors and BaselineError."""
    match command.mode:
        case Mode.SERVER:
            return _gated(command)
        case Mode.PAIRS:
            return _pairs(command)
        case Mode.AGAINST:
            results = _against(command)
        case Mode.SAVEPOINTS:
            results = _savepoints(command)
        case Mode.COMPARE:
            require_programs(context, (command.files[0], *command.others), command.files[1])
            results = _compared(command)
    return _finish(results, command)


def _compared(command: CheckCommand) -> list[Outcomes]:
    """Check NEW against each OLD, with all further options of the check."""
    olds, new = (command.files[0], *command.others), command.files[1]
    if command.dry_run:
        for old in olds:
            require_snapshot(old)
        require_program(new)
    with room_for_copies(olds) as folder:
        try:
            comparisons = [with_running(_comparison(old, new, command), command.asked, folder) for old in olds]
        except InputError as error:
            return [Outcomes((Undecided(failures=(error.failure,), old=error.failure.name, new=new),), {})]
        comparisons = _both_ways(comparisons, command)
        results = _results(comparisons, new, command)
    if command.dry_run:
        return [restored(*one) for one in zip(results, comparisons, strict=True)]
    return results


def _finish(results: list[Outcomes], command: CheckCommand) -> int:
    """Write the reports, or the baseline; the exit code."""
    if command.write_baseline and command.settings.baseline is not None:
        return _write_baseline(results, command.settings.baseline, of_jobs=command.against is not None)
    if not results:
        return 0
    _report(results, command)
    if command.write_recipe is not None:
        _write_recipe(results, command.write_recipe, command)
    return _worst(results, command)


def _results(comparisons: list[Comparison], new: str, command: CheckCommand) -> list[Outcomes]:
    def meanwhile() -> None:
        prepare(command.formats)
        if command.explain:
            import deepdiff  # noqa: F401 - takes as long as the programs do

    def run() -> list[Outcomes]:
        with WarmJvms() as jvms:
            return [compare(comparison, meanwhile, jvms) for comparison in comparisons]

    if command.fix:
        require_source(new)
    results = run()
    if command.diff:
        previewed(results, new, command.context.fails, aside=_aside(command))
    elif command.fix:
        from compat.cli.neighbours import neighbours_of

        others = neighbours_of(new, command, lambda old, other: _comparison(old, other, command))
        results = fixed(results, new, run, command.context.fails, aside=_aside(command), neighbours=others)
    if command.rollback:
        from compat.migration.going_back import with_way_back

        results = list(map(with_way_back, results))
    return _explained(results, command)


def _aside(command: CheckCommand) -> bool:
    """Whether standard output carries a report for programs."""
    return any(output.path is None and output.format != "text" for output in command.outputs)


def _explained(results: list[Outcomes], command: CheckCommand) -> list[Outcomes]:
    """The results, each with its explanation if that was asked for."""
    if not command.explain:
        return results
    from compat.check.story import explained

    return [
        replace(result, outcomes=tuple(explained(one) if isinstance(one, Report) else one for one in result.outcomes))
        for result in results
    ]


def _gated(command: CheckCommand) -> int:
    """Check a new version of a job against the versions in the registry that it has to restore, and record the check.

    Returns the exit code.
    """
    from compat.cli import gate
    from compat.cli.remote import ServerError, origin, server_of

    (new,) = command.files
    assert command.job_name is not None
    assert command.server is not None
    server = server_of(command.server, command.token_file)
    try:
        mode = gate.mode_of(server, command.job_name)
        given = origin(new, command.commit, command.author)
        if mode.savepoint is not None:
            return _of_savepoint(server, mode.savepoint, new, command, given)
        with gate.restored(server, command.job_name, mode) as olds:
            comparisons = [replace(_comparison(old.label, new, command), known={old.label: old.input}) for old in olds]
            results = _results(comparisons, new, command)
            _report(results, command)
            found = [
                gate.record(server, command.job_name, old, comparison, result, given)
                for old, comparison, result in zip(olds, comparisons, results, strict=True)
            ]
            return max(_worst(results, command), *found)
    except ServerError as error:
        click.echo(str(error), err=True)
        return UNDECIDED


def _of_savepoint(
    server: Server, savepoint: str, new: str, command: CheckCommand, origin: Mapping[str, str | None]
) -> int:
    """Have the server check NEW against the savepoint that the job's mode names; the exit code. Raises ServerError."""
    from compat.cli import gate
    from compat.cli.push import compiled

    if any(output.format != "text" for output in command.outputs):
        raise click.UsageError(
            "The server makes the check against a savepoint: its report is on the page of the check."
        )
    assert command.job_name is not None
    try:
        plan = compiled(new, command.new_arguments, command.load, command.job_name)
    except InputError as error:
        click.echo(error.failure.message, err=True)
        return UNDECIDED
    return gate.restores_savepoint(server, savepoint, plan, new, origin)


def _against(command: CheckCommand) -> list[Outcomes]:
    """Check files against their versions at a revision."""
    from compat.cli.against import Against

    against = Against(command)
    comparisons = against.comparisons(lambda old, new: _comparison(old, new, command))
    both = _both_ways(comparisons, command)
    results = _results(both, comparisons[0].new, command) if both else []
    against.remember(both, results)
    every = [*results, *(Outcomes((one,), {}) for one in against.passed)]
    return sorted(every, key=lambda result: not isinstance(result.outcomes[0], Report))


def _savepoints(command: CheckCommand) -> list[Outcomes]:
    """Check NEW against all savepoints of a folder."""
    assert command.savepoints is not None
    comparison = _comparison(command.savepoints, command.files[0], command)
    return _explained(check_all(comparison, lambda: prepare(command.formats)), command)


def _worst(results: list[Outcomes], command: CheckCommand) -> int:
    return max(_code(outcome, command) for result in results for outcome in result.outcomes)


def _comparison(old: str, new: str, command: CheckCommand) -> Comparison:
    settings = command.settings
    return Comparison(
        old=old,
        new=new,
        load=command.load,
        load_old=command.load_old,
        old_arguments=command.old_arguments,
        new_arguments=command.new_arguments,
        allow_non_restored=bool(settings.allow_non_restored_state),
        job=command.job,
        names=command.names,
        ignored=settings.ignore,
        baseline=None if command.write_baseline else settings.baseline,
        rehearse=command.rehearse,
        deployment=command.deployment,
        old_deployment=command.old_deployment,
        moving=command.moving,
    )


def _both_ways(comparisons: list[Comparison], command: CheckCommand) -> list[Comparison]:
    """The comparisons and, if asked for, whether each OLD can restore what NEW writes."""
    return comparisons + [one.reversed() for one in comparisons] if command.rollback else comparisons


def _code(outcome: Report | Undecided, command: CheckCommand) -> int:
    if isinstance(outcome, Undecided):
        return UNDECIDED if outcome.unchecked is None else 0
    failing = {finding.level for finding in outcome.findings if command.context.fails(finding.level)}
    if Level.UNKNOWN in failing and Level.ERROR not in failing:
        return UNDECIDED
    return FOUND if failing else 0


def _report(results: list[Outcomes], command: CheckCommand) -> None:
    outcomes = [outcome for result in results for outcome in result.outcomes]
    sources = {name: lines for result in results for name, lines in result.sources.items()}
    plans = [pair for result in results for pair in result.plans or ((None, None),) * len(result.outcomes)]
    recipes = _recipes(outcomes, command.formats)
    unwritten = []
    for output in command.outputs:
        terminal = output.path is None and sys.stdout.isatty()
        context = replace(
            command.context,
            sources=sources,
            color=output.path is None and colored(command.color),
            width=get_terminal_size().columns if terminal else WIDTH,
            plans=plans,
            recipes=recipes,
        )
        text = render(output.format, outcomes, context)
        if output.path is None:
            click.echo(text, nl=False, color=True)
        else:
            try:
                output.path.write_text(text, encoding="utf-8")
            except OSError as error:
                unwritten.append(f"{output.path}: the report cannot be written: {error.strerror or error}")
    if unwritten:
        raise click.UsageError("\n".join(unwritten))


_STORED = ("savepoint", "snapshot")


def _recipes(outcomes: Sequence[Report | Undecided], formats: Collection[str]) -> tuple[OfferedRecipe | None, ...]:
    """The recipe for each outcome: a page shows all, JSON those for existing state."""
    wanted = [
        isinstance(one, Report) and ("html" in formats or ("json" in formats and one.old.kind in _STORED))
        for one in outcomes
    ]
    if not any(wanted):
        return (None,) * len(outcomes)
    from compat.migration.proposing import offered

    pairs = zip(outcomes, wanted, strict=True)
    return tuple(offered(one) if isinstance(one, Report) and asked else None for one, asked in pairs)


def _write_baseline(results: list[Outcomes], path: Path, *, of_jobs: bool) -> int:
    """Write the findings to the baseline; with several jobs of a project, each with its job."""
    from compat.check import baseline

    outcomes = [one for result in results for one in result.outcomes]
    undecided = [one for one in outcomes if isinstance(one, Undecided) and one.unchecked is None]
    if undecided:
        click.echo(undecided[0].failures[0].message, err=True)
        return UNDECIDED
    findings = [
        (revision_of(one.deployed.name)[1] if of_jobs else "", finding)
        for one in outcomes
        if isinstance(one, Report)
        for finding in one.findings
    ]
    count = baseline.write(path, findings)
    click.echo(f"{count} {'finding' if count == 1 else 'findings'} written to {path}")
    return 0


def _write_recipe(results: list[Outcomes], path: Path, command: CheckCommand) -> None:
    """Write the recipe of the one checked job; say that there is none if no check was decided or several jobs were checked."""
    from compat.cli.recipes import write_recipe
    from compat.migration.proposing import command as moving
    from compat.migration.proposing import perhaps, propose, written
    from compat.migration.under_new_ids import propose_all

    outcomes = (one for result in results for one in result.outcomes)
    reports = [one for one in outcomes if isinstance(one, Report) and one.direction == "forward"]
    if len(reports) != 1:
        click.echo(f"{path} was not written: a recipe is for one job that was decided, of one OLD.", err=True)
        return
    (report,) = reports
    compared = command.mode is Mode.COMPARE and not command.others
    steps = (
        propose_all(report, _comparison(command.files[0], command.files[1], command)) if compared else propose(report)
    )
    text = written(steps, report.old.name, report.new.name, moving(report), perhaps(report))
    click.echo(f"{write_recipe(path, text, steps)} Read it before compat migrate.", err=True)


def _pairs(command: CheckCommand) -> int:
    assert command.pairs is not None
    worst = 0
    with WarmJvms() as jvms:
        for old, new in _pair_lines(command.pairs):
            (result,) = _explained([_of_pair(_comparison(old, new, command), jvms)], command)
            document = json.loads(render("json", list(result.outcomes), ReportContext(sources=result.sources)))
            click.echo(json.dumps(document))
            worst = max(worst, *(_code(outcome, command) for outcome in result.outcomes))
    return worst


def _of_pair(comparison: Comparison, jvms: WarmJvms) -> Outcomes:
    """The outcome of a pair; an unforeseen error becomes a record too, so that later pairs are still checked."""
    try:
        return compare(comparison, jvms=jvms)
    except BaselineError:
        raise
    except Exception as error:
        failure = Failure(rule=Undecidable.INTERNAL_ERROR, message=sentence(error), name=comparison.new)
        failed = Undecided(failures=(failure,), old=comparison.old, new=comparison.new, direction=comparison.direction)
        return Outcomes((failed,), {})


def _pair_lines(path: str) -> Iterator[tuple[str, str]]:
    with open_regular(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                pair = json.loads(line.decode("utf-8"))
                names = str(pair["old"]), str(pair["new"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise click.UsageError(f'{path}:{number}: a line is {{"old": …, "new": …}}: {error}.') from error
            yield names
