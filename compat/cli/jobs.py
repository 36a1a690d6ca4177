"""The jobs of a store: ``compat list``, ``savepoint``, ``stop`` and ``cancel``."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any, NoReturn

import click

from compat.cli.options import local_path, store_option

FAILED, REFUSED = 1, 2


@click.command("list")
@click.option("-a", "--all", "everything", is_flag=True, help="Also the jobs that have ended.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@store_option
def list_jobs(everything: bool, form: str, store: str) -> None:
    """The jobs of a store: those that run, or all.

    Example: compat list --all
    """
    from compat.compiler.spark.driver.store import JobStore

    jobs = JobStore(store)
    entries = [(entry, jobs.alive(entry)) for entry in jobs.jobs()]
    entries = [(entry, alive) for entry, alive in entries if everything or alive]
    if form == "json":
        click.echo(json.dumps([{**asdict(entry), "alive": alive} for entry, alive in entries], indent=2))
        return
    if not entries:
        click.echo("No jobs." if everything else "No running jobs. compat list --all shows those that have ended.")
    for entry, alive in entries:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.started))
        state = entry.status if alive or entry.ended else f"{entry.status}, driver lost"
        tasks = "".join(f", {count} {task.lower()}" for task, count in entry.tasks.items()) if alive else ""
        click.echo(f"{started} : {entry.job_id} : {entry.name} ({state}, checkpoint {entry.epoch}{tasks})")


@click.command("savepoint")
@click.argument("job_id")
@click.argument("path", required=False, callback=local_path)
@store_option
def savepoint(job_id: str, path: str | None, store: str) -> None:
    """Write a savepoint of a running job; its path is printed.

    Example: compat savepoint 6f2c
    """
    click.echo(_ask(store, job_id, "savepoint", path=path)["path"])


@click.command("stop")
@click.argument("job_id")
@click.option("-p", "--savepointPath", "path", metavar="PATH", callback=local_path, help="Where the savepoint goes.")
@click.option("--drain", "-d", is_flag=True, help="Let all windows fire first: the job is not to go on.")
@store_option
def stop(job_id: str, path: str | None, drain: bool, store: str) -> None:
    """Stop a job with a savepoint; its path is printed.

    Example: compat stop 6f2c
    """
    answer = _ask(store, job_id, "stop", drain=drain, path=path)
    click.echo(f"Job {job_id} stopped", err=True)
    click.echo(answer["path"])


@click.command("cancel")
@click.argument("job_id")
@store_option
def cancel(job_id: str, store: str) -> None:
    """End a job without a savepoint; its last checkpoint stays.

    Example: compat cancel 6f2c
    """
    _ask(store, job_id, "cancel")
    click.echo(f"Job {job_id} was cancelled", err=True)


def _ask(store: str, job_id: str, action: str, **arguments: Any) -> dict[str, Any]:
    from compat.compiler.spark.driver.store import JobStore

    jobs = JobStore(store)
    entry = jobs.read(job_id)
    if entry is None:
        _end(f"There is no one job {job_id!r} in the store {store}. compat list --all shows those there are.", REFUSED)
    if not jobs.alive(entry):
        lost = "its driver was lost: run the program again to go on" if not entry.ended else f"it is {entry.status}"
        _end(f"Job {entry.job_id} does not run: {lost}.", REFUSED)
    answer = jobs.request(entry.job_id, action, **arguments)
    if "error" in answer:
        _end(answer["error"], FAILED)
    return answer


def _end(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
