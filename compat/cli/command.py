"""The request that a command line of ``compat check`` makes: one record, made once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from compat import settings as configuration
from compat.check.findings import Level
from compat.check.moving import Moving
from compat.cli.fixing import is_source
from compat.cli.modes import Mode, mode_of
from compat.cli.options import (
    load_options_of_old,
    loading_settings,
    parse_deployment,
    split,
    written_options,
)
from compat.cli.project import complete, from_settings
from compat.cli.rehearsal import limit_of
from compat.cli.running import RUNNING_OPTIONS
from compat.loader.inputs import Limit, LoadOptions
from compat.report import ReportContext
from compat.report.context import Typed
from compat.settings import Output, Settings, SettingsError

if TYPE_CHECKING:
    from compat.deployment.resources import Deployment

MOST_JOBS = 99_999
EXPLAINING = frozenset({"text", "json", "markdown"})
"""The formats that show explanations."""


class CheckCommand(Struct, frozen=True, kw_only=True):
    """A call of ``compat check``: its mode, its inputs and its options.

    ``files`` are the named programs and snapshots, in order, ``typed`` is the part of the command line that the next
    commands repeat, ``moving`` the command that moves state. ``asked`` are the access options of Flink clusters.
    ``settings`` are the project's, overridden by the command line; ``load`` and ``load_old`` are the load options of
    the programs; ``loads`` gives those of NEW and OLD for one job of the project, whose settings may override them.
    ``job`` is the number of a job,
    ``job_name`` its name in a registry.
    """

    mode: Mode
    files: tuple[str, ...]
    typed: Typed
    moving: Moving
    settings: Settings
    load: LoadOptions
    load_old: LoadOptions
    loads: Callable[[str], tuple[LoadOptions, LoadOptions]]
    old_arguments: tuple[str, ...]
    new_arguments: tuple[str, ...]
    job: int | None
    job_name: str | None
    others: tuple[str, ...]
    against: str | None
    changed: bool
    skips: tuple[str, ...]
    of_project: bool
    savepoints: str | None
    pairs: str | None
    names: str | None
    server: str | None
    token_file: str | None
    commit: str | None
    author: str | None
    rollback: bool
    explain: bool
    fix: bool
    diff: bool
    verbose: bool
    color: str
    dry_run: bool
    write_baseline: bool
    write_recipe: Path | None
    rehearse: Limit | None
    asked: Mapping[str, str | None]
    deployment: Deployment | None
    old_deployment: Deployment | None

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The reports to make."""
        return self.settings.output or (Output("text"),)

    @property
    def formats(self) -> list[str]:
        """The formats of the reports to make."""
        return [output.format for output in self.outputs]

    @property
    def context(self) -> ReportContext:
        """The context of the reports: which findings count as failed."""
        settings = self.settings
        return ReportContext(
            fail_on=settings.fail_on or Level.ERROR,
            allow_unknown=bool(settings.allow_unknown),
            typed=self.typed,
            verbose=self.verbose or self.explain,
        )


def command_of(context: click.Context) -> CheckCommand:
    """The record of a command line. Raises usage errors for options that are invalid or would have no effect."""
    complete(context)
    _run_by_resource(context)
    mode = mode_of(context)
    given = context.params
    files = tuple(path for path in (given["old"], given["new"], *given["more"]) if path is not None)
    by_name = mode is Mode.SERVER
    if by_name and not given["job"]:
        raise click.UsageError("Name the job in the registry: --job NAME.")
    # Before there was --job-number, --job was the number where no server was asked.
    number = _number(given["job_number"], "--job-number")
    number = _number(given["job"], "--job") if number is None and not by_name else number
    near = given["new"] if mode is Mode.COMPARE else given["old"]
    deployment = parse_deployment(given["deployment"])
    of_old = parse_deployment(given["old_deployment"], "--old-deployment")

    def loads(job: str | None) -> tuple[LoadOptions, LoadOptions]:
        load = _settings(near, given, deployment, job).load_options()
        as_old = load if of_old is None else _settings(near, given, of_old, job).load_options()
        return load, load_options_of_old(given, as_old)

    job = files[1] if mode is Mode.COMPARE else None
    settings = _settings(near, given, deployment, job)
    entry = settings.entry(files[1]) if mode is Mode.COMPARE and given["args"] is None else None
    both = given["args"] if entry is None else entry.args
    load, load_old = loads(job)
    moving = _moving(context)
    return CheckCommand(
        mode=mode,
        files=files,
        typed=_typed(context, mode, files, moving),
        moving=moving,
        settings=settings,
        load=load,
        load_old=load_old,
        loads=loads,
        old_arguments=split(both if given["old_args"] is None else given["old_args"]),
        new_arguments=split(both if given["new_args"] is None else given["new_args"]),
        job=number,
        job_name=given["job"] if by_name else None,
        of_project=mode is Mode.AGAINST and from_settings(context, "old"),
        rehearse=limit_of(given["rehearse"], given["limit"]),
        asked={name: given[name] for name in ("old_flink", *RUNNING_OPTIONS)},
        deployment=deployment,
        old_deployment=of_old,
        **{name: given[name] for name in _AS_GIVEN},
    )


