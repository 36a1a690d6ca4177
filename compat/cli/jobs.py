"""The jobs of a store: ``compat job list``, ``savepoint``, ``stop``, ``cancel`` and ``discard``."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click
import msgspec

from compat.cli.convert import convert
from compat.cli.options import cluster_options, place, store_option
from compat.cli.running import access_of, access_options
from compat.escaping import visible
from compat.state.delta.errors import StoreError

if TYPE_CHECKING:
    from compat.cluster.client import Cluster
    from compat.compiler.spark.driver.job_entry import JobEntry, ListedJob
    from compat.compiler.spark.driver.store import JobStore
    from compat.running.rest import Access

F = TypeVar("F", bound=Callable[..., Any])
FAILED, REFUSED = 1, 2
_OVER = ("FINISHED", "CANCELED")
"""Final states of jobs: no job continues from one of them."""


def _refusing(command: F) -> F:
    """Runs the command, which ends with the exit code of a refusal if its store cannot be read or written."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except StoreError as error:
            _end(str(error), REFUSED)

    return cast(F, run)


@click.command("list")
@click.option("-a", "--all", "everything", is_flag=True, help="Also the jobs that have ended.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.option(
    "--flink", "flink_url", metavar="URL", help="List the jobs of this Flink cluster, with their latest snapshots."
)
@access_options
@store_option
@cluster_options
@_refusing
def list_jobs(
    everything: bool,
    form: str,
    flink_url: str | None,
    store: str,
    cluster: str | None,
    token_file: str | None,
    **access: str | None,
) -> None:
    """List the jobs of a store or of a cluster: those that run, wait or were interrupted, or all.

    Example: compat job list --all; compat job list --flink http://jobmanager:8081
    """
    if flink_url is not None:
        _list_flink(flink_url, access_of(access), everything, form)
        return
    if cluster is not None:
        with _cluster(cluster, token_file) as reached:
            _list_cluster(reached, everything, form)
        return
    from compat.compiler.spark.driver.job_entry import ListedJob
    from compat.compiler.spark.driver.store import JobStore

    jobs = JobStore(store)
    entries = [(entry, jobs.alive(entry)) for entry in jobs.jobs()]
    entries = [
        (entry if alive or entry.ended else jobs.settled(entry), alive)
        for entry, alive in entries
        if everything or not entry.ended
    ]
    entries = [(entry, alive) for entry, alive in entries if everything or not entry.ended]
    if form == "json":
        _print_listed(ListedJob.of(entry, alive=alive, interrupted=jobs.interrupted(entry)) for entry, alive in entries)
        return
    if not entries:
        click.echo("No jobs." if everything else "No running jobs. compat job list --all shows those that have ended.")
    for entry, alive in entries:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.started))
        state = entry.status if alive or entry.ended else "INTERRUPTED"
        tasks = _tasks(entry.tasks if alive else {}, entry.failed_tasks)
        click.echo(f"{started} : {entry.job_id} : {entry.name} ({state}, checkpoint {entry.epoch}{tasks})")
    if any(not alive and not entry.ended for entry, alive in entries):
        click.echo(
            "Interrupted jobs go on when their program is run again; compat job cancel prevents that, compat job "
            "discard removes it."
        )


def _list_flink(url: str, access: Access, everything: bool, form: str) -> None:
    """Print the jobs of a cluster of Flink."""
    from compat.running.jobs import listed
    from compat.running.rest import ClusterError

    try:
        jobs = listed(url, access, everything=everything)
    except ClusterError as error:
        _end(str(error), REFUSED)
    if form == "json":
        click.echo(json.dumps(msgspec.to_builtins(jobs), indent=2))
        return
    if not jobs:
        click.echo("No jobs." if everything else "No running jobs. --all shows those that have ended.")
    for job in jobs:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job.started))
        where = "" if job.snapshot is None else f": {visible(job.snapshot)}"
        click.echo(f"{started} : {job.job_id} : {visible(job.name)} ({job.status}, {job.what}{where})")


