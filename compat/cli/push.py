"""``compat push``: a program's plan, to the registry of a service."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from compat.cli.options import load_options, loading, origin_options, paths, server_options, split
from compat.cli.remote import ServerError, job_path, origin, server_of
from compat.deployment.resources import DIGEST, VERSION
from compat.escaping import visible
from compat.loader.inputs import InputError, load, opened
from compat.loader.lines import carrying
from compat.service.answers import VersionAnswer

if TYPE_CHECKING:
    from compat.state.model.job import Plan, Refused

UNDECIDED = 2


@click.command("push")
@click.argument("program", shell_complete=paths)
@click.option("--job", required=True, metavar="NAME", help="The job that it is a version of; made if it is new.")
@click.option("--args", "arguments", help="Arguments of the program.")
@click.option(
    "--image",
    metavar="NAME@sha256:…",
    help="The container image that holds it, by which compat webhook knows it again.",
)
@click.option(
    "--artifact-digest",
    metavar="sha256:…|FILE",
    help="The artifact that holds it, such as a jar, or the file whose SHA-256 that is: compat webhook knows it again by the "
    "annotation stream-compat/digest.",
)
@server_options(required=True)
@origin_options
@loading
def push(program: str, **options: Any) -> None:
    """Register PROGRAM as the newest version of a job.

    The program is compiled here; only its plan is sent. Pushing the same plan of the same commit again changes nothing.

    Example: compat push --server http://127.0.0.1:8642 --job word_count job.py
    """
    server = server_of(options["server"], options["token_file"])
    settings = load_options(options, program)
    holder = holder_of(options["image"], options["artifact_digest"])
    try:
        with opened(program, split(options["arguments"])) as given:
            plan = carrying(plan_of_job(load(given, settings), options["job"], program), given)
        sent = {"plan": plan, **origin(program, options["commit"], options["author"])}
        if holder is not None:
            sent["image"] = holder
        version = server.post(f"{job_path(options['job'])}/versions", sent, VersionAnswer)
    except InputError as error:
        _end(error.failure.message, error.failure.traceback, error.failure.hint)
    except ServerError as error:
        _end(str(error))
    asked = [] if os.environ.get("COMPAT_SERVER") == options["server"] else ["--server", options["server"]]
    following = shlex.join(["compat", "promote", "--job", options["job"], *asked])
    click.echo(f"{visible(version.label)} registered.")
    if options["artifact_digest"] is not None:
        click.echo(f"Deploy it with the annotations {VERSION}: {visible(version.label)} and {DIGEST}: {holder}")
    click.echo(f"Next: {following}")


def holder_of(image: str | None, artifact: str | None) -> str | None:
    """What the registry knows a version by: an image, or the digest of an artifact, which may be that of a file.

    Raises a usage error.
    """
    if artifact is None:
        return image
    if image is not None:
        raise click.UsageError("A version has one digest: give --image, or --artifact-digest.")
    if artifact.startswith("sha256:"):
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", artifact):
            raise click.BadParameter(
                "a digest is sha256: and 64 digits, a to f small.", param_hint="'--artifact-digest'"
            )
        return artifact
    try:
        with open(artifact, "rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise click.BadParameter(
            f"{artifact}: {error.strerror or error}. Give a file, or a digest: sha256:…",
            param_hint="'--artifact-digest'",
        ) from error


def plan_of_job(plans: tuple[Plan | Refused, ...], job: str, program: str) -> Plan | Refused:
    """The only plan of a program, or the one whose job has that name. Raises a usage error."""
    named = [plan for plan in plans if plan.job_name == job] if len(plans) > 1 else list(plans)
    if len(named) != 1:
        raise click.UsageError(f"{program} submits {len(plans)} jobs, of which {len(named)} are called {job!r}.")
    return named[0]


def _end(*lines: str | None) -> None:
    for line in lines:
        if line:
            click.echo(line, err=True)
    sys.exit(UNDECIDED)
