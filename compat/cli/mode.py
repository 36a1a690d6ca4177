"""``compat registry mode``: what a new version of a job has to restore."""

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
@click.option(
    "--versions", type=click.IntRange(1, 20), help="With rollback: how many of the versions that were promoted last."
)
@click.option("--savepoint", metavar="ID", help="With savepoint: its id, as the service lists it.")
@server_options(required=True)
def mode(mode: str | None, **options: Any) -> None:
    """Set what a new version of a job has to restore; without MODE, print it.

    \b
    current    the state of the version that runs (so it is by default)
    rollback   that of each of the last versions that were promoted: it may replace whichever one rolled back to
    savepoint  a savepoint in a folder that the service watches

    Checks with --server and promotions go by it, and the webhook by the first two. Setting it takes an admin's token.

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
