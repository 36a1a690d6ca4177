"""``compat explain``: why an operator has another id."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import click
from msgspec.structs import replace

from compat.check.explain import steps, why_moved
from compat.check.mapping import map_state
from compat.check.similarity import recorded
from compat.cli.options import arguments_for, jars_of_old, load_options, load_options_of_old, loading, paths
from compat.cli.running import access_options, job_of_cluster
from compat.cli.spelled import job_number
from compat.escaping import visible
from compat.loader.inputs import InputError, InputKind, LoadOptions, load, opened
from compat.loader.jvm.warm import WarmJvms
from compat.plan.facts import Program, facts_of
from compat.savepoint.load import read_names, read_old
from compat.state.model.job import Refused
from compat.state.model.operators import Operator


@click.command("explain")
@click.argument("old", shell_complete=paths)
@click.argument("new", shell_complete=paths)
@click.argument("operator")
@click.option("--args", help="Arguments of both programs.")
@click.option("--old-args", help="Arguments of the program OLD (default: --args).")
@click.option("--new-args", help="Arguments of the program NEW (default: --args).")
@click.option(
    "--names", metavar="WRITER", help="For an OLD that is a savepoint: the program that wrote it, or a table."
)
@job_number
@access_options
@loading
@jars_of_old
def explain(old: str, new: str, operator: str, **options: Any) -> None:
    """Why OPERATOR (its name, uid or id) has another id in NEW. OLD may be a savepoint of Flink, or flink:URL.

    Case, spaces and marks in names do not matter. The beginning of a name is enough if it is unique.

    Example: compat explain job_v1.py job_v2.py count
    """
    settings = load_options(options, new)
    try:
        settings_old = load_options_of_old(options, settings)
        both = options["args"]
        of_old, of_new = (
            arguments_for(new, both if options[name] is None else options[name]) for name in ("old_args", "new_args")
        )
        with WarmJvms() as jvms:
            after = _program(new, of_new, settings, options["job"], jvms)
            running = job_of_cluster(old, options)
            if running is None:
                before = _program(old, of_old, settings_old, options["job"], jvms, options["names"], after)
            else:
                before = running.savepoint.program(old, after)
    except InputError as error:
        click.echo(error.told, err=True)
        sys.exit(2)
    mapping = map_state(before, after)
    first = _find(before, operator)
    partner = (
        next((item for item in after.operators if item.uid is not None and item.uid == first.uid), None)
        or next((item for item in after.operators if item.name == first.name), None)
        or mapping.successors.get(first.id)
        or {pair.old.id: pair.new for pair in mapping.pairs}.get(first.id)
    )
    if partner is None:
        click.echo(f"{first.label} has the id {first.id}; {new} has no such operator.")
        return
    if partner.id == first.id:
        other = "" if partner.label == first.label else f" NEW calls it {partner.label}."
        click.echo(visible(f"{first.label} has the same id on both sides: {first.id}.{other}"))
        return
    if recorded(first):
        click.echo(f"{visible(partner.label)}: {first.id} -> {partner.id}")
        click.echo(f"    {visible(why_moved(first, partner, before, after))}")
        return
    for step in steps(first, partner, before, after):
        click.echo(f"{visible(step.new.label)}: {step.old.id} -> {step.new.id}")
        click.echo(f"    old {step.old.source}, new {step.new.source}")
        for difference in step.differences or ("nothing of its own differs",):
            click.echo(f"    {visible(difference)}")


def _program(
    argument: str,
    arguments: tuple[str, ...],
    settings: LoadOptions,
    job: int | None,
    jvms: WarmJvms,
    names: str | None = None,
    new: Program | None = None,
) -> Program:
    """The job behind an argument. A savepoint is allowed only as OLD; its names come from ``new`` and ``names``."""
    with opened(argument, arguments) as given:
        if given.kind is InputKind.SAVEPOINT and new is not None:
            told = read_names(names, settings, job, arguments, jvms=jvms)
            program = read_old(given, told).program(argument, new)
            return program if told.program is None else _called_as_by(told.program, program)
        plans = load(given, settings, jvms=jvms)
    if names is not None:
        raise click.UsageError("--names names the operators of a savepoint, and OLD is not one.")
    if job is None and len(plans) > 1:
        raise click.UsageError(f"{argument} submits {len(plans)} jobs: say which with --job-number N, counted from 0.")
    job = job or 0
    if not 0 <= job < len(plans):
        raise click.UsageError(f"{argument} submits {len(plans)} job(s), counted from 0.")
    plan = plans[job]
    if isinstance(plan, Refused):
        click.echo(f"The plan is of a program that Flink refuses: {plan.error.message}", err=True)
        sys.exit(2)
    return facts_of(plan, name=argument, kind=given.kind)


def _called_as_by(writer: Program, savepoint: Program) -> Program:
    """A savepoint with the operator names of the program that wrote it: those are the names that its user knows."""
    known = writer.by_id
    called = (replace(one, name=known[one.id].name) if one.id in known else one for one in savepoint.operators)
    return replace(savepoint, operators=tuple(called))


def _find(program: Program, wanted: str) -> Operator:
    """The wanted operator: by its uid, name or id; else the one that matches apart from case and marks, or begins with it.

    The name of one that others were merged into is the part that is its own. Raises a usage error that names the nearest.
    """
    named: tuple[Callable[[Operator], str | None], ...] = (
        lambda one: one.uid,
        lambda one: one.name,
        lambda one: one.name.partition(", ")[0],
        lambda one: one.id,
    )
    tests: tuple[Callable[[str], bool], ...] = (
        lambda text: text == wanted,
        lambda text: _loose(text) == _loose(wanted),
        lambda text: _loose(text).startswith(_loose(wanted)),
        lambda text: _loose(wanted) in _loose(text),
    )
    for is_meant in tests if _loose(wanted) else tests[:1]:
        for name in named:
            found = {one.id: one for one in program.operators if (text := name(one)) is not None and is_meant(text)}
            if len(found) == 1 or (found and is_meant is tests[0]):
                return next(iter(found.values()))
            if found:
                raise _unclear(f"{program.name} has several operators like {wanted!r}", found.values())
    nearest = _nearest(program, wanted)
    if nearest:
        raise _unclear(f"{program.name} has no operator {wanted!r}. Did you mean", nearest, "?")
    raise _unclear(f"{program.name} has no operator {wanted!r}. It has", program.operators[:20])


def _loose(text: str) -> str:
    """A name without case, white space and marks: ``Count words`` is ``count-words``."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _nearest(program: Program, wanted: str) -> list[Operator]:
    by_name = {_loose(text): one for one in program.operators for text in (one.name, one.uid) if text is not None}
    near = get_close_matches(_loose(wanted), by_name, n=3)
    return list({by_name[name].id: by_name[name] for name in near}.values())


def _unclear(message: str, operators: Iterable[Operator], end: str = ".") -> click.BadParameter:
    names = ", ".join(visible(operator.label) for operator in operators)
    return click.BadParameter(f"{message}: {names}{end}".replace("mean:", "mean"), param_hint="'OPERATOR'")
