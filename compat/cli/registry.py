"""``compat registry``: the commands for versions of jobs, for export and import of a registry, and for its audit log."""

from __future__ import annotations

import json

import click

from compat.cli.groups import REGISTRY
from compat.cli.lazy import Lazy
from compat.cli.serve import DATABASE, opened_registry, service_modules
from compat.escaping import visible


@click.group("registry", cls=Lazy, members=REGISTRY)
def registry() -> None:
    """Manage the versions of jobs that a service knows: push and promote them, back them up, and see the audit log.

    Example: compat registry push --job word_count job.py
    """


@registry.command("export")
@click.argument("file", type=click.Path(dir_okay=False))
@DATABASE
def export(file: str, database: str) -> None:
    """Write everything in the registry to FILE, while it is in use; an existing FILE is replaced once the new one is complete.

    The file holds hashes of tokens, and only its owner may read it.

    Example: compat registry export registry.compat.gz
    """
    service = service_modules()
    given = opened_registry(database)
    try:
        made = service.backup.export(given.database, file)
    except (service.backup.BackupError, service.SQLAlchemyError) as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{sum(made.rows.values())} rows written to {file}")


@registry.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@DATABASE
def import_file(file: str, database: str) -> None:
    """Fill an empty registry from FILE, which is first read and checked to its end.

    The database may be of another kind than the exported one.

    Example: compat registry import registry.compat.gz --database sqlite:///restored.db
    """
    service = service_modules()
    try:
        found = service.backup.restore(service.database.Database(database), file)
    except (ValueError, service.SQLAlchemyError) as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{sum(found.rows.values())} rows of {service.records.moment(found.at)} read from {file}")


@registry.command("audit")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most entries to print."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@DATABASE
def audit(limit: int, form: str, database: str) -> None:
    """Show the audit log, newest first: promotions, forced promotions, accepted findings, tokens, imports, and by whom.

    Example: compat registry audit --limit 20
    """
    service = service_modules()
    for entry in opened_registry(database).audit.list(limit=limit):
        told = service.records.audit_json(entry)
        if form == "json":
            click.echo(json.dumps(told))
            continue
        detail = ", ".join(f"{name} {value}" for name, value in told["detail"].items() if value is not None)
        of_job = "" if entry.job is None else f" {entry.job}"
        click.echo(visible(f"{told['at']}  {entry.by}: {entry.action.value}{of_job}; {detail}"))