def _run_by_resource(context: click.Context) -> None:
    """Replace a NEW that is a resource of Flink's operator by the program that it runs, with the resource's options.

    Raises a usage error for a resource without a program, or whose program is not on this machine.
    """
    from compat.deployment.programs import YAML, NoProgram, program_of

    given = context.params
    resource = given["new"]
    if resource is None or not resource.endswith(YAML):
        return
    if given["deployment"] is not None:
        raise click.UsageError(f"--deployment has no effect: {resource} already says how NEW is deployed.")
    deployment = parse_deployment(resource, "NEW")
    assert deployment is not None
    try:
        runs = program_of(deployment, Path(resource))
    except NoProgram as error:
        usage = f"Name the program: compat check {given['old']} PROGRAM --deployment {resource}."
        raise click.UsageError(f"{error} {usage}") from error
    said = {"deployment": resource, "main_class": runs.main_class, "new_args": shlex.join(runs.arguments) or None}
    given["new"] = os.path.relpath(runs.file)
    for name, value in said.items():
        if value is not None and given[name] is None:
            given[name] = value
            context.set_parameter_source(name, ParameterSource.COMMANDLINE)


_ONCE = frozenset({"fix", "diff", "verbose", "explain", "color", "outputs", "form", "write_baseline", "write_recipe"})
"""The options of ``compat check``, by parameter name, that concern only this call: they are not repeated."""


_TAKE_FIX = (Mode.COMPARE, Mode.SERVER, Mode.AGAINST)
"""The modes whose next command can have ``--fix``."""


def _typed(context: click.Context, mode: Mode, files: tuple[str, ...], moving: Moving) -> Typed:
    """The part of a command line that the next commands repeat."""
    quoted = [shlex.quote(file) for file in files]
    given = context.params
    pushed = None
    if mode is Mode.SERVER:
        from compat.cli.push import push

        pushed = " ".join(
            ["compat registry push", *written_options(context, {str(one.name) for one in push.params}), *quoted]
        )
    every = {str(one.name) for one in context.command.params}
    options = list(written_options(context, every - _ONCE - {"against", "changed", "skips"}))
    return Typed(
        check=None if mode is Mode.AGAINST else " ".join(["compat check", *quoted, *options]),
        options=" ".join(options),
        push=pushed,
        fixable=mode in _TAKE_FIX and all(map(is_source, files[-1:] if mode is Mode.COMPARE else files)),
        fixed=given["fix"] and not given["diff"],
        definitions=tuple(map(shlex.quote, given["definitions"])),
        recipe=shlex.quote(moving.recipe) if mode is Mode.COMPARE else None,
        recipe_written=given["write_recipe"] is not None,
    )


def _moving(context: click.Context) -> Moving:
    """How the next command moves state: by the recipe that this command writes, with its options for NEW."""
    from compat.cli.migrate import migrate
    from compat.cli.run import run

    given = context.params
    recipe = given["write_recipe"]
    arguments = given["args"] if given["new_args"] is None else given["new_args"]
    with_arguments = [] if arguments is None else [f"--args {shlex.quote(arguments)}"]

    def repeated(command: click.Command, *besides: str) -> str:
        options = {str(one.name) for one in command.params if isinstance(one, click.Option)}
        names = options - {"recipe", "names", "color", "allow_unknown", "args", "token_file"}
        return " ".join([*written_options(context, {*names, *besides}), *with_arguments])

    return Moving(
        recipe=str(recipe or _free("recipe", ".yaml")),
        out=_free("migrated"),
        options=repeated(migrate, "job_number"),
        options_of_run=repeated(run),
    )


def _free(name: str, suffix: str = "") -> str:
    """A file name that is unused in this folder."""
    numbered = (f"{name}{'' if number == 1 else f'-{number}'}{suffix}" for number in count(1))
    return next(one for one in numbered if not os.path.lexists(one))


_AS_GIVEN = (
    *(
        "others",
        "against",
        "changed",
        "skips",
        "savepoints",
        "pairs",
        "names",
        "server",
        "token_file",
        "commit",
        "author",
    ),
    *("rollback", "explain", "fix", "diff", "verbose", "color", "dry_run", "write_baseline", "write_recipe"),
)


def _reports(given: dict[str, Any]) -> Iterator[str]:
    yield from given["outputs"]
    if given["form"] is not None:
        if "=" in given["form"]:
            raise ValueError(f"{given['form']!r} is not a format; to write to a file, use --output FORMAT=PATH")
        yield given["form"]


def _number(job: str | None, option: str) -> int | None:
    if job is not None and not job.isdecimal():
        raise click.BadParameter(f"{job!r} is not a number; job names need --server.", param_hint=f"'{option}'")
    if job is not None and len(job) > len(str(MOST_JOBS)):
        raise click.BadParameter(f"a program submits at most {MOST_JOBS} jobs.", param_hint=f"'{option}'")
    return None if job is None else int(job)


def _settings(
    near: str | None, given: dict[str, Any], deployment: Deployment | None, job: str | None = None
) -> Settings:
    """The settings of a file, overridden by those of a job, of a deployment and of the command line, in this order."""
    deployed = {} if deployment is None else deployment.options
    try:
        found = configuration.find(Path.cwd(), *([Path(near)] if near and not near.startswith("git:") else []))
        of_build = loading_settings(given)
        command_line = replace(
            of_build,
            fail_on=None if given["fail_on"] is None else Level(given["fail_on"]),
            allow_unknown=given["allow_unknown"],
            allow_non_restored_state=given["allow_non_restored_state"],
            flink=of_build.flink or (None if deployment is None else deployment.flink),
            baseline=given["baseline"],
            output=tuple(configuration.parse_output(text) for text in _reports(given)) or None,
            options={**deployed, **of_build.options},
        )
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--output'") from error
    chosen = (found if job is None else found.of_job(job)).under(command_line)
    if given["write_baseline"] and chosen.baseline is None:
        raise click.UsageError("--write-baseline needs --baseline FILE.")
    formats = [output.format for output in chosen.output or (Output("text"),)]
    if given["explain"] and not given["pairs"] and not EXPLAINING & set(formats):
        raise click.UsageError(
            f"--explain has no effect with --output {formats[0]}: add --output {' or '.join(sorted(EXPLAINING))}."
        )
    return chosen
