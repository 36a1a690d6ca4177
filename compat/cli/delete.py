"""``compat registry delete``: deletes a version of a job, or the whole job."""

from __future__ import annotations

import sys
from typing import Any

import click

from compat.cli.options import server_options
from compat.cli.remote import ServerError, job_path, server_of
from compat.escaping import visible
from compat.service.answers import DeletedAnswer

REFUSED, UNDECIDED = 1, 2
CONFLICT = 409


@click.command("delete")
@click.option("--job", required=True, metavar="NAME", help="The job.")
@click.option("--version", "number", type=click.IntRange(1), help="The version to delete.")
@click.option("--whole-job", is_flag=True, help="Delete the job, with its versions, checks and promotions.")
@click.option(
    "--even-promoted", is_flag=True, help="Also delete a version that runs, or that ran and may be rolled back to."
)
@click.option("--reason", required=True, help="Why it is deleted; the registry keeps it.")
@server_options(required=True)
def delete(**options: Any) -> None:
    """Delete a version of a job, or the whole job. Needs an admin's token.

    Version numbers are not reused, and the audit log stays. Once the running version is deleted, the next promotion is
    not checked. Exit codes: 0 deleted, 1 it runs or ran and --even-promoted is missing, 2 the server could not be
    asked.

    Example: compat registry delete --job word_count --version 3 --reason "pushed by mistake"
    """
    server = server_of(options["server"], options["token_file"])
    if options["whole_job"] == (options["number"] is not None):
        raise click.UsageError("Name the version (--version), or give --whole-job: one of the two.")
    sent = {"version": options["number"], "whole_job": options["whole_job"], "reason": options["reason"]}
    try:
        gone = server.post(
            f"{job_path(options['job'])}/deletions", {**sent, "even_promoted": options["even_promoted"]}, DeletedAnswer
        )
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(REFUSED if error.status == CONFLICT else UNDECIDED)
    if gone.whole_job:
        many = "version" if len(gone.versions) == 1 else "versions"
        click.echo(f"{visible(gone.job)} is deleted, with {len(gone.versions)} {many}.")
    for number in () if gone.whole_job else gone.versions:
        click.echo(f"{visible(gone.job)}@{number} is deleted.")
