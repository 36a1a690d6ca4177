"""``compat job run``: runs a program's jobs on Spark."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from compat.cli.options import (
    arguments_for,
    cluster_options,
    flink_option,
    found_around,
    local_path,
    parse_definitions,
    ship_option,
    store_option,
    surroundings_of,
)
from compat.cli.spelled import Spelled, left_behind

if TYPE_CHECKING:
    from compat.execution.program import Run

_DETACHED = {"execution.attached": "false"}
"""As with ``flink run -d``: the program does not wait for its jobs."""


@click.command("run")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.option("-s", "--fromSavepoint", "savepoint", metavar="PATH", help="Restore from a savepoint or checkpoint.")
@click.option(
    "--recipe",
    metavar="FILE",
    help="A recipe that migrates the snapshot's state: from compat check SNAPSHOT JOB --write-recipe FILE.",
)
@left_behind("allow_non_restored")
@click.option(
    "-rm",
    "--claimMode",
    "claim",
    type=click.Choice(["claim", "no_claim"], case_sensitive=False),
    default="no_claim",
    help="Who owns the savepoint: 'claim' removes it once the job has a checkpoint of its own.",
)
@click.option("-p", "--parallelism", type=click.IntRange(1), help="The parallelism, if the program sets none.")
@click.option("-d", "--detached", is_flag=True, help="Return as soon as the job runs; its id is printed.")
@store_option
@click.option("--master", metavar="URL", help="A Spark master (default: Spark inside this process).")
@click.option(
    "--deploy-mode",
    type=click.Choice(["client", "cluster"]),
    default="client",
    help="'cluster': the job's driver runs in the cluster of --master (yarn, k8s://…), and needs no command.",
)
@ship_option
@cluster_options
@click.option("-D", "definitions", multiple=True, metavar="KEY=VALUE", help="An option of Flink or of Spark.")
@flink_option
@click.option("--args", "arguments", help="Arguments of the program.")
@found_around
@click.option(
    "--format",
    "output",
    cls=Spelled,
    former=["--output"],
    type=click.Choice(["text", "json"]),
    default="text",
    help="Output format.",
)
@click.option("--epochs", type=click.IntRange(1), help="Stop with a savepoint after this number of epochs.")
@click.option(
    "--replicas",
    metavar="FOLDER",
    callback=local_path,
    help="Where each machine keeps its copy of local state (default: its folder for temporary files).",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Start without state, even a job that failed or was interrupted before, or that a cluster's gate knows.",
)
@click.option("--epoch-records", type=click.IntRange(1), help="The most records that a source gives in an epoch.")
def run(job: str, **options: Any) -> None:
    """Run a program on Spark; its state is kept in Delta.

    If a job failed or its driver died, the same command continues it from its last checkpoint. With --cluster, the
    program is built here and its jobs run in the cluster, even after this command ends.
    Exit codes: 0 finished or stopped as asked, 1 the job failed, 2 refused before it started.

    Example: compat job run job.py -s .compat/savepoints/savepoint-1a2b3c-…
    """
    from compat.cli.recipes import recipe_of
    from compat.cli.remote import cluster_of
    from compat.execution.detached import detach
    from compat.execution.narration import Narrator
    from compat.execution.program import Run, run_program

    surroundings = surroundings_of(options, job)
    cluster = None if options["cluster"] is None else cluster_of(options["cluster"], options["token_file"])
    if cluster is not None:
        _refuse_with_a_cluster(options)
    given = Run(
        program=job,
        arguments=arguments_for(job, options["arguments"]),
        store=options["store"],
        master=options["master"],
        parallelism=options["parallelism"],
        options={**(_DETACHED if options["detached"] else {}), **parse_definitions(options["definitions"])},
        savepoint=options["savepoint"],
        recipe=recipe_of(options),
        allow_non_restored=options["allow_non_restored"],
        claim=options["claim"].lower() == "claim",
        epochs=options["epochs"],
        epoch_records=options["epoch_records"],
        flink=options["flink"],
        fresh=options["fresh"],
        replicas=options["replicas"],
        ship=options["ship"],
        deploy_mode=options["deploy_mode"],
        pyfiles=surroundings.pyfiles,
        cluster=None if cluster is None else cluster.url,
        token=None if cluster is None else cluster.token,
        environment=surroundings.environment,
        detached=options["detached"],
    )
    os.environ.update(surroundings.environment)
    as_json = options["output"] == "json"

    def attached(on_started: Any = None) -> int:
        narrator = Narrator(as_json=as_json, on_started=on_started)
        code = run_program(given, narrator)
        if code == 0 and narrator.savepoint is not None and not as_json:
            click.echo(narrator.savepoint)
        return code

    if options["detached"] and (cluster is not None or given.driver_elsewhere):
        sys.exit(_submit(given, as_json))
    sys.exit(detach(given.store, attached) if options["detached"] else attached())


def _submit(given: Run, as_json: bool) -> int:
    """Have a cluster run the program's jobs, and print their ids."""
    from compat.execution.narration import Narrator
    from compat.execution.program import run_program

    def submitted(job_id: str) -> None:
        click.echo(f"Job {job_id} was submitted to {given.cluster or given.master}", err=True)
        click.echo(job_id)

    return run_program(given, Narrator(as_json=as_json), submitted)


def _refuse_with_a_cluster(options: dict[str, Any]) -> None:
    """Raise a usage error for options of a run in this process."""
    if options["deploy_mode"] != "client":
        raise click.UsageError("--deploy-mode goes with a --master, not with --cluster.")
    for name in ("master", "replicas", "ship"):
        if options[name]:
            raise click.UsageError(f"--{name} cannot be combined with --cluster: the cluster decides it.")
