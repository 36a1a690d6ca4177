"""``compat accepted`` and ``compat withdraw``: the findings that admins let pass, and taking that back."""

from __future__ import annotations

import sys
from typing import Any

import click

from compat.cli.options import server_options
from compat.cli.remote import ServerError, job_path, server_of
from compat.escaping import visible
from compat.service.answers import AcceptedAnswers, WithdrawnAnswers

UNDECIDED = 2


@click.command("accepted")
@click.option("--job", required=True, metavar="NAME", help="The job.")
@server_options(required=True)
def accepted(**options: Any) -> None:
    """The findings of a job that admins let pass, newest first: why, by whom, between which plans.

    Example: compat accepted --server http://127.0.0.1:8642 --job word_count
    """
    server = server_of(options["server"], options["token_file"])
    try:
        answer = server.get(f"{job_path(options['job'])}/acceptances?limit=1000", AcceptedAnswers)
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(UNDECIDED)
    for each in answer.acceptances:
        plans = f"{each.old_plan[:12]} -> {each.new_plan[:12]}"
        click.echo(visible(f"{each.rule} {each.title} ({each.reason}; {each.by}, {each.at}; {plans})"))
        click.echo(visible(f"  {each.fingerprint}"))


@click.command("withdraw")
@click.argument("fingerprint")
@click.option("--job", required=True, metavar="NAME", help="The job.")
@click.option("--reason", required=True, help="Why it may not pass any more; the registry keeps it.")
@server_options(required=True)
def withdraw(fingerprint: str, **options: Any) -> None:
    """Let a finding of a job pass no more. It takes an admin's token.

    FINGERPRINT is the one that 'compat accepted' tells. Checks and promotions are decided from now on as if nobody had accepted
    it; what was promoted meanwhile stays.

    Example: compat withdraw --job word_count 'CMP103|count words' --reason "the state is needed after all"
    """
    server = server_of(options["server"], options["token_file"])
    sent = {"fingerprint": fingerprint, "reason": options["reason"]}
    try:
        answer = server.post(f"{job_path(options['job'])}/withdrawals", sent, WithdrawnAnswers)
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(UNDECIDED)
    for each in answer.withdrawn:
        click.echo(visible(f"no more let pass: {each.rule} {each.title} ({each.reason}; {each.by})"))
