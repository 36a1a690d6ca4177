"""The ways to call ``compat check``, and which options go with which.

An option without effect is refused with advice: a check that looks stricter than it was is worse than none. Options that ask
for less (``--timeout``, ``--no-open``) always have their effect, and go with
everything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

import click
from click.core import ParameterSource

from compat.cli.project import from_settings
from compat.cli.running import RUNNING_OPTIONS
from compat.loader.inputs import InputError, InputKind, is_running, opened


class Mode(Enum):
    """A way to say what is compared; the value is the name of the parameter that chooses it."""

    COMPARE = None
    AGAINST = "against"
    SAVEPOINTS = "savepoints"
    PAIRS = "pairs"
    SERVER = "server"


_USAGE = {
    Mode.COMPARE: "compat check OLD NEW",
    Mode.AGAINST: "compat check --against REF FILE…",
    Mode.SAVEPOINTS: "compat check --savepoints DIR NEW",
    Mode.PAIRS: "compat check --pairs FILE",
    Mode.SERVER: "compat check --server URL --job NAME NEW",
}

_RECORDED = "nothing is recorded without a server: compat check --server URL --job NAME NEW"
_RUNS = "OLD is no job that runs: compat check flink:http://HOST:8081/NAME NEW"
_NO_CLUSTER = dict.fromkeys(RUNNING_OPTIONS, _RUNS)
_NOT_RECORDED = {"token_file": _RECORDED, "commit": _RECORDED, "author": _RECORDED}
_DRY_RUN = "a dry run restores one snapshot: compat check SNAPSHOT NEW --try-restore"
_REHEARSE = "a rehearsal restores a savepoint: compat check SAVEPOINT NEW --rehearse"
_RECIPE = "a recipe is for one pair: compat check OLD NEW --write-recipe FILE"
_FIX = "it repairs one NEW: compat check OLD NEW --fix"
_ALSO = "further OLDs go with compat check OLD NEW --also OLD2"
_NO_PROGRAM = "OLD is not a program that is started here"
_NAMES = "it gives names to a savepoint, and OLD is not one"

_AGAINST = "it is about the jobs of a project: compat check --against REF FILE…"
_OF_A_PROJECT = {"changed": _AGAINST, "skips": _AGAINST}

_BUILT_BY_FLINK = tuple(kind for kind in InputKind if kind.built_by_flink)
_JARS_AND_SQL = (_BUILT_BY_FLINK, "jars and SQL")
_PYTHON = ((InputKind.PROGRAM,), "programs in Python")
_SERVED: Mapping[str, tuple[tuple[InputKind, ...], str]] = {
    "flink_home": _JARS_AND_SQL,
    "flink_version": _JARS_AND_SQL,
    "main_class": _JARS_AND_SQL,
    "runtime_properties": ((InputKind.JAR, InputKind.PROGRAM), "jars and programs in Python"),
    "classpath": ((*_BUILT_BY_FLINK, InputKind.PROGRAM), "jars, SQL and programs with the Table API"),
    "connector": ((*_BUILT_BY_FLINK, InputKind.PROGRAM), "jars, SQL and programs with the Table API"),
    "pyflink": _PYTHON,
    "exact": _PYTHON,
    "env": _PYTHON,
    "pyfiles": _PYTHON,
    "strict_imports": _PYTHON,
}
"""Options that change how a job is built but apply to some kinds of inputs only, with the kinds in words."""

_OF_BOTH = ("exact", "strict_imports")
_OF_OLD = ("old_args", *(f"old_{name}" for name in _SERVED if name not in _OF_BOTH))

REFUSED: Mapping[Mode, Mapping[str, str]] = {
    Mode.COMPARE: _NOT_RECORDED | {"skips": _AGAINST},
    Mode.AGAINST: _NOT_RECORDED
    | _NO_CLUSTER
    | {"write_recipe": _RECIPE}
    | {
        "rehearse": _REHEARSE,
        "limit": _REHEARSE,
        "dry_run": _DRY_RUN,
        "fix": _FIX,
        "diff": _FIX,
        "others": _ALSO,
        "names": _NAMES,
    },
    Mode.SAVEPOINTS: _NOT_RECORDED
    | _NO_CLUSTER
    | {"write_recipe": _RECIPE}
    | _OF_A_PROJECT
    | {
        "dry_run": _DRY_RUN,
        "fix": _FIX,
        "diff": _FIX,
        "others": _ALSO,
        "rollback": "a savepoint is not a program to go back to; name OLD: compat check OLD NEW --rollback",
        **dict.fromkeys(_OF_OLD, _NO_PROGRAM),
    },
    Mode.PAIRS: _NOT_RECORDED
    | _NO_CLUSTER
    | {"write_recipe": _RECIPE}
    | _OF_A_PROJECT
    | {
        "rehearse": _REHEARSE,
        "limit": _REHEARSE,
        "dry_run": _DRY_RUN,
        "fix": _FIX,
        "diff": _FIX,
        "others": "give each OLD its own line",
        "outputs": "it prints a JSON report a line",
        "form": "it prints a JSON report a line",
        "rollback": "give the pair a second line, with its sides exchanged",
        "write_baseline": "write it for one pair: compat check OLD NEW --write-baseline --baseline FILE",
    },
    Mode.SERVER: {
        **_OF_A_PROJECT,
        "write_recipe": _RECIPE,
        **_NO_CLUSTER,
        "rehearse": _REHEARSE,
        "limit": _REHEARSE,
        "dry_run": _DRY_RUN,
        "names": _NAMES,
        **dict.fromkeys(("old_flink", *_OF_OLD), _NO_PROGRAM),
        "others": "the service keeps one version as the one that runs; " + _ALSO,
        "rollback": "OLD is a plan that the service keeps; name the program: compat check OLD NEW --rollback",
        "write_baseline": "write it from a check of two programs: compat check OLD NEW --write-baseline --baseline FILE",
    },
}
"""Options without effect in a mode, by parameter name, and what to do instead."""

_NOT_STARTED = frozenset(
    {InputKind.TOPOLOGY, InputKind.PLAN, InputKind.SAVEPOINT, InputKind.SQL, InputKind.COMPILED_PLAN}
)
_NOT_WRITTEN = "the findings go to the baseline, and no report is made: run it again without --write-baseline"
_WITH: Mapping[str, Mapping[str, str]] = {
    "write_baseline": {
        "outputs": _NOT_WRITTEN,
        "form": _NOT_WRITTEN,
        "fail_on": "all findings are written, of whatever level",
        "allow_unknown": "all findings are written, of whatever level",
        "explain": _NOT_WRITTEN,
        "dry_run": _NOT_WRITTEN,
        "write_recipe": "the findings go to the baseline, and no recipe is made: run it again without --write-baseline",
    },
    "dry_run": {
        "rollback": "OLD is a snapshot, not a program to go back to: leave out --rollback",
        "rehearse": "a dry run is for jobs on Spark, a rehearsal for savepoints of Flink: use one of them",
    },
    "rehearse": {"rollback": "OLD is a savepoint, not a program to go back to: leave out --rollback"},
}
"""Options without effect together with another one, by parameter names."""

_ONLY_WITH = (("limit", "rehearse", "how much --rehearse restores"), ("diff", "fix", "that --fix only shows its edits"))
"""Options without effect unless another one is given, with what they change."""


def mode_of(context: click.Context) -> Mode:
    """The mode that a command line asks for. Raises a usage error for an option that has no effect in it.

    A server named only by the environment is asked if nothing else says what OLD is.
    """
    asked = [mode for mode in Mode if mode.value is not None and _chosen(context, mode.value)]
    values = context.params
    if len(asked) > 1:
        raise click.UsageError(
            f"{' and '.join(_flag(context, mode.value) for mode in asked)} both say what to compare: use one of them."
        )
    mode = asked[0] if asked else Mode.COMPARE
    if not asked and values["server"] and values["old"] is not None and values["new"] is None:
        mode = Mode.SERVER
    _require_arguments(mode, values)
    what = _USAGE[mode] if mode.value is None else _flag(context, mode.value)
    for name, advice in REFUSED[mode].items():
        if _given(context, name) and not (name in _OF_OLD and _named_by_program(context)):
            raise click.UsageError(f"{_flag(context, name)} has no effect with {what}: {advice}.")
    for name, needed, what in _ONLY_WITH:
        if _given(context, name) and not _given(context, needed):
            raise click.UsageError(f"{_flag(context, name)} has no effect here: it says {what}, so add that.")
    for name, others in _WITH.items():
        for other, advice in others.items() if _given(context, name) else ():
            if _given(context, other):
                raise click.UsageError(f"{_flag(context, other)} has no effect with {_flag(context, name)}: {advice}.")
    return mode


def require_programs(context: click.Context, olds: tuple[str, ...], new: str) -> None:
    """Refuse options that are only for programs, or only for savepoints, if there are none. Raises a usage error."""
    kinds = {_kind(old) for old in olds}
    for name in RUNNING_OPTIONS:
        if _given(context, name) and not any(map(is_running, olds)):
            raise click.UsageError(f"{_flag(context, name)} has no effect here: {_RUNS}.")
    if _given(context, "names") and _named_by_program(context):
        kinds |= {_kind(context.params["names"])}
    if _given(context, "names") and InputKind.SAVEPOINT not in kinds and None not in kinds:
        raise click.UsageError(f"{_flag(context, 'names')} has no effect here: {_NAMES}.")
    if _given(context, "rehearse"):
        _require_rehearsal(olds, new)
    for name, sides, those in (
        ("old_args", kinds, " and ".join(olds)),
        ("new_args", {_kind(new)}, new),
        ("args", {*kinds, _kind(new)}, "OLD or NEW"),
    ):
        if _given(context, name) and sides <= _NOT_STARTED:
            raise click.UsageError(f"{_flag(context, name)} has no effect here: no program is started for {those}.")
    if _given(context, "definitions") and {*kinds, _kind(new)} <= {InputKind.PLAN, InputKind.SAVEPOINT}:
        raise click.UsageError("-D has no effect here: both plans are made already. Give it to compat plan.")
    chosen = {*kinds, _kind(new)}
    for prefix, sides, those in (("", chosen, "OLD and NEW are"), ("old_", kinds, "OLD is")):
        for option, (served, what) in _SERVED.items():
            name = prefix + option
            if name in context.params and _given(context, name) and not sides & {*served, None}:
                raise click.UsageError(
                    f"{_flag(context, name)} has no effect here: it is for {what}, which {those} not."
                )


def _named_by_program(context: click.Context) -> bool:
    """True if --names is a program, which is loaded like OLD."""
    names = context.params["names"]
    return names is not None and _given(context, "names") and os.path.splitext(names)[1] not in (".txt", ".csv", ".tsv")


def _require_rehearsal(olds: tuple[str, ...], new: str) -> None:
    """Refuse to rehearse a snapshot that Flink did not write, or into a program that Flink does not build. Raises a
    usage error.
    """
    for old in olds:
        kind = _kind(old)
        if kind is not InputKind.SAVEPOINT:
            what = "" if kind is None else f", and {old} is a {kind}"
            raise click.UsageError(f"--rehearse restores a savepoint or checkpoint of Flink{what}.")
    kind = _kind(new)
    if kind is None or not kind.built_by_flink:
        what = "" if kind is None else f", and {new} is a {kind}"
        raise click.UsageError(f"--rehearse restores into a job that Flink builds, a jar or SQL{what}.")


def _kind(argument: str) -> InputKind | None:
    """The kind of input that an argument names; None if that shows only when it is loaded."""
    if is_running(argument):
        return InputKind.SAVEPOINT
    if argument.startswith("git:"):
        return InputKind.PROGRAM if argument.endswith(".py") else None
    with suppress(InputError), opened(argument) as given:
        return given.kind
    return None


def _require_arguments(mode: Mode, values: Mapping[str, Any]) -> None:
    files = [path for path in (values["old"], values["new"], *values["more"]) if path is not None]
    usage = _USAGE[mode]
    match mode:
        case Mode.COMPARE if len(files) > 2:
            raise click.UsageError(
                f"Two programs are compared, and {files[2]} is a third one; further OLDs go with --also."
            )
        case Mode.COMPARE if len(files) < 2:
            raise click.UsageError(
                f'Two programs are needed: {usage}. In a project whose settings have jobs = ["jobs/*.py"] and baseline = '
                '"git:origin/main", compat check alone checks them all.'
            )
        case Mode.AGAINST if not files and not values["changed"]:
            raise click.UsageError(f"--against takes files: {usage}.")
        case Mode.SAVEPOINTS | Mode.SERVER if len(files) != 1:
            raise click.UsageError(f"--{mode.value} checks one NEW, and here are {len(files)}: {usage}.")
        case Mode.PAIRS if files:
            raise click.UsageError(f"--pairs reads OLD and NEW from its file, so {files[0]} has no effect: {usage}.")
        case _:
            pass


def _chosen(context: click.Context, name: str) -> bool:
    """Whether an option is on the command line or in the project's settings."""
    return _given(context, name) or from_settings(context, name)


def _given(context: click.Context, name: str) -> bool:
    """Whether an option is on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _flag(context: click.Context, name: str | None) -> str:
    """The spelling of an option."""
    (parameter,) = (one for one in context.command.params if one.name == name)
    return next((option for option in parameter.opts if option.startswith("--")), parameter.opts[0])
