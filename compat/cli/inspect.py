"""``compat inspect``: what is in a savepoint or checkpoint."""

from __future__ import annotations

import json
import sys

import click

from compat.report.escaping import visible


@click.command("inspect")
@click.argument("snapshot", type=click.Path())
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def inspect(snapshot: str, form: str) -> None:
    """The operators, states, key groups and sizes of a Flink savepoint or checkpoint.

    Example: compat inspect savepoint-1a2b3c/ --format json
    """
    from state.flink import SavepointError
    from state.flink import inspect as read

    try:
        found = read(snapshot)
    except SavepointError as error:
        click.echo(f"CMP501: {error}", err=True)
        sys.exit(2)
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
            click.echo(f"    {visible(state['name'])}  {state['type']}  {size}")
    if found["missing_files"]:
        click.echo(f"\nCMP502: {len(found['missing_files'])} files are missing:")
        for name in found["missing_files"]:
            click.echo(f"    {visible(str(name))}")
        sys.exit(1)
