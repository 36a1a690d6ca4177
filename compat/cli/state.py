"""``compat state``: shows the state of a job's operators."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import islice
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any, NoReturn

import click

from compat.cli.options import cluster_options, store_option
from compat.cli.spelled import Spelled

if TYPE_CHECKING:
    import pyarrow as pa

    from compat.tables import Difference

REFUSED = 2
_MISSING = "Reading state needs {name!r}, which is not installed: pip install 'stream-compat[{extra}]'."
_COLUMNS = ("operator", "uid", "state", "key", "namespace", "map_key", "value", "timestamp")
_FILES = ("parquet", "csv", "jsonl")


def _output(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    form, _, path = value.partition("=")
    if form not in _FILES or not path:
        raise click.BadParameter(f"{value!r} is not FORMAT=PATH with one of the formats {', '.join(_FILES)}.")
    return form, path


@click.command("state")
@click.argument("snapshot", metavar="JOB")
@click.argument("operator", required=False)
@click.option("--state", "state_name", metavar="NAME", help="Only the state of this name.")
@click.option("--checkpoint", type=click.IntRange(1), metavar="N", help="The state at this retained checkpoint.")
@click.option(
    "--program",
    type=click.Path(exists=True, dir_okay=False),
    metavar="PROGRAM",
    help="The program of a savepoint of PyFlink, which declares the types of the states.",
)
@click.option(
    "--sql", metavar="QUERY", help='A query: each state is a table, such as "OPERATOR"."STATE"; all are `entries`.'
)
@click.option(
    "--on",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    help="The engine of the query: spark, on this machine and in Spark's SQL, is for tables larger than memory.",
)
@click.option(
    "--compare",
    "other",
    cls=Spelled,
    former=["--diff"],
    metavar="JOB",
    help="Compare with another snapshot: show added, removed and changed entries.",
)
@click.option("--output", callback=_output, metavar="FORMAT=PATH", help="Write into a file: parquet, csv or jsonl.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@click.option("--limit", type=click.IntRange(1), help="The most entries to print.")
@store_option
@cluster_options
def state(
    snapshot: str,
    operator: str | None,
    state_name: str | None,
    checkpoint: int | None,
    program: str | None,
    sql: str | None,
    on: str,
    other: str | None,
    output: tuple[str, str] | None,
    form: str,
    limit: int | None,
    store: str,
    cluster: str | None,
    token_file: str | None,
) -> None:
    """Show the state of a JOB-ID, a savepoint, or a savepoint of Flink. OPERATOR is a uid, a name or an id.

    \b
    Examples:
      compat state .compat/savepoints/savepoint-1a2b3c-… count
      compat state 6f2c --sql 'select key, value from "count"."sum" order by value desc limit 10'
      compat state 6f2c --sql 'select count(distinct key) from "count"."sum"' --on spark
      compat state savepoint-1 --compare savepoint-2
      compat state flink-savepoint-1 count --program job.py
    """
    if program is not None and (checkpoint is not None or cluster is not None):
        raise click.UsageError("--program is for savepoints of Flink: leave out --checkpoint and --cluster.")
    if sql is not None and (other is not None or operator is not None or state_name is not None):
        raise click.UsageError("--sql names operators and states itself: leave out OPERATOR, --state and --compare.")
    if on == "spark" and sql is None:
        raise click.UsageError("--on spark is for a query: give one with --sql.")
    if other is not None and (output is not None or checkpoint is not None):
        raise click.UsageError(
            "--compare prints what differs: leave out --output and --checkpoint (JOB@N is a checkpoint)."
        )
    if cluster is not None and not os.path.exists(snapshot):
        if operator is None or any(each is not None for each in (state_name, checkpoint, sql, other, output)):
            raise click.UsageError(
                "A cluster shows the state of one OPERATOR only; otherwise give the cluster's --store."
            )
        found = iter(_of_cluster(cluster, token_file, snapshot, operator, limit))
        _print_json(found) if form == "json" else _print_table(found, _COLUMNS[2:])
        return
    with _refusing(), _typed(_path(snapshot, store), program) as path:
        from compat.tables import compare, read

        if other is not None:
            with _typed(_path(other, store), program) as second:
                differences = compare(path, second, operator=operator, state=state_name, examples=limit or 10)
            _print_differences_as_json(differences) if form == "json" else _print_differences(differences)
            return
        with (
            _queried(path, sql, checkpoint, on)
            if sql is not None
            else nullcontext(read(path, operator=operator, state=state_name, checkpoint=checkpoint)) as reader
        ):
            if output is not None:
                _write(reader, *output)
                return
            rows = islice(_rows(reader), limit)
            shown = tuple(reader.schema.names) if sql is not None else _COLUMNS if operator is None else _COLUMNS[2:]
            _print_json(rows) if form == "json" else _print_table(rows, shown)


@contextmanager
def _queried(path: str, sql: str, checkpoint: int | None, on: str) -> Iterator[pa.RecordBatchReader]:
    """The rows of a query, as they come. Spark's log is removed, unless Spark failed."""
    from compat.tables import delta_session, query, query_on_spark
    from compat.tables.spark_sql import SparkFailed

    if on == "duckdb":
        yield query(path, sql, checkpoint=checkpoint).to_reader()
        return
    folder, failed = mkdtemp(prefix="compat-state-"), False
    log = os.path.join(folder, "spark.log")
    spark = delta_session(log, options={"spark.sql.warehouse.dir": os.path.join(folder, "warehouse")})
    try:
        yield query_on_spark(spark, path, sql, checkpoint=checkpoint)
    except SparkFailed as error:
        failed = True
        raise SparkFailed(f"{error} (Spark's log: {log})") from error
    finally:
        spark.stop()
        if not failed:
            rmtree(folder, ignore_errors=True)


