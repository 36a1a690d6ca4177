"""``compat inspect``: what is in a savepoint or checkpoint."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import click


@click.command("inspect")
@click.argument("snapshot", type=click.Path())
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "tree", "json"]),
    default="text",
    help="A table, a tree with types, or data.",
)
def inspect(snapshot: str, form: str) -> None:
    """The operators, states, key groups and sizes of a savepoint or checkpoint, of Flink or of a job on Spark.

    Exit codes: 0 read, 1 state files are missing, 2 it could not be read.

    Example: compat inspect savepoint-1a2b3c/ --format tree
    """
    found = read(snapshot)
    if form == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        from compat.report import inspection

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        click.echo((inspection.tree if form == "tree" else inspection.table)(found, snapshot, width), nl=False)
    if found["missing_files"]:
        sys.exit(1)


def read(snapshot: str) -> dict[str, Any]:
    """The contents of a snapshot; ends the command where it cannot be read."""
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
    sys.exit(2)
