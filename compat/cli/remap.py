"""``compat remap``: writes a savepoint with other operator ids."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from compat.cli.options import load_options, loading
from compat.cli.rewritten import refusals, rewriting_options, say, say_files

if TYPE_CHECKING:
    from compat.savepoint.remap import Advice, Move
    from compat.state.flink import Remapped, Savepoint


@click.command("remap")
@click.argument("savepoint", type=click.Path())
@click.argument("out", type=click.Path())
@click.option(
    "--map", "written", multiple=True, metavar="OLD=NEW", help="An operator's id, uid or name, and its new id or uid."
)
@click.option(
    "--from-check",
    type=click.Path(exists=True, dir_okay=False),
    metavar="REPORT",
    help="Map each operator whose state no operator of NEW takes, by this report: from compat check SAVEPOINT "
    "NEW --output json=REPORT.",
)
@rewriting_options
@click.option(
    "--location", metavar="URI", help="The savepoint's folder as Flink reaches it, if that is not its path here."
)
@click.option("--dry-run", is_flag=True, help="Show what would be mapped, and write nothing.")
@loading
def remap(savepoint: str, out: str, **options: Any) -> None:
    """Write SAVEPOINT, a savepoint of Flink, to a new folder OUT with other operator ids.

    For programs that cannot be changed: sinks that refuse set_uid_hash, connectors with random uids, other people's jobs. All
    changes are made at once, so two operators can change places, and a sink's committers follow its uid. Only ids are
    changed, and OUT refers to the state files of SAVEPOINT: keep it as long as OUT is used, or give --copy.

    Exit codes: 0 written, 2 refused or not readable; then nothing is written. Existing files are never overwritten.

    Example: compat remap savepoint-1a2b3c/ savepoint-remapped/ --map cbc357ccb763df2852fee8c4fc7d55f2=counter
    """
    if not options["written"] and not options["from_check"]:
        raise click.UsageError("Name the operators: --map OLD=NEW, or --from-check REPORT.")
    if options["copy"] and options["location"] is not None:
        raise click.UsageError("--location says where state files stay; with --copy they are copied.")
    if options["location"] is not None and not (options["location"].startswith("/") or ":/" in options["location"]):
        raise click.UsageError(f"--location {options['location']!r} is neither a URI nor an absolute path.")
    with refusals():
        _remap(savepoint, out, options)


def _remap(path: str, out: str, options: dict[str, Any]) -> None:
    """Map the ids, show them, and write unless it is a dry run. Raises RequestError, InputError and SavepointError."""
    from compat.savepoint.load import read_names
    from compat.savepoint.remap import moves, read_advice
    from compat.state.flink import Changes, read_draft, self_contained, with_references
    from compat.state.flink.remote import read_savepoint, require_nothing, write_savepoint

    require_nothing(out)
    advice = None if options["from_check"] is None else read_advice(options["from_check"])
    draft = read_draft(read_savepoint(path))
    names = read_names(options["names"], load_options(options), options["job"], side=None)
    changed = moves(draft.savepoint, names, options["written"], advice)
    ids = Changes(ids={move.operator.id: move.new for move in changed})
    made = self_contained(draft, ids) if options["copy"] else with_references(draft, ids, options["location"])
    if not options["dry_run"]:
        write_savepoint(out, made)
    _show(draft.savepoint, path, out, changed, made, advice, dry_run=options["dry_run"])


def _show(
    savepoint: Savepoint,
    path: str,
    out: str,
    changed: tuple[Move, ...],
    made: Remapped,
    advice: Advice | None,
    *,
    dry_run: bool,
) -> None:
    """Print the mapping, what happened to the state files, and what to run next."""
    all_operators = len(savepoint.operators)
    begun = f"{out} would hold" if dry_run else f"{out} holds"
    say(f"{begun} {path} with other ids for {len(changed)} of {all_operators} operators; all else is the same.")
    for move in changed:
        uid = "" if move.new.uid is None else f" (uid {move.new.uid!r})"
        say(f"  {move.label} -> {move.new.id}{uid}")
    for left in () if advice is None else advice.left:
        say(f"  not mapped, as the report knows no operator of NEW for it: {left}")
    say_files(made, path, written=not dry_run)
    new = "new.py" if advice is None or advice.new_program is None else advice.new_program
    if dry_run:
        say("Nothing was written. Next: the same command without --dry-run")
    else:
        say(f"Next: compat check {shlex.quote(out)} {shlex.quote(new)}, then: flink run -s {shlex.quote(out)}")
