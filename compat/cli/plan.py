"""``compat plan``: the graphs of programs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from compat.cli.options import arguments_for, load_options, loading, paths, written_options
from compat.cli.spelled import job_number
from compat.loader.failure import Failure
from compat.loader.inputs import Input, InputError, LoadOptions, load, opened
from compat.loader.lines import carrying
from compat.state.model.job import Plan, Refusal, Refused

LINES = (".jsonl", ".jsonl.gz")
PAGE = "html="


@click.command("plan")
@click.argument("jobs", nargs=-1, required=True, shell_complete=paths)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "dot", "svg", "html"]), default="text", help="How to print."
)
@click.option("--layer", type=click.Choice(["stream", "job", "execution"]), help="Only this layer (text, dot, svg).")
@click.option(
    "-o", "--output", "path", metavar="[html=]FILE", help="Write the plan to this file, as JSON or as an HTML page."
)
@click.option("--args", "arguments", help="Arguments of the program.")
@job_number
@loading
def plan(jobs: tuple[str, ...], **options: Any) -> None:
    """Show the four layers of a program: operators with their ids, chains, vertices, subtasks.

    Several programs, a folder of them, or a file with one topology a line (.jsonl, .jsonl.gz) give one plan per line.

    Example: compat plan job.py --format json
    """
    settings = load_options(options, jobs[0])
    several = len(jobs) > 1 or jobs[0].endswith(LINES) or os.path.isdir(jobs[0])
    if several and (options["path"] or options["form"] not in ("text", "json")):
        raise click.UsageError(
            "Several programs give one plan per line as JSON: leave out --output, and use --format json."
        )
    if len(jobs) == 1 and jobs[0].endswith(LINES):
        sys.exit(_lines(jobs[0], settings))
    if len(jobs) > 1 or os.path.isdir(jobs[0]):
        files = list(_files(jobs))
        if not files:
            raise click.UsageError(f"There is no program (*.py) in {', '.join(jobs)}.")
        sys.exit(_many(files, options))
    sys.exit(_one(jobs[0], settings, options))


def _one(job: str, settings: LoadOptions, options: dict[str, Any]) -> int:
    if options["form"] == "html" or (options["path"] or "").startswith(PAGE):
        return _page(job, settings, options)
    try:
        with opened(job, arguments_for(job, options["arguments"])) as given:
            plans = _chosen(_loaded(given, settings), job, options["job"])
            if options["path"] or options["form"] == "json":
                plans = tuple(carrying(plan, given) for plan in plans)
    except InputError as error:
        return _failed(error, options["form"], settings)
    if options["path"]:
        _write(options["path"], plans, job)
    code = 0
    for number, item in enumerate(plans):
        code = 2 if isinstance(item, Refused) else code
        if options["path"]:
            if isinstance(item, Refused):
                _complain(item.error)
        elif options["form"] == "json":
            _print_json(item, job, number, len(plans))
        else:
            _print(item, options["form"], options["layer"])
    return code


def _loaded(given: Input, settings: LoadOptions) -> tuple[Plan | Refused, ...]:
    """The plans of a program; notes on how they were made go to standard error. Raises InputError."""
    notes: list[str] = []
    plans = load(given, settings, notes=notes)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return plans


def _chosen(plans: tuple[Plan | Refused, ...], job: str, number: int | None) -> tuple[Plan | Refused, ...]:
    """The plans, or the requested one. Raises a usage error if there is none of that number."""
    if number is None:
        return plans
    if not 0 <= number < len(plans):
        raise click.UsageError(f"{job} submits {len(plans)} job(s), counted from 0.")
    return (plans[number],)


def _page(job: str, settings: LoadOptions, options: dict[str, Any]) -> int:
    """Write or print the page of a program; a refusal gets a page too."""
    from compat.report.html import render_plans

    path = (options["path"] or "").removeprefix(PAGE)
    if options["path"] and not path:
        raise click.UsageError("--output html= names no file.")
    try:
        with opened(job, arguments_for(job, options["arguments"])) as given:
            outcomes: list[Plan | Refused | Failure] = [*_chosen(_loaded(given, settings), job, options["job"])]
    except InputError as error:
        outcomes = [error.failure]
    text = render_plans(outcomes, job)
    if path:
        _write_text(path, text)
    else:
        click.echo(text, nl=False)
    for outcome in outcomes:
        if isinstance(outcome, Refused):
            _complain(outcome.error)
        elif isinstance(outcome, Failure):
            click.echo(f"{outcome.name}: {outcome.rule}: {outcome.message}", err=True)
    return 2 if any(not isinstance(outcome, Plan) for outcome in outcomes) else 0


def _echo_json(plan: Plan | Refused) -> None:
    from compat.plan.writing import line

    click.echo(line(plan))


def _print_json(item: Plan | Refused, job: str, number: int, count: int) -> None:
    from compat.plan.writing import dump

    if count == 1:
        click.echo(dump(item), nl=False)
    else:
        _echo_json(replace(item, file=job, job=number))


def _print(item: Plan | Refused, form: str, layer: str | None) -> None:
    if isinstance(item, Refused):
        _complain(item.error)
        return
    if form == "svg":
        from compat.plan.svg import svg

        click.echo(svg(item, layer or "job"), nl=False)
        return
    from compat.plan.text import dot, text

    click.echo(dot(item, layer or "job") if form == "dot" else text(item, layer), nl=False)


def _complain(error: Refusal) -> None:
    where = f"{error.source.file}:{error.source.line}: " if error.source else ""
    click.echo(f"{where}{error.told}", err=True)


def _write(path: str, plans: tuple[Plan | Refused, ...], job: str) -> None:
    from compat.plan.writing import dump

    if len(plans) != 1:
        raise click.UsageError(
            f"{job} submits {len(plans)} jobs; a plan file holds one: say which with --job-number N."
        )
    _write_text(path, dump(plans[0]))


def _write_text(path: str, text: str) -> None:
    """Write a file. Raises a usage error if that is not possible."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}.") from error


