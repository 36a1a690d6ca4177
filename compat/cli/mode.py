"""``compat registry mode``: sets the state that a new version of a job has to restore."""

from __future__ import annotations

import sys
from typing import Any

import click

from compat.cli.gate import mode_of
from compat.cli.options import server_options
from compat.cli.remote import ServerError, job_path, server_of
from compat.escaping import visible
from compat.service.answers import CompatibilityAnswer
from compat.service.records import Mode

UNDECIDED = 2


@click.command("mode")
@click.argument("mode", type=click.Choice([mode.value for mode in Mode]), required=False)
@click.option("--job", required=True, metavar="NAME", help="The job.")
@click.option("--versions", type=click.IntRange(1, 20), help="With rollback: how many of the last promoted versions.")
@click.option("--savepoint", metavar="ID", help="With savepoint: its id, as the service lists it.")
@server_options(required=True)
def mode(mode: str | None, **options: Any) -> None:
    """Set the state that a new version of a job has to restore; without MODE, print it.

    \b
    current    the state of the version that runs (the default)
    rollback   the state of each of the last promoted versions, so that any of them can be rolled back to
    savepoint  a savepoint in a folder that the service watches

    Checks with --server and promotions follow the mode; the webhook follows the first two. Setting it needs an admin's token.

    Example: compat registry mode rollback --versions 3 --job word_count
    """
    server = server_of(options["server"], options["token_file"])
    sent = {name: options[name] for name in ("versions", "savepoint") if options[name] is not None}
    if sent and mode is None:
        raise click.UsageError(f"--{next(iter(sent))} goes with a mode.")
    try:
        if mode is None:
            found = mode_of(server, options["job"])
        else:
            path = f"{job_path(options['job'])}/compatibility"
            found = server.post(path, {"mode": mode, **sent}, CompatibilityAnswer)
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(UNDECIDED)
    now = ", ".join(f"{options['job']}@{number}" for number in found.against)
    click.echo(visible(f"A new version of {options['job']} restores {found.told}{f': {now}' if now else ''}."))
