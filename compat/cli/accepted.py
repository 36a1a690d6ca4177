"""``compat registry accept``, ``accepted`` and ``withdraw``: accept findings, list the accepted ones, and withdraw
acceptance.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from compat.cli.options import server_options
from compat.cli.remote import ServerError, job_path, server_of
from compat.escaping import visible
from compat.service.answers import AcceptedAnswers, CheckedAnswer, VersionAnswers, WithdrawnAnswers

UNDECIDED = 2


@click.command("accept")
@click.argument("fingerprints", metavar="FINGERPRINT...", nargs=-1, required=True)
@click.option("--job", required=True, metavar="NAME", help="The job.")
@click.option("--version", "number", type=click.IntRange(1), help="The version (default: the newest).")
@click.option("--reason", required=True, help="Why they are accepted; the registry keeps it.")
@server_options(required=True)
def accept(fingerprints: tuple[str, ...], **options: Any) -> None:
    """Accept findings of a version, as compared with the version that runs. Needs an admin's token.

    FINGERPRINT is in the JSON report and on the page of the check. Once either version changes, findings need accepting
    again. Exit codes: 0 all are accepted, 2 they are not.

    Example: compat registry accept --job word_count 'CMP103|count words' --reason "the counts may start anew"
    """
    server = server_of(options["server"], options["token_file"])
    job, number, reason = options["job"], options["number"], options["reason"]
    try:
        if number is None:
            newest = server.get(f"{job_path(job)}/versions?limit=1", VersionAnswers).versions
            if not newest:
                raise click.UsageError(f"The job {visible(job)} has no version: compat registry push makes one.")
            number = newest[0].number
        asked = {"accept": [{"fingerprint": each, "reason": reason} for each in fingerprints]}
        sides = {"old": {"job": job}, "new": {"job": job, "version": number}}
        report = server.post("/checks", {**sides, "options": asked, "record": True}, CheckedAnswer).report
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(UNDECIDED)
    passed = {each.fingerprint: each for each in report.suppressed}
    for each in fingerprints:
        if each in passed:
            click.echo(visible(f"let pass: {passed[each].rule} {passed[each].title} ({reason})"))
        else:
            click.echo(visible(f"{job}@{number} has no such finding: {each}"), err=True)
    click.echo(visible(report.sentence))
    if not passed.keys() >= set(fingerprints):
        sys.exit(UNDECIDED)


@click.command("accepted")
@click.option("--job", required=True, metavar="NAME", help="The job.")
@server_options(required=True)
def accepted(**options: Any) -> None:
    """List the accepted findings of a job, newest first: why, by whom, between which plans.

    Example: compat registry accepted --server http://127.0.0.1:8642 --job word_count
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
@click.option("--reason", required=True, help="Why it is withdrawn; the registry keeps it.")
@server_options(required=True)
def withdraw(fingerprint: str, **options: Any) -> None:
    """Withdraw the acceptance of a finding. Needs an admin's token.

    FINGERPRINT is listed by 'compat registry accepted'. From now on, checks and promotions count the finding again;
    versions promoted meanwhile stay.

    Example: compat registry withdraw --job word_count 'CMP103|count words' --reason "the state is needed after all"
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