def _failed(error: InputError, form: str, settings: LoadOptions) -> int:
    failure = error.failure
    if form == "json":
        _echo_json(_refused(error, settings))
        return 2
    click.echo(f"{failure.name}: {failure.rule}: {failure.message}", err=True)
    for line in (failure.traceback, _mending(failure), failure.hint):
        if line:
            click.echo(line, err=True)
    return 2


def _mending(failure: Failure) -> str | None:
    """The command that mends a failure, as a line; None if a person has something to fill in, or to write."""
    if failure.command is not None:
        return f"Run: {failure.command}"
    if failure.option is None or '"$' in failure.option:
        return None
    context = click.get_current_context()
    names = {str(one.name) for one in context.command.params}
    typed = ["compat plan", *map(shlex.quote, context.params["jobs"]), *written_options(context, names)]
    return f"Run: {' '.join([*typed, failure.option])}"


def _refused(error: InputError, settings: LoadOptions) -> Refused:
    """The record of an input without a plan, in place of its plan."""
    failure = error.failure
    return Refused(
        flink=settings.flink,
        error=Refusal(stage="build", class_name=failure.rule, message=failure.message, source=failure.source),
    )


def _lines(path: str, settings: LoadOptions) -> int:
    from compat.loader.topology import plans_of_lines

    code = 0
    try:
        for item in plans_of_lines(path, settings.flink, settings.options):
            code = 2 if isinstance(item, Refused) else code
            _echo_json(item)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}.") from error
    return code


def _many(files: list[str], options: dict[str, Any]) -> int:
    code = 0
    for file in files:
        settings = load_options(options, file)
        try:
            with opened(file, arguments_for(file, options["arguments"])) as given:
                plans = _loaded(given, settings)
        except InputError as error:
            code = 2
            _echo_json(replace(_refused(error, settings), file=file, job=0))
            continue
        for number, item in enumerate(plans):
            code = 2 if isinstance(item, Refused) else code
            _echo_json(replace(item, file=file, job=number))
    return code


def _files(jobs: tuple[str, ...]) -> Iterator[str]:
    """Files as given, and the programs of folders in the order of their names."""
    for job in jobs:
        if not os.path.isdir(job):
            yield job
            continue
        for name in sorted(os.listdir(job)):
            if name.endswith(".py"):
                yield os.path.join(job, name)
