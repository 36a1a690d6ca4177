"""``compat deploy``: the upgrade of a job on a cluster, with a way back."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compat.cli.options import (
    arguments_for,
    cluster_options,
    flink_option,
    found_around,
    origin_options,
    parse_definitions,
    surroundings_of,
    written_options,
)
from compat.cli.spelled import left_behind

if TYPE_CHECKING:
    from compat.cluster.deployments.answers import DeploymentSummary
    from compat.execution.deployment import Result, Wanted

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def _seconds(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """The seconds of a duration in Flink's notation, or of a number. Raises a usage error for anything else."""
    from compat.compiler.configuration import parse_duration
    from compat.compiler.errors import ProgramError

    try:
        return float(value) if value.replace(".", "", 1).isdecimal() else parse_duration(value) / 1000
    except (ValueError, ProgramError) as error:
        raise click.BadParameter(f"{value!r} is no duration such as 60s or 5min.") from error


@click.command("deploy")
@click.argument("program", type=click.Path(exists=True, dir_okay=False))
@click.option("--job", required=True, metavar="NAME", help="The job to upgrade; it is started if it does not run.")
@cluster_options
@click.option(
    "--registry",
    metavar="URL",
    envvar="COMPAT_REGISTRY",
    help="A service (see compat serve) that allows and records the version, if the cluster has none of its own.",
)
@click.option(
    "--registry-token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with the token for the registry (default: that for the cluster).",
)
@click.option(
    "--watch",
    default="60s",
    show_default=True,
    metavar="TIME",
    callback=_seconds,
    help="How long the new version is watched: if it fails in this time, the old one starts again.",
)
@click.option(
    "-s",
    "--fromSavepoint",
    "savepoint",
    metavar="PATH",
    help="The snapshot to start from, for a job that does not run.",
)
@click.option(
    "--recipe",
    metavar="FILE",
    help="A recipe that migrates the old job's state before the new one starts: from compat check --write-recipe FILE.",
)
@click.option("--fresh", is_flag=True, help="Start without state, even if the job had some.")
@left_behind("allow_non_restored")
@click.option("--allow-unknown", is_flag=True, help="Go on if it is unknown whether the state can be restored.")
@click.option("-p", "--parallelism", type=click.IntRange(1), help="The parallelism, if the program sets none.")
@click.option("-D", "definitions", multiple=True, metavar="KEY=VALUE", help="An option of Flink.")
@flink_option
@click.option("--args", "arguments", help="Arguments of the program.")
@found_around
@click.option("--epoch-records", type=click.IntRange(1), help="The most records that a source gives in an epoch.")
@origin_options
@click.option("--dry-run", is_flag=True, help="Check, and change nothing.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print the result.")
def deploy(program: str, **options: Any) -> None:
    """Upgrade a job that runs on a cluster to PROGRAM: check, savepoint and stop, start from there, watch, promote.

    If the check or the registry refuses, nothing is changed. If the new version fails while it is watched, the old one
    goes on from the same savepoint. The cluster does this by itself: the deployment goes on if this command ends, and
    the same command again follows it. Prints the id of the job that runs afterwards.

    Exit codes: 0 the new version runs, 1 it does not, or the registry did not record it, 2 refused before anything was changed.

    Example: compat deploy --job word_count job.py --cluster http://127.0.0.1:8081
    """
    from compat.execution.program import MISSING

    if options["cluster"] is None:
        raise click.UsageError("Say which cluster: --cluster URL, or COMPAT_CLUSTER.")
    if options["fresh"] and options["savepoint"] is not None:
        raise click.UsageError("--fresh begins without state, and -s with some: give one of them.")
    if options["fresh"] and options["recipe"] is not None:
        raise click.UsageError("--fresh begins without state, and --recipe moves some: give one of them.")
    try:
        wanted = _wanted(program, options)
    except ModuleNotFoundError as error:
        click.echo(MISSING.format(name=error.name), err=True)
        sys.exit(REFUSED)
    sys.exit(_deploy(wanted, options["form"] == "json"))


