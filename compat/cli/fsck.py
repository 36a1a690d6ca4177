"""``compat fsck``: checks the stored state of jobs on Spark for damage."""

from __future__ import annotations

import json
import sys

import click
from msgspec.structs import asdict

DAMAGED, UNREADABLE = 1, 2


@click.command("fsck")
@click.argument("path", type=click.Path())
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
def fsck(path: str, form: str) -> None:
    """Read everything in a store, a job or a savepoint of jobs on Spark, and list damaged and missing files.

    Every state file is read to its end and compared with the digest in its name; the log is compared with what the job
    has published. Nothing is changed. Exit codes: 0 whole, 1 damaged, 2 it could not be read.

    Example: compat fsck .compat
    """
    from compat.compiler.spark.driver.fsck import fsck as verified
    from compat.state.delta.errors import StoreError

    damaged, told = False, []
    try:
        for found in verified(path):
            damaged = damaged or bool(found.problems)
            told.append(asdict(found))
            if form == "text":
                state = f"{len(found.problems)} problem{'s' * (len(found.problems) > 1)}" if found.problems else "whole"
                click.echo(
                    f"{found.kind} {found.path}: checkpoint {found.epoch}, {found.files} files, {found.size} bytes: {state}"
                )
                for problem in found.problems:
                    click.echo(f"  - {problem}")
    except StoreError as error:
        click.echo(str(error), err=True)
        sys.exit(UNREADABLE)
    if form == "json":
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
    sys.exit(DAMAGED if damaged else 0)
