"""``compat check``: the verdict."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from compat import settings as configuration
from compat.check.baseline import BaselineError
from compat.check.findings import Level, Report
from compat.cli.dry_run import require_program, require_snapshot, restored
from compat.cli.fixing import fixed, require_source
from compat.cli.modes import Mode, mode_of, require_programs
from compat.cli.options import loading, origin_options, parse_definitions, server_options, split
from compat.cli.savepoints import check_all, savepoint_options
from compat.comparison import Comparison, Outcomes, compare
from compat.loader.inputs import LoadOptions
from compat.loader.process import DEFAULT_TIMEOUT
from compat.report import ReportContext, prepare, render
from compat.report.failure import Undecided
from compat.settings import Output, Settings, SettingsError

FOUND, UNDECIDED = 1, 2
MOST_JOBS = 99_999
EXPLAINING = frozenset({"text", "json", "markdown"})
"""The formats that have room for a story."""


@click.command("check")
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.argument("more", nargs=-1, metavar="")
@click.option("-n", "--allow-non-restored-state", is_flag=True, default=None, help="State may be left behind.")
@click.option("--output", "outputs", multiple=True, metavar="FORMAT[=PATH]", help="A report; repeatable.")
@click.option("--fail-on", type=click.Choice(["error", "warning"]), help="Exit with 1 from this level on.")
@click.option("--allow-unknown", is_flag=True, default=None, help="What cannot be told does not fail the check.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Findings in this file are let pass.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline instead.")
@click.option("--also", "others", multiple=True, metavar="OLD2", help="A further OLD; repeatable.")
@click.option("--rollback", is_flag=True, help="Also check whether OLD can restore what NEW writes.")
@click.option("--explain", is_flag=True, help="Tell where each state goes and why, and what is different.")
@click.option("--fix", is_flag=True, help="Write the fixes that are safe into NEW, show them, and check again.")
@click.option(
    "--dry-run", is_flag=True, help="Restore the snapshot OLD into NEW too, into a table that is thrown away."
)
@click.option("--against", metavar="REF", help="Check each file given against the same file at a git revision.")
@click.option("--old-args", help="Arguments of the program OLD.")
@click.option("--new-args", help="Arguments of the program NEW.")
@click.option(
    "--job", help="Which job of programs that submit several, from 0. With --server: its name in the registry."
)
@click.option(
    "--pairs", type=click.Path(exists=True, dir_okay=False), help='Lines {"old": …, "new": …}; a report a line.'
)
@savepoint_options
@server_options(required=False)
@origin_options
@loading
def check(old: str | None, new: str | None, more: tuple[str, ...], **options: Any) -> None:
    """Can NEW restore the state of OLD?

    OLD and NEW are programs (job.py), topology files or plans (job.json), or git:REF:path; OLD may be a savepoint. Exit
    codes: 0 yes, 1 findings, 2 it could not be decided. With --server URL --job NAME, OLD is the version of that job that
    runs, and the check is recorded there.

    Example: compat check job_v1.py job_v2.py
    """
    try:
        sys.exit(_checked(old, new, more, options))
    except BaselineError as error:
        raise click.UsageError(str(error)) from error


def _checked(old: str | None, new: str | None, more: tuple[str, ...], options: dict[str, Any]) -> int:
    """Check in the mode that is asked for; the exit code. Raises usage errors and BaselineError."""
    context = click.get_current_context()
    mode = mode_of(context)
    given = [path for path in (old, new, *more) if path is not None]
    if mode is Mode.SERVER:
        return _gated(given[0], options)
    options["job"] = _number(options["job"])
    chosen = _settings(new if mode is Mode.COMPARE else old, options)
    if mode is Mode.PAIRS:
        return _pairs(options["pairs"], chosen, options)
    if mode is Mode.AGAINST:
        results = _against(given, chosen, options)
    elif mode is Mode.SAVEPOINTS:
        results = _savepoints(given[0], chosen, options)
    else:
        olds = (given[0], *options["others"])
        require_programs(context, olds, given[1])
        results = _compared(olds, given[1], chosen, options)
    return _finish(results, chosen, options)


def _compared(olds: Sequence[str], new: str, chosen: Settings, options: dict[str, Any]) -> list[Outcomes]:
    """Check NEW against each OLD, with the rollback and dry run that the options ask for."""
    if options["dry_run"]:
        for old in olds:
            require_snapshot(old)
        require_program(new)
    comparisons = [_comparison(old, new, options["old_args"], options["new_args"], chosen, options) for old in olds]
    if options["rollback"]:
        comparisons += [_back(comparison) for comparison in comparisons]
    results = _results(comparisons, new, chosen, options)
    if options["dry_run"]:
        return [restored(*one) for one in zip(results, comparisons, strict=True)]
    return results


def _finish(results: list[Outcomes], chosen: Settings, options: dict[str, Any]) -> int:
    """Write the reports, or the baseline; the exit code."""
    if options["write_baseline"] and chosen.baseline is not None:
        return _write_baseline(results, chosen.baseline)
    if not results:
        return 0
    _report(results, chosen)
    return _worst(results, chosen)


def _results(comparisons: list[Comparison], new: str, chosen: Settings, options: dict[str, Any]) -> list[Outcomes]:
    formats = [output.format for output in chosen.output or (Output("text"),)]

    def meanwhile() -> None:
        prepare(formats)
        if options["explain"]:
            import deepdiff  # noqa: F401 - takes as long as the programs do

    def run() -> list[Outcomes]:
        return [compare(comparison, meanwhile=meanwhile) for comparison in comparisons]

    if options["fix"]:
        require_source(new)
    results = run()
    if options["fix"]:
        aside = any(output.path is None and output.format != "text" for output in chosen.output or ())
        results = fixed(results, new, run, _context(chosen).fails, aside=aside)
    return [_explained(result) for result in results] if options["explain"] else results


def _explained(result: Outcomes) -> Outcomes:
    from compat.check.story import explained

    outcomes = tuple(explained(one) if isinstance(one, Report) else one for one in result.outcomes)
    return replace(result, outcomes=outcomes)


def _gated(new: str, options: dict[str, Any]) -> int:
    """Check against what runs of a job in a registry, and record it there; the exit code."""
    from compat.cli import gate
    from compat.cli.remote import ServerError, origin, server_of

    name, options["job"] = options["job"], None
    if not name:
        raise click.UsageError("Say which job of the registry: --job NAME.")
    server = server_of(options["server"], options["token_file"])
    chosen = _settings(new, options)
    try:
        with gate.running(server, name) as old:
            given = _comparison(old.label, new, None, options["new_args"], chosen, options)
            comparison = replace(given, known={old.label: old.input})
            results = _results([comparison], new, chosen, options)
            _report(results, chosen)
            agreed = gate.record(
                server, name, old, comparison, results[0], origin(new, options["commit"], options["author"])
            )
            return max(_worst(results, chosen), 0 if agreed else FOUND)
    except ServerError as error:
        click.echo(str(error), err=True)
        return UNDECIDED


def _against(files: list[str], chosen: Settings, options: dict[str, Any]) -> list[Outcomes]:
    """Check files against what they were at a revision. Files that are no jobs are let pass."""
    from compat.cli.against import jobs_only, pairs

    given = [(old, new, options["old_args"], options["new_args"]) for old, new in pairs(options["against"], files)]
    comparisons = [_comparison(*one, chosen, options) for one in given]
    if options["rollback"]:
        comparisons += [_back(comparison) for comparison in comparisons]
    return jobs_only(_results(comparisons, files[0], chosen, options))


def _savepoints(new: str, chosen: Settings, options: dict[str, Any]) -> list[Outcomes]:
    """Check NEW against all savepoints of a folder."""
    comparison = _comparison(options["savepoints"], new, None, options["new_args"], chosen, options)
    results = check_all(comparison, lambda: prepare([one.format for one in chosen.output or (Output("text"),)]))
    return [_explained(result) for result in results] if options["explain"] else results


def _number(job: str | None) -> int | None:
    if job is not None and not job.isdecimal():
        raise click.BadParameter(f"{job!r} is no number; names of jobs go with --server.", param_hint="'--job'")
    if job is not None and len(job) > len(str(MOST_JOBS)):
        raise click.BadParameter(f"no program submits more than {MOST_JOBS} jobs.", param_hint="'--job'")
    return None if job is None else int(job)


def _worst(results: list[Outcomes], chosen: Settings) -> int:
    return max(_code(outcome, chosen) for result in results for outcome in result.outcomes)


def _settings(new: str | None, options: dict[str, Any]) -> Settings:
    try:
        found = configuration.find(Path.cwd(), *([Path(new)] if new and not new.startswith("git:") else []))
        command_line = Settings(
            fail_on=None if options["fail_on"] is None else Level(options["fail_on"]),
            allow_unknown=options["allow_unknown"],
            allow_non_restored_state=options["allow_non_restored_state"],
            flink=options["flink"],
            timeout=options["timeout"],
            baseline=options["baseline"],
            output=tuple(configuration.parse_output(text) for text in options["outputs"]) or None,
            options=parse_definitions(options["definitions"]),
            no_open=options["no_open"],
        )
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--output'") from error
    chosen = found.under(command_line)
    if options["write_baseline"] and chosen.baseline is None:
        raise click.UsageError("--write-baseline needs --baseline FILE.")
    formats = [output.format for output in chosen.output or (Output("text"),)]
    if options["explain"] and not options["pairs"] and not EXPLAINING & set(formats):
        raise click.UsageError(
            f"--explain has no effect with --output {formats[0]}: add --output {' or '.join(sorted(EXPLAINING))}."
        )
    return chosen


def _comparison(
    old: str, new: str, old_args: str | None, new_args: str | None, chosen: Settings, options: dict[str, Any]
) -> Comparison:
    return Comparison(
        old=old,
        new=new,
        load=LoadOptions(
            options=dict(chosen.options),
            flink=chosen.flink or "2.3",
            timeout=chosen.timeout or DEFAULT_TIMEOUT,
            call_open=not chosen.no_open,
        ),
        old_arguments=split(old_args),
        new_arguments=split(new_args),
        allow_non_restored=bool(chosen.allow_non_restored_state),
        job=options["job"],
        names=options["names"],
        ignored=chosen.ignore,
        baseline=None if options["write_baseline"] else chosen.baseline,
    )


def _back(comparison: Comparison) -> Comparison:
    """Whether OLD can restore what NEW writes."""
    return replace(
        comparison,
        old=comparison.new,
        new=comparison.old,
        old_arguments=comparison.new_arguments,
        new_arguments=comparison.old_arguments,
        direction="rollback",
    )


def _code(outcome: Report | Undecided, chosen: Settings) -> int:
    if isinstance(outcome, Undecided):
        return UNDECIDED
    return FOUND if any(_context(chosen).fails(finding.level) for finding in outcome.findings) else 0


def _context(chosen: Settings) -> ReportContext:
    return ReportContext(fail_on=chosen.fail_on or Level.ERROR, allow_unknown=bool(chosen.allow_unknown))


def _report(results: list[Outcomes], chosen: Settings) -> None:
    outcomes = [outcome for result in results for outcome in result.outcomes]
    sources = {name: lines for result in results for name, lines in result.sources.items()}
    plans = [pair for result in results for pair in result.plans or ((None, None),) * len(result.outcomes)]
    unwritten = []
    for output in chosen.output or (Output("text"),):
        terminal = output.path is None and sys.stdout.isatty()
        context = ReportContext(
            sources=sources,
            color=terminal,
            fail_on=chosen.fail_on or Level.ERROR,
            allow_unknown=bool(chosen.allow_unknown),
            plans=plans,
        )
        text = render(output.format, outcomes, context)
        if output.path is None:
            click.echo(text, nl=False)
        else:
            try:
                output.path.write_text(text, encoding="utf-8")
            except OSError as error:
                unwritten.append(f"{output.path}: the report cannot be written: {error.strerror or error}")
    if unwritten:
        raise click.UsageError("\n".join(unwritten))


def _write_baseline(results: list[Outcomes], path: Path) -> int:
    from compat.check import baseline

    undecided = [one for result in results for one in result.outcomes if isinstance(one, Undecided)]
    if undecided:
        click.echo(undecided[0].failures[0].message, err=True)
        return UNDECIDED
    findings = [
        finding for result in results for one in result.outcomes if isinstance(one, Report) for finding in one.findings
    ]
    count = baseline.write(path, findings)
    click.echo(f"{count} findings written to {path}")
    return 0


def _pairs(path: str, chosen: Settings, options: dict[str, Any]) -> int:
    worst = 0
    for old, new in _pair_lines(path):
        result = compare(_comparison(old, new, options["old_args"], options["new_args"], chosen, options))
        if options["explain"]:
            result = _explained(result)
        context = ReportContext(sources=result.sources)
        document = json.loads(render("json", list(result.outcomes), context))
        click.echo(json.dumps(document))
        worst = max(worst, *(_code(outcome, chosen) for outcome in result.outcomes))
    return worst


def _pair_lines(path: str) -> Iterator[tuple[str, str]]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                pair = json.loads(line.decode("utf-8"))
                names = str(pair["old"]), str(pair["new"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise click.UsageError(f'{path}:{number}: a line is {{"old": …, "new": …}}: {error}.') from error
            yield names
