"""``compat migrate``: writes a savepoint whose state fits a new version."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from compat.cli.options import (
    arguments_for,
    color_option,
    colored,
    flink_of_old,
    load_options,
    loading,
    paths,
    project_settings,
    where_flink_of_old_is,
    written_options,
)
from compat.cli.progress import shown
from compat.cli.rehearsal import limit_of
from compat.cli.rewritten import REFUSED, refusals, rewriting_options, say, say_files

if TYPE_CHECKING:
    from compat.comparison import Comparison
    from compat.loader.inputs import LoadOptions
    from compat.loader.jvm.warm import WarmJvms
    from compat.migration.migrating import Migrated, Migration
    from compat.state.flink.header_parts import StateKey


def _machine(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    """The number of a machine, and how many there are, from ``2/8``."""
    number, _, machines = value.partition("/")
    if number.isdecimal() and machines.isdecimal() and 1 <= int(number) <= int(machines):
        return int(number), int(machines)
    raise click.BadParameter(f"{value!r} is not K/N with K from 1 to N, such as 2/8.")


@click.command("migrate")
@click.argument("savepoint", type=click.Path(), shell_complete=paths)
@click.argument("new", shell_complete=paths)
@click.argument("out", type=click.Path())
@click.option(
    "--recipe",
    metavar="FILE",
    help="The recipe, which says step by step how to migrate the state: from compat check SAVEPOINT NEW --write-recipe FILE.",
)
@click.option(
    "--canonical",
    is_flag=True,
    help="Write all keyed state in the canonical format, which any state backend restores; needs no recipe.",
)
@click.option(
    "--native",
    type=click.Choice(["hashmap", "rocksdb"]),
    help="For jars and SQL: write all keyed state in the format of this state backend, which restores it faster.",
)
@rewriting_options
@click.option(
    "--write-back",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a recipe for the way back: it migrates NEW's savepoints for the program that wrote SAVEPOINT.",
)
@click.option("--args", help="Arguments of the program NEW.")
@click.option("--dry-run", is_flag=True, help="Do everything, but keep nothing.")
@click.option("--allow-unknown", is_flag=True, help="Keep OUT even if its check has open questions.")
@click.option(
    "--rehearse-limit",
    "limit",
    metavar="SIZE",
    help="For jars and SQL: how much of OUT's state is restored into NEW, here (default 256MB).",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many processes write state at once, where there is much of it (default: the number of cores).",
)
@click.option(
    "--machine",
    metavar="K/N",
    default="1/1",
    callback=_machine,
    help="For much state: run the same command on N machines, each with its number K, from 1; all have to see SAVEPOINT and "
    "OUT under the same paths.",
)
@color_option
@loading
@where_flink_of_old_is
def migrate(savepoint: str, new: str, out: str, **options: Any) -> None:
    """Write OUT, a copy of Flink's SAVEPOINT in which NEW finds its state.

    States are renamed, moved to other operators, or dropped by name; classes, fields and constants get the names that they have
    now, and values are written as NEW writes them. Before OUT appears, it is read back, counted and checked against
    NEW; for jars and SQL, it is also restored here. SAVEPOINT is never changed; without --copy, OUT refers to its
    files. Functions that the recipe names run in separate processes, the only ones that unpickle Python values. From
    other storage (s3://…), all files of SAVEPOINT are copied; OUT can be there, too.

    Exit codes: 0 written, 1 NEW would not restore all of it, 2 refused or undecided; nothing is written then.

    Example: compat migrate savepoint-1a2b3c/ new.py savepoint-migrated/ --recipe recipe.yaml
    """
    from compat.loader.jvm.warm import WarmJvms
    from compat.migration.migrating import migrate as migrated
    from compat.migration.migrating import take_part

    with refusals(), WarmJvms() as jvms:
        migration = _migration(savepoint, new, out, options, jvms)
        if not migration.crew.leads:
            take_part(migration, jvms, shown)
            say(f"This machine has done its share: machine 1 finishes {out}.")
            return
        done = migrated(migration, jvms, shown)
    _show(savepoint, migration, done, options)
    if done.passed and options["write_back"] is not None:
        _write_back(options["write_back"], migration)
    sys.exit(_code(done))


def _migration(savepoint: str, new: str, out: str, options: dict[str, Any], jvms: WarmJvms) -> Migration:
    """The migration that the command line asks for. Raises RequestError, InputError and SavepointError."""
    from compat.compiler.control_group import cores
    from compat.migration.migrating import Migration
    from compat.migration.recipe import Recipe, read_recipe
    from compat.savepoint.load import read_names
    from compat.state.flink import read_draft
    from compat.state.flink.crew import Crew
    from compat.state.flink.remote import is_remote, read_savepoint, require_nothing

    require_nothing(out)
    if options["canonical"] and options["native"] is not None:
        raise click.UsageError("--canonical and --native exclude one another: state has one format.")
    if options["recipe"] is None and not options["canonical"] and options["native"] is None:
        raise click.UsageError(
            "Give --recipe FILE, from compat check SAVEPOINT NEW --write-recipe FILE, or --canonical, or --native."
        )
    if options["machine"] != (1, 1) and is_remote(out):
        raise click.UsageError("With --machine, OUT is in a folder that all machines have mounted: copy it from there.")
    recipe = Recipe(steps=()) if options["recipe"] is None else read_recipe(options["recipe"])
    load, old_flink = load_options(options, new), flink_of_old(options)
    return Migration(
        draft=read_draft(read_savepoint(savepoint)),
        recipe=recipe,
        names=read_names(options["names"], replace(load, jars=old_flink.over(load.jars)), options["job"], jvms=jvms),
        check=_check(out, new, options, load),
        old=_program(options["names"]),
        old_flink=old_flink,
        copy=options["copy"] or is_remote(savepoint),
        canonical=options["canonical"],
        native=options["native"],
        keep=not options["dry_run"],
        allow_unknown=options["allow_unknown"],
        crew=Crew(options["processes"] or max(1, int(cores())), *options["machine"]),
    )


def _program(names: str | None) -> str | None:
    """The program that ``--names`` gives; None if it gives a table."""
    from compat.savepoint.names import TABLES

    return None if names is None or names.endswith(TABLES) else names


def _check(out: str, new: str, options: dict[str, Any], load: LoadOptions) -> Comparison:
    """The check of OUT and NEW; if Flink builds NEW, with a rehearsal."""
    from compat.comparison import Comparison
    from compat.loader.inputs import opened

    with opened(new) as given:
        rehearse = limit_of(given.kind.built_by_flink, options["limit"])
    return Comparison(
        old=out,
        new=new,
        load=load,
        new_arguments=arguments_for(new, options["args"]),
        job=options["job"],
        ignored=project_settings(new).ignore,
        rehearse=rehearse,
    )


def _write_back(path: Path, migration: Migration) -> None:
    """Write the recipe that undoes the migration, and print its contents and what is lost."""
    from compat.check.moving import Moving
    from compat.cli.recipes import write_recipe
    from compat.migration.going_back import inverse_of, written_back
    from compat.savepoint.operators import Operators

    back = inverse_of(migration.recipe, Operators(migration.draft.savepoint, migration.names))
    old, new = migration.old or "OLD", migration.check.new
    run = Moving(recipe=str(path), out="back").command(None, old, new)
    say(f"{write_recipe(path, written_back(back, old, new, run), back.proposals)} It is the way back to {old}.")
    for line in back.lost:
        say(f"  {line}")


def _code(done: Migrated) -> int:
    from compat.check.findings import Verdict

    if done.passed:
        return 0
    undecided = any(outcome.verdict is Verdict.UNKNOWN for outcome in done.outcomes.outcomes)
    return REFUSED if undecided else 1


def _show(path: str, migration: Migration, done: Migrated, options: dict[str, Any]) -> None:
    """Print what happened to the state; if NEW does not restore OUT, the report."""
    out, new = migration.check.old, migration.check.new
    begun = f"{out} holds {path}" if done.kept else f"{out} would hold {path}"
    say(f"{begun} for {new}:")
    for line in (*_states(done, options), *_operators(done)):
        say(f"  {line}")
    if not done.passed:
        _say_why_not(done, options["color"])
        return
    say_files(done.made, path, written=done.kept)
    if all(outcome.verdict.restores for outcome in done.outcomes.outcomes):
        say(f"It was read back and checked: {new} restores all of it.")
    else:
        _say_report(done, options["color"])
        say(f"It was read back. Whether {new} restores all of it is not known; --allow-unknown allowed that.")
    if not done.kept:
        say("Nothing was kept. Next: the same command without --dry-run")
    else:
        say(f"Its digest is {done.digest}: that is the state that was checked.")
        say(f"Next: {' or '.join(_starts(done, options['definitions'])) or f'flink run -s {shlex.quote(out)}'}")


def _starts(done: Migrated, definitions: tuple[str, ...]) -> tuple[str, ...]:
    """The commands that start NEW from OUT, with the given options of Flink."""
    from compat.check.findings import Report
    from compat.report.context import Typed
    from compat.report.following import start

    reports = [one for one in done.outcomes.outcomes if isinstance(one, Report)]
    return start(reports[0], Typed(definitions=tuple(map(shlex.quote, definitions)))) if len(reports) == 1 else ()


def _states(done: Migrated, options: dict[str, Any]) -> Iterator[str]:
    """What happened to each state that a step names."""
    transfer, labels = done.resolved.transfer, done.resolved.labels
    for key, target in transfer.states.items():
        entries = _entries(done, key)
        if target is None:
            yield f"{labels[key.operator]}: {key.name} dropped"
        elif target.operator == key.operator:
            yield f"{labels[key.operator]}: {key.name} -> {target.name}, {entries}"
        else:
            yield f"{labels[key.operator]}: {key.name} -> {target.name} of {labels[target.operator]}, {entries}"
    for key in transfer.converted:
        yield f"{labels[key.operator]}: {key.name} converted, {_entries(done, key)}"
    for id, change in transfer.keys.items():
        if change.conversion is not None:
            yield f"{labels[id]}: keys converted"
        if change.windows is not None:
            yield f"{labels[id]}: windows of {change.windows.size:,} ms"
        if change.dropped is not None:
            gone = sum(number for key, number in done.tally.dropped.items() if key.operator == id)
            yield f"{labels[id]}: keys dropped, with {_counted(gone)}"
    for key, number in done.tally.merged.items():
        yield f"{labels[key.operator]}: {key.name} merged, {_counted(number)} into others"
    if options["native"] is not None:
        yield f"keyed state in the format of {options['native']}, {_counted(done.by_flink)}"
    elif transfer.canonical:
        written = done.by_flink + sum(number for key, number in done.entries.items() if key.keyed)
        yield f"keyed state in the canonical format, {_counted(written)} written anew"
    for name, now in transfer.types.classes.items():
        yield f"class {name} -> {now}"
    for field, now in transfer.types.fields.items():
        yield f"{field.owner}: {field.name} -> {now}"


def _entries(done: Migrated, key: StateKey) -> str:
    gone = done.tally.dropped.get(key, 0)
    return _counted(done.entries.get(key, 0)) + (f", {gone:,} dropped" if gone else "")


def _counted(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def _operators(done: Migrated) -> Iterator[str]:
    """What happened to each operator that a step names."""
    transfer, labels = done.resolved.transfer, done.resolved.labels
    for id, new in transfer.ids.items():
        yield f"{labels[id]} -> {new.id}" + ("" if new.uid is None else f" (uid {new.uid!r})")
    for id in transfer.dropped:
        yield f"{labels[id]} dropped"


def _say_report(done: Migrated, color: str) -> None:
    """Print the report on OUT. OUT may not be kept: the command to run next is this one, with what the report asks for."""
    from compat.report import ReportContext, render
    from compat.report.context import Typed

    called = click.get_current_context()
    given = [shlex.quote(called.params[name]) for name in ("savepoint", "new", "out")]
    options = written_options(called, {str(one.name) for one in called.command.params} - {"color"})
    outcomes, typed = done.outcomes, Typed(check=" ".join(["compat migrate", *given, *options]))
    context = ReportContext(sources=outcomes.sources, color=colored(color), typed=typed)
    click.echo(render("text", list(outcomes.outcomes), context), nl=False, color=True)


def _say_why_not(done: Migrated, color: str) -> None:
    from compat.check.findings import Fate

    _say_report(done, color)
    lost = [account for account in done.open if account.fate is not Fate.UNKNOWN]
    for account in lost:
        state = "further states" if account.state is None else f"state {account.state.name!r}"
        say(f"The recipe has no step for the {state} of {account.old.name!r}: {account.fate.value}.")
    undecided = done.open and not lost
    say(f"Nothing was written. {_SETTLE if undecided else 'Change the recipe, or NEW.'}")


_SETTLE = "Settle what is unknown, or keep OUT nevertheless with --allow-unknown."