def _wanted(program: str, options: dict[str, Any]) -> Wanted:
    from compat.cli.recipes import given_recipe
    from compat.cli.remote import cluster_of, job_path, origin, server_of
    from compat.execution.deployment import Wanted
    from compat.execution.program import Run

    around = surroundings_of(options, program)
    os.environ.update(around.environment)
    cluster = cluster_of(options["cluster"], options["token_file"])
    gate = None
    if options["registry"] is not None:
        from compat.cluster.gate import RegistryGate

        tokens = options["registry_token_file"] or options["token_file"]
        gate = RegistryGate(server_of(options["registry"], tokens, "--registry"))
        job_path(options["job"])
    run = Run(
        program=program,
        arguments=arguments_for(program, options["arguments"]),
        parallelism=options["parallelism"],
        options=parse_definitions(options["definitions"]),
        savepoint=options["savepoint"],
        recipe=None if options["recipe"] is None else given_recipe(options["recipe"]),
        allow_non_restored=options["allow_non_restored"],
        fresh=options["fresh"],
        epoch_records=options["epoch_records"],
        flink=options["flink"],
        pyfiles=around.pyfiles,
        cluster=cluster.url,
        token=cluster.token,
        environment=around.environment,
    )
    return Wanted(
        job=options["job"],
        run=run,
        watch=options["watch"],
        gate=gate,
        allow_unknown=options["allow_unknown"],
        dry_run=options["dry_run"],
        command=_command(program),
        **origin(program, options["commit"], options["author"]),
    )


def _command(program: str) -> str:
    """The command line, for repeating it."""
    context = click.get_current_context()
    options = written_options(context, {str(one.name) for one in context.command.params})
    return " ".join(["compat deploy", *options, shlex.quote(program)])


def _deploy(wanted: Wanted, as_json: bool) -> int:
    """Deploy, print the result, and give the exit code."""
    from compat.cluster.gate import GateClosed
    from compat.compiler.errors import ProgramError
    from compat.execution.deployment import FollowingLost, deploy
    from compat.execution.failures import Refused
    from compat.execution.program import own_traceback
    from compat.state.delta.errors import StoreError
    from compat.transport import ServerError

    def say(text: str) -> None:
        click.echo(text, err=True)

    try:
        result = deploy(wanted, say)
    except FollowingLost as error:
        say(f"{error}\nThe deployment goes on in the cluster, and the same command follows it.")
        return FAILED
    except Refused as error:
        return _refused(wanted, "\n".join(filter(None, (error.detail, str(error)))), as_json)
    except (GateClosed, ServerError, ProgramError, StoreError) as error:
        return _refused(wanted, str(error), as_json)
    except KeyboardInterrupt:
        say("Interrupted: the deployment goes on in the cluster, and the same command follows it.")
        return INTERRUPTED
    except Exception as error:
        return _refused(wanted, own_traceback(error), as_json)
    if result.unpromoted:
        say(f"The registry did not record it: {result.unpromoted}\nRepeat the same command to record it.")
    if as_json:
        click.echo(msgspec.json.encode(_told(wanted, result)))
    elif result.deployment is None:
        say(f"{wanted.job} could be upgraded to {wanted.run.program}. Nothing was changed.")
    elif result.deployment.runs is not None:
        click.echo(result.deployment.runs)
    return 0 if result.done else FAILED


def _refused(wanted: Wanted, text: str, as_json: bool) -> int:
    click.echo(f"{text}\nRefused: {wanted.job} is as it was.", err=True)
    if as_json:
        told = {"job": wanted.job, "outcome": "refused", "message": text, "deployment": None}
        click.echo(msgspec.json.encode(told))
    return REFUSED


def _told(wanted: Wanted, result: Result) -> dict[str, Any]:
    """The result as JSON: ``outcome`` is the last step of the deployment."""
    deployment: DeploymentSummary | None = result.deployment
    if deployment is None:
        return {"job": wanted.job, "outcome": "possible", "message": result.sentence, "deployment": None}
    outcome = "not promoted" if result.unpromoted else deployment.step
    return {
        "job": wanted.job,
        "outcome": outcome,
        "message": result.unpromoted or deployment.message,
        "deployment": deployment,
    }
