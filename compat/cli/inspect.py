"""``compat inspect``: what is in a savepoint or checkpoint."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from compat.report.escaping import visible


@click.command("inspect")
@click.argument("snapshot", type=click.Path())
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def inspect(snapshot: str, form: str) -> None:
    """The operators, states, key groups and sizes of a savepoint or checkpoint, of Flink or of a job on Spark.

    Example: compat inspect savepoint-1a2b3c/ --format json
    """
    found = _read(snapshot)
    if form == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    click.echo(f"{snapshot}: format {found['format_version']}, checkpoint {found['checkpoint_id']}")
    click.echo(f"{len(found['operators'])} operators, {found['total_bytes']:,} bytes")
    for operator in found["operators"]:
        totals = operator["totals"]
        uid = "" if not operator.get("uid") else f"  uid={visible(operator['uid'])}"
        click.echo(f"\n{operator['id']}  {visible(operator.get('name') or '(no name recorded)')}{uid}")
        click.echo(
            f"    parallelism {operator['parallelism']} of at most {operator['max_parallelism']}, "
            f"{totals['bytes']:,} bytes"
        )
        for state in totals["states"]:
            size = "size not known" if state["bytes"] is None else f"{state['bytes']:,} bytes"
            groups = state.get("key_groups")
            within = "" if groups is None else f"  key groups {groups[0]} to {groups[1]}"
            click.echo(f"    {visible(state['name'])}  {state['type']}  {size}{within}")
    if found["missing_files"]:
        click.echo(f"\nCMP502: {len(found['missing_files'])} files are missing:")
        for name in found["missing_files"]:
            click.echo(f"    {visible(str(name))}")
        sys.exit(1)


def _read(snapshot: str) -> dict[str, Any]:
    """What is in a snapshot; ends the command where it cannot be read."""
    from state.delta.errors import StoreError
    from state.flink import SavepointError
    from state.flink import inspect as read

    try:
        if not _is_delta(snapshot):
            return read(snapshot)
        from compiler.spark.inspection import describe_snapshot

        return describe_snapshot(snapshot)
    except (SavepointError, StoreError) as error:
        click.echo(f"CMP501: {error}", err=True)
    except ModuleNotFoundError as error:
        click.echo(
            f"Reading this snapshot needs Delta, and {error.name!r} is not installed: pip install 'stream-compat[spark]'.",
            err=True,
        )
    sys.exit(2)


def _is_delta(snapshot: str) -> bool:
    """True for a savepoint that ``compat`` wrote and for the state of a job in a store."""
    folder = snapshot.removeprefix("file://")
    folder = folder.rpartition("@")[0] if folder.rpartition("@")[2].isdigit() and "@" in folder else folder
    return any(os.path.isdir(os.path.join(folder, *inner, "_delta_log")) for inner in ((), ("state",)))