class _Savepoint(click.Group):
    """The command that takes a savepoint of a job, unless the first word names another subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asked = args and args[0] in (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if asked else ["take", *args])


@click.group("savepoint", cls=_Savepoint, invoke_without_command=False)
def savepoint() -> None:
    """Write a savepoint of a running job, or convert one of Flink.

    Examples: compat job savepoint 6f2c; compat job savepoint convert savepoint-1a2b3c/ converted/ --program job.py
    """


@savepoint.command("take")
@click.argument("job_id")
@click.argument("path", required=False, callback=place)
@store_option
@cluster_options
@_refusing
def take(job_id: str, path: str | None, store: str, cluster: str | None, token_file: str | None) -> None:
    """Write a savepoint of a running job and print its path. The word take may be left out.

    The savepoint gets its own folder below PATH, else below the program's folder for savepoints, else in the store.

    Example: compat job savepoint 6f2c
    """
    if cluster is not None:
        with _cluster(cluster, token_file) as reached:
            click.echo(reached.savepoint(job_id, path))
        return
    click.echo(_ask(store, job_id, "savepoint", path=path)["path"])


savepoint.add_command(convert)


@click.command("stop")
@click.argument("job_id")
@click.option(
    "-p",
    "--savepointPath",
    "path",
    metavar="PATH",
    callback=place,
    help="The folder below which the savepoint gets its own folder.",
)
@click.option("--drain", "-d", is_flag=True, help="Let all windows fire first, for a job that will not go on.")
@store_option
@cluster_options
@_refusing
def stop(job_id: str, path: str | None, drain: bool, store: str, cluster: str | None, token_file: str | None) -> None:
    """Stop a job with a savepoint and print the savepoint's path.

    Example: compat job stop 6f2c
    """
    if cluster is not None:
        with _cluster(cluster, token_file) as reached:
            written = reached.stop(job_id, path, drain)
        click.echo(f"Job {job_id} stopped", err=True)
        click.echo(written)
        return
    answer = _ask(store, job_id, "stop", drain=drain, path=path)
    click.echo(f"Job {job_id} stopped", err=True)
    click.echo(answer["path"])


@click.command("cancel")
@click.argument("job_id")
@store_option
@cluster_options
@_refusing
def cancel(job_id: str, store: str, cluster: str | None, token_file: str | None) -> None:
    """End a job without a savepoint; its last checkpoint stays.

    A job that was interrupted or failed cannot go on afterwards: its program starts again without state.

    Example: compat job cancel 6f2c
    """
    if cluster is not None:
        with _cluster(cluster, token_file) as reached:
            job = reached.find(job_id).jid
            reached.cancel(job)
        click.echo(f"Job {job} was cancelled", err=True)
        return
    jobs, entry = _job(store, job_id)
    if jobs.alive(entry):
        _request(jobs, entry, "cancel")
    elif entry.status in _OVER:
        _refuse_ended(entry)
    else:
        jobs.give_up(entry.job_id)
    click.echo(f"Job {entry.job_id} was cancelled", err=True)


@click.command("discard")
@click.argument("job_id")
@store_option
@cluster_options
@_refusing
def discard(job_id: str, store: str, cluster: str | None, token_file: str | None) -> None:
    """Remove a job that does not run, with its checkpoints. Savepoints stay.

    Example: compat job discard 6f2c
    """
    if cluster is not None:
        with _cluster(cluster, token_file) as reached:
            job = reached.find(job_id).jid
            reached.discard(job)
        click.echo(f"Job {job} was removed, with its checkpoints", err=True)
        return
    jobs, entry = _job(store, job_id)
    if jobs.alive(entry):
        _end(f"Job {entry.job_id} runs: end it with compat job stop or compat job cancel first.", REFUSED)
    jobs.discard(entry.job_id)
    click.echo(f"Job {entry.job_id} was removed, with its checkpoints", err=True)


@contextmanager
def _cluster(url: str, token_file: str | None) -> Iterator[Cluster]:
    """The cluster to ask. Ends the process if it refuses."""
    from compat.cli.remote import cluster_of
    from compat.cluster.client import Cluster, JobRefused
    from compat.transport import ServerError

    server = cluster_of(url, token_file)
    try:
        yield Cluster(server.url, server.token)
    except JobRefused as error:
        _end(str(error), FAILED)
    except ServerError as error:
        _end(str(error), REFUSED)


def _list_cluster(cluster: Cluster, everything: bool, form: str) -> None:
    if form == "json":
        _print_listed(job for job in cluster.entries() if everything or not job.ended)
        return
    jobs = [job for job in cluster.jobs() if everything or not job.over]
    if not jobs:
        click.echo("No jobs." if everything else "No running jobs. compat job list --all shows those that have ended.")
    for job in jobs:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job.start_time / 1000))
        counted = {} if job.over else {state: count for state, count in job.tasks.items() if state != "total"}
        how = job.waiting or f"checkpoint {job.checkpoint}{_tasks(counted, job.failed_tasks)}"
        click.echo(f"{started} : {job.jid} : {job.name} ({job.state}, {how})")


def _tasks(counted: Mapping[str, int], failed: Iterable[str]) -> str:
    """How many tasks are in each state, and which ones failed."""
    return "".join(
        [f", {count} {state.lower()}" for state, count in counted.items()] + [f", failed in {task}" for task in failed]
    )


def _print_listed(jobs: Iterable[ListedJob]) -> None:
    """Print jobs as JSON, in the same shape wherever they run."""
    click.echo(json.dumps(msgspec.to_builtins(list(jobs)), indent=2))


def _ask(store: str, job_id: str, action: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a running job. Ends the process if it does not answer."""
    jobs, entry = _job(store, job_id)
    if not jobs.alive(entry):
        if not entry.ended:
            _end(f"Job {entry.job_id} does not run: it was interrupted. Run its program again to go on.", REFUSED)
        _refuse_ended(entry)
    return _request(jobs, entry, action, **arguments)


def _request(jobs: JobStore, entry: JobEntry, action: str, **arguments: Any) -> dict[str, Any]:
    from compat.compiler.spark.driver.mailbox import Mailbox

    answer = Mailbox(jobs.directory(entry.job_id)).ask(action, **arguments)
    if "error" in answer:
        _end(answer["error"], FAILED)
    return answer


def _job(store: str, job_id: str) -> tuple[JobStore, JobEntry]:
    """A job by its id or a prefix of it. Ends the process unless exactly one matches."""
    from compat.compiler.spark.driver.store import JobStore

    jobs = JobStore(store)
    entry = jobs.read(job_id)
    if entry is None:
        _end(f"There is no single job {job_id!r} in the store {store}. compat job list -a lists all jobs.", REFUSED)
    return jobs, entry


def _refuse_ended(entry: JobEntry) -> NoReturn:
    _end(f"Job {entry.job_id} does not run: it is {entry.status}.", REFUSED)


def _end(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
