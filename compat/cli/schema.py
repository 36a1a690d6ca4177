"""``compat schema``: the JSON schema of a format."""

from __future__ import annotations

import click

from compat import schemas


@click.command("schema")
@click.argument("name", metavar="FORMAT", type=click.Choice(schemas.NAMES))
def schema(name: str) -> None:
    """Print the JSON schema (draft 2020-12) of a format: plan, report, settings or topology.

    Example: compat schema report > report.schema.json
    """
    try:
        click.echo(schemas.text(name), nl=False)
    except FileNotFoundError as error:
        raise click.ClickException(f"this installation has no schema of the {name} format") from error
