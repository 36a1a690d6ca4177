"""The options for an OLD that is a running job: how its cluster is asked, and whether it takes a savepoint first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from compat.comparison import Comparison, loaded_as
from compat.compiler.versions import LATEST_FLINK, standing_for
from compat.loader.failure import Side
from compat.loader.inputs import is_running

if TYPE_CHECKING:
    from compat.running.jobs import Asked
    from compat.running.old import OldJob
    from compat.running.rest import Access

F = TypeVar("F", bound=Callable[..., Any])

CLUSTERS_OWN = "default"
"""The default of ``--take-savepoint``: the folder for savepoints that the cluster is configured with."""


def access_options(function: F) -> F:
    """The options for access to a cluster of Flink."""
    file = click.Path(exists=True, dir_okay=False)
    for option in (
        click.option(
            "--flink-cert", type=file, metavar="FILE", help="Our certificate and key for a cluster of Flink, as PEM."
        ),
        click.option(
            "--flink-ca",
            type=file,
            metavar="FILE",
            help="The certificate authorities to trust for a cluster.",
        ),
        click.option(
            "--flink-headers",
            type=file,
            metavar="FILE",
            help="Headers for a cluster of Flink, one NAME: VALUE per line (default: the variable COMPAT_FLINK_HEADERS).",
        ),
    ):
        function = option(function)
    return function


def running_options(function: F) -> F:
    """The access options, and ``--take-savepoint``."""
    taken = click.option(
        "--take-savepoint",
        "take_savepoint",
        metavar="DIR",
        help=f"Have the running job OLD write a savepoint there first, and go on ({CLUSTERS_OWN}: its own folder).",
    )
    return taken(access_options(function))


RUNNING_OPTIONS = ("take_savepoint", "flink_headers", "flink_ca", "flink_cert")
"""The parameter names of these options."""


def access_of(options: Mapping[str, Any]) -> Access:
    """The access to clusters, from the options. Raises a usage error for an invalid file of headers."""
    import os

    from compat.running.rest import Access, parse_headers, read_headers

    try:
        file = options["flink_headers"]
        headers = (
            parse_headers(os.environ.get("COMPAT_FLINK_HEADERS", "")) if file is None else read_headers(Path(file))
        )
    except (OSError, ValueError) as error:
        where = options["flink_headers"] or "COMPAT_FLINK_HEADERS"
        raise click.BadParameter(f"{where}: {error}.", param_hint="'--flink-headers'") from error
    return Access(headers=headers, ca=options["flink_ca"], certificate=options["flink_cert"])


def asked_of(options: Mapping[str, Any]) -> Asked:
    """The access to clusters, and whether they are asked for a savepoint."""
    from compat.running.jobs import Asked

    folder = options.get("take_savepoint")
    return Asked(access=access_of(options), savepoint="" if folder == CLUSTERS_OWN else folder)


def with_running(comparison: Comparison, options: Mapping[str, Any], folder: str) -> Comparison:
    """The comparison, with the cluster's answers about OLD if OLD is a job of a cluster. Raises InputError.

    The snapshot is copied into ``folder``, for a JVM that reads it after the original may be gone.
    """
    found = job_of_cluster(comparison.old, options, folder)
    if found is None:
        return comparison
    resource, load = found.job.resource, comparison.loading(Side.OLD)
    version = None if found.job.flink is None else standing_for(found.job.flink)
    if options["old_flink"] is None and version is not None:
        because = "" if version == LATEST_FLINK else f"Judged as Flink {version}: the job runs on {found.job.flink}."
        load = replace(load, flink=version, flink_assumed=False, flink_because=because)
        comparison = loaded_as(comparison, Side.OLD, load)
    return replace(
        comparison,
        known={**comparison.known, comparison.old: found.input},
        read={**comparison.read, comparison.old: found.savepoint},
        old_deployment=comparison.old_deployment or (None if resource is None else resource.deployment),
    )


@contextmanager
def room_for_copies(olds: Sequence[str]) -> Iterator[str]:
    """A temporary folder for copies of the snapshots of running jobs; empty if there are none."""
    if not any(map(is_running, olds)):
        yield ""
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="compat-") as folder:
        yield folder


def job_of_cluster(argument: str, options: Mapping[str, Any], folder: str | None = None) -> OldJob | None:
    """The job of a cluster that an argument names, with its latest snapshot; None for any other argument. Raises InputError.

    With ``folder``, the snapshot is copied into it.
    """
    if not is_running(argument):
        return None
    from compat.running.old import old_job

    return old_job(argument, asked_of(options), folder)