def _path(job: str, store: str) -> str:
    """The path of a snapshot, or of the state of a job in the store."""
    from compat.compiler.spark.driver.store import JobStore

    name, at, number = job.rpartition("@")
    base, suffix = (name, at + number) if at and number.isdigit() else (job, "")
    entry = JobStore(store).read(base)
    return job if entry is None else str(JobStore(store).state(entry.job_id)) + suffix


@contextmanager
def _typed(path: str, program: str | None) -> Iterator[str]:
    """The path of a snapshot whose states have the types that a program declares: a savepoint of Flink is converted for Spark.

    State without an operator in the program is left out.
    """
    if program is None:
        yield path
        return
    from compat.execution.conversion import Conversion, convert

    with TemporaryDirectory(prefix="compat-state-") as folder:
        made = os.path.join(folder, "savepoint")
        wanted = Conversion(savepoint=path, out=made, program=program, allow_non_restored=True)
        convert(wanted, lambda text: click.echo(text, err=True))
        yield made


@contextmanager
def _refusing() -> Iterator[None]:
    """Ends with exit code 2 and the reason if state cannot be read."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("duckdb", "deltalake", "pyarrow", "pyspark", "lmdb", "numpy"):
            raise
        _refuse(_MISSING.format(name=error.name, extra="sql" if error.name == "duckdb" else "spark"))
    except Exception as error:
        from compat.compiler.errors import ProgramError
        from compat.compiler.spark.driver.inspection import UnknownOperator
        from compat.compiler.spark.driver.restore import RestoreRefused
        from compat.execution.failures import Refused
        from compat.state.delta.errors import StoreError
        from compat.state.flink import SavepointError
        from compat.tables.reading import UnknownState
        from compat.tables.sql import QueryError

        refusals = (Refused, RestoreRefused, ProgramError)
        if not isinstance(error, (StoreError, SavepointError, UnknownOperator, UnknownState, QueryError, *refusals)):
            raise
        _refuse(str(error))


def _refuse(message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(REFUSED)


def _rows(reader: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
    for batch in reader:
        yield from batch.to_pylist(maps_as_pydicts="lossy")


def _write(reader: pa.RecordBatchReader, form: str, path: str) -> None:
    """Write all rows into a file, batch by batch. The file is removed if not all rows could be read."""
    from compat.tables.files import write

    try:
        count = write(reader, form, path)
    except OSError as error:
        _refuse(f"{path} cannot be written: {error.strerror or error}. Give another path.")
    click.echo(f"{count} rows in {path}", err=True)


def _of_cluster(url: str, token_file: str | None, job: str, operator: str, limit: int | None) -> list[dict[str, Any]]:
    """The state of an operator of a job on a cluster. Ends the process if the cluster refuses."""
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
    """Print one array, a row a line."""
    separator = "["
    for row in rows:
        click.echo(separator + "\n  " + json.dumps(row, default=_plain, ensure_ascii=False), nl=False)
        separator = ","
    click.echo("[]" if separator == "[" else "\n]")


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _print_table(rows: Iterator[dict[str, Any]], columns: tuple[str, ...]) -> None:
    shown = list(rows)
    used = [name for name in columns if any(row[name] is not None for row in shown)]
    if not shown:
        click.echo("There are no entries.")
        return
    _table(used, [["" if row[name] is None else _cell(row[name]) for name in used] for row in shown])


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items() if each is not None)
    return _plain(value)


def _table(columns: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*(name.replace("_", " ") for name in columns), box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 10_000, markup=False, emoji=False, highlight=False)
    console.print(table)


def _print_differences(found: Any) -> None:
    differing = [each for each in found if each.differs]
    if not differing:
        count = len(found)
        click.echo(f"No entry differs in {count} state{'s' * (count != 1)}.")
        return
    _table(
        ["operator", "state", "before", "after", *(change.value for change in differing[0].changes)],
        [
            [
                each.state.uid or each.state.operator,
                each.state.name,
                str(each.before),
                str(each.after),
                *map(str, each.changes.values()),
            ]
            for each in differing
        ],
    )
    for each in differing:
        shown = len(each.examples)
        total = sum(each.changes.values())
        click.echo(f"{each.state.uid or each.state.operator} {each.state.name}, {shown} of {total}:")
        for one in each.examples:
            where = " ".join(part for part in (one.key, one.namespace, one.map_key) if part is not None)
            click.echo(f"  {one.change.value} {where}: {one.before} -> {one.after}")


def _print_differences_as_json(found: Any) -> None:
    listed: list[Difference] = list(found)
    click.echo(
        json.dumps(
            [
                {
                    "operator": each.state.operator,
                    "uid": each.state.uid,
                    "operator_id": each.state.operator_id,
                    "state": each.state.name,
                    "kind": each.state.kind,
                    "before": each.before,
                    "after": each.after,
                    **{change.value: count for change, count in each.changes.items()},
                    "examples": [{**one._asdict(), "change": one.change.value} for one in each.examples],
                }
                for each in listed
            ],
            indent=1,
            ensure_ascii=False,
        )
    )
