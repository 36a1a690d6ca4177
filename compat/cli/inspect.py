"""``compat inspect``: shows the contents of a savepoint or checkpoint."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import click

from compat.cli.options import load_options, loading
from compat.cli.running import access_options, job_of_cluster

UNREADABLE = 2


@click.command("inspect")
@click.argument("argument", metavar="SNAPSHOT", type=click.Path())
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "tree", "json"]),
    default="text",
    help="Output format: a table, a tree with types, or JSON.",
)
@click.option(
    "--names",
    metavar="OLD",
    help="The program that wrote the snapshot, or a table of uids, for the names of operators.",
)
@click.option("--job-number", metavar="N", type=int, help="Which job of a program that submits several, from 0.")
@access_options
@loading
def inspect(argument: str, form: str, **options: Any) -> None:
    """Show the operators, states, key groups and sizes of a savepoint or checkpoint, of Flink or of a job on Spark.

    For the latest snapshot of a running job, give flink:http://HOST:8081/NAME or k8s:NAMESPACE/NAME. Flink before 2.0
    records no operator names: --names adds them.

    Exit codes: 0 read, 1 state files are missing, 2 it could not be read.

    Example: compat inspect savepoint-1a2b3c/ --format tree
    """
    found = _of_cluster(argument, options) or read(argument)
    if options["names"] is not None:
        found = _named(found, options)
    if form == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        from compat.report import inspection

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        click.echo((inspection.tree if form == "tree" else inspection.table)(found, argument, width), nl=False)
    if found["missing_files"]:
        sys.exit(1)


def _of_cluster(argument: str, options: dict[str, Any]) -> dict[str, Any] | None:
    """The contents of the latest snapshot of a running job; None for any other argument. Ends the command as `read` does."""
    from compat.loader.inputs import InputError
    from compat.savepoint.describe import named

    try:
        job = job_of_cluster(argument, options)
    except InputError as error:
        click.echo(error.line, err=True)
        sys.exit(UNREADABLE)
    if job is None:
        return None
    if not job.savepoint.recorded.metadata:
        click.echo(job.savepoint.notes[0], err=True)
        sys.exit(UNREADABLE)
    return named(read(job.input.path), job.savepoint.names)


def _named(found: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The contents with operator names from the options; ends the command if these cannot be read."""
    from compat.loader.inputs import InputError
    from compat.savepoint.describe import named
    from compat.savepoint.load import read_names

    try:
        return named(found, read_names(options["names"], load_options(options), options["job_number"], side=None))
    except InputError as error:
        click.echo(error.told, err=True)
        sys.exit(UNREADABLE)


def read(snapshot: str) -> dict[str, Any]:
    """The contents of a snapshot; ends the command if it cannot be read."""
    from compat.loader.failure import Undecidable
    from compat.savepoint.describe import describe
    from compat.state.delta.errors import StoreError
    from compat.state.flink import SavepointError

    try:
        return describe(snapshot)
    except (SavepointError, StoreError) as error:
        click.echo(f"{Undecidable.SAVEPOINT_UNREADABLE}: {error}", err=True)
    except ModuleNotFoundError as error:
        click.echo(
            f"Reading this snapshot needs Delta, and {error.name!r} is not installed: pip install 'stream-compat[spark]'.",
            err=True,
        )
    sys.exit(UNREADABLE)
