"""``compat state``: what an operator keeps."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from compat.cli.options import cluster_options, store_option

REFUSED = 2
_MISSING = "Reading state needs Delta, and {name!r} is not installed: pip install 'stream-compat[spark]'."


@click.command("state")
@click.argument("job")
@click.argument("operator")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.option("--limit", type=click.IntRange(1), help="Print so many entries at most.")
@store_option
@cluster_options
def state(
    job: str, operator: str, form: str, limit: int | None, store: str, cluster: str | None, token_file: str | None
) -> None:
    """The state of an operator of a JOB-ID or a snapshot. OPERATOR is a uid, a name or an id.

    Example: compat state .compat/savepoints/savepoint-1a2b3c-… count
    """
    from compat.compiler.spark.driver.store import JobStore
    from compat.state.delta.errors import StoreError

    if cluster is not None and not os.path.exists(job):
        rows = iter(_of_cluster(cluster, token_file, job, operator, limit))
        _print_json(rows) if form == "json" else _print_table(rows)
        return
    try:
        from compat.compiler.spark.state.inspection import UnknownOperator, state_rows
    except ModuleNotFoundError as error:
        click.echo(_MISSING.format(name=error.name), err=True)
        sys.exit(REFUSED)
    entry = JobStore(store).read(job)
    path = job if entry is None else JobStore(store).state(entry.job_id)
    try:
        rows = islice(state_rows(path, operator), limit)
        _print_json(rows) if form == "json" else _print_table(rows)
    except (StoreError, UnknownOperator) as error:
        click.echo(str(error), err=True)
        sys.exit(REFUSED)


def _of_cluster(url: str, token_file: str | None, job: str, operator: str, limit: int | None) -> list[dict[str, Any]]:
    """The state of an operator of a job on a cluster. Ends the process with what that refuses."""
    from compat.cli.remote import cluster_of
    from compat.cluster.client import Cluster
    from compat.transport import ServerError

    server = cluster_of(url, token_file)
    try:
        return Cluster(server.url, server.token).state(job, operator, limit)
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(REFUSED)


def _print_json(rows: Iterator[dict[str, Any]]) -> None:
    """One array, a row a line."""
    separator = "["
    for row in rows:
        click.echo(separator + "\n  " + json.dumps(row, default=repr, ensure_ascii=False), nl=False)
        separator = ","
    click.echo("[]" if separator == "[" else "\n]")


def _print_table(rows: Iterator[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    columns = ("state", "key", "namespace", "map_key", "value", "timestamp")
    shown = list(rows)
    used = [name for name in columns if name in ("state", "value") or any(row[name] is not None for row in shown)]
    table = Table(*(name.replace("_", " ") for name in used), box=box.SIMPLE_HEAD)
    for row in shown:
        table.add_row(*("" if row[name] is None else str(row[name]) for name in used))
    console = Console(width=None if sys.stdout.isatty() else 10_000, markup=False, emoji=False, highlight=False)
    console.print(table) if shown else click.echo("The operator holds no state.")
