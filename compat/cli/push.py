"""``compat registry push``: sends a program's plan to the registry of a service."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from compat.cli import gate
from compat.cli.options import arguments_for, load_options, loading, origin_options, paths, server_options
from compat.cli.remote import Server, ServerError, job_path, origin, server_of
from compat.compiler.own_code import is_our_file
from compat.deployment.resources import DIGEST, VERSION
from compat.escaping import visible
from compat.loader.inputs import InputError, InputKind, LoadOptions, built_here, load, needs_pyflink, opened
from compat.loader.lines import carrying
from compat.loader.main_module import layout_of
from compat.loader.request import Loaded
from compat.service.answers import VersionAnswer
from compat.service.records import Mode

if TYPE_CHECKING:
    from compat.state.model.job import Plan, Refused

UNDECIDED = 2


@click.command("push")
@click.argument("program", shell_complete=paths)
@click.option(
    "--job", required=True, metavar="NAME", help="The job that PROGRAM is a version of; created if it is new."
)
@click.option("--args", "arguments", help="Arguments of the program.")
@click.option(
    "--image",
    metavar="NAME@sha256:…",
    help="The container image with the program, by which compat webhook recognizes the version.",
)
@click.option(
    "--artifact-digest",
    metavar="sha256:…|FILE",
    help="The digest of the artifact with the program, such as a jar, or the file itself: compat webhook "
    "recognizes the version by the "
    "annotation stream-compat/digest.",
)
@click.option(
    "--program",
    "whole",
    is_flag=True,
    help="Send the program and have the service build it, if the service allows that.",
)
@server_options(required=True)
@origin_options
@loading
def push(program: str, **options: Any) -> None:
    """Register PROGRAM as the newest version of a job.

    The program is compiled here; only its plan is sent. Pushing the same plan of the same commit again changes nothing.

    Example: compat registry push --server http://127.0.0.1:8642 --job word_count job.py
    """
    server = server_of(options["server"], options["token_file"])
    settings = load_options(options, program)
    holder = holder_of(options["image"], options["artifact_digest"])
    try:
        given = arguments_for(program, options["arguments"])
        sent = origin(program, options["commit"], options["author"]) | (
            files_of(program, given, settings)
            if options["whole"]
            else {"plan": compiled(program, given, settings, options["job"])}
        )
        if holder is not None:
            sent["image"] = holder
        kind = "programs" if options["whole"] else "versions"
        version = server.post(f"{job_path(options['job'])}/{kind}", sent, VersionAnswer)
    except InputError as error:
        _end(error.failure.message, error.failure.traceback, error.failure.hint)
    except ServerError as error:
        _end(str(error))
    asked = [] if os.environ.get("COMPAT_SERVER") == options["server"] else ["--server", options["server"]]
    following = shlex.join(["compat", "registry", "promote", "--job", options["job"], *asked])
    program = f", of the program {visible(version.plan.program)}" if version.plan.program else ""
    click.echo(f"{visible(version.label)} registered{program}.{_asked(server, options['job'])}")
    if options["artifact_digest"] is not None:
        click.echo(f"Deploy it with the annotations {VERSION}: {visible(version.label)} and {DIGEST}: {holder}")
    click.echo(f"Next: {following}")


def _asked(server: Server, job: str) -> str:
    """The state that the version has to restore before promotion, if that is not just the state of the running version."""
    try:
        mode = gate.mode_of(server, job)
    except ServerError:
        return ""
    return "" if mode.mode is Mode.CURRENT else f" It has to restore {mode.told}."


def compiled(program: str, arguments: tuple[str, ...], settings: LoadOptions, job: str) -> Plan | Refused:
    """The plan of a program, with the source lines that it refers to. Raises InputError, and a usage error."""
    with opened(program, arguments) as given:
        notes: list[str] = []
        plans = load(given, settings, notes=notes)
        _say(notes)
        return carrying(plan_of_job(plans, job, program), given)


def files_of(program: str, arguments: tuple[str, ...], settings: LoadOptions) -> dict[str, Any]:
    """A program as a service accepts it: the files of its project that it reads when it is built here, and how it is started.

    Raises InputError, and a usage error.
    """
    with opened(program, arguments) as given:
        if given.kind not in (InputKind.PROGRAM, InputKind.TOPOLOGY) or given.root:
            raise click.UsageError("--program sends programs in Python and topologies, from files.")
        layout = layout_of(given.path, settings.pyfiles)
        root = os.path.realpath(layout.root or layout.folder)
        settings, outcome = built_here(given, replace(settings, watched=root))
        _say([settings.flink_because] if settings.flink_because else [])
        place = os.path.relpath(os.path.realpath(given.path), root)
        loads = outcome.loads if isinstance(outcome, Loaded) else None
        if needs_pyflink(outcome, settings):
            raise click.UsageError(
                f"A service does not build programs that need PyFlink itself: push {program} without --program."
            )
        try:
            names = {
                place,
                *(name for name in (loads.files if loads else ()) if _is_sent(root, name)),
            }
            files = {name: Path(root, name).read_text("utf-8") for name in sorted(names)}
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(
                f"A file that {program} looks at is not text, and cannot be sent: {error}."
            ) from error
    options = {"arguments": arguments, "options": dict(settings.options), "flink": settings.flink}
    return {"program": place, "files": files, **options}


def _is_sent(root: str, name: str) -> bool:
    """Whether a file belongs to the program; installed and hidden files, compat's own, and files that were only looked
    for do not.
    """
    parts = name.split("/")
    foreign = any(part.startswith(".") or part in ("site-packages", "dist-packages") for part in parts)
    path = os.path.join(root, name)
    return not foreign and not is_our_file(path) and os.path.isfile(path)


def holder_of(image: str | None, artifact: str | None) -> str | None:
    """The key by which the registry knows a version: an image, or the digest of an artifact, which can be computed from a file.

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


def _say(notes: list[str]) -> None:
    """Print how a plan was made."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _end(*lines: str | None) -> None:
    for line in lines:
        if line:
            click.echo(line, err=True)
    sys.exit(UNDECIDED)
