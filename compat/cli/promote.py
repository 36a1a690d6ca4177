"""``compat registry promote``: makes a version of a job the one that runs, if it can restore the state of the one
that runs now."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from compat.cli.options import server_options
from compat.cli.recipes import given_recipe
from compat.cli.remote import Server, ServerError, job_path, server_of
from compat.escaping import visible
from compat.service.answers import PromotedAnswer, RefusedPromotion

REFUSED, UNDECIDED = 1, 2
CONFLICT = 409


@click.command("promote")
@click.option("--job", required=True, metavar="NAME", help="The job.")
@click.option("--version", "number", type=click.IntRange(1), help="The version (default: the newest).")
@click.option("--force", is_flag=True, help="Promote in spite of the check; needs an admin's token and a reason.")
@click.option("--reason", help="Why it is forced; the registry keeps it.")
@click.option(
    "--recipe",
    metavar="FILE",
    help="A recipe that migrates the state first; one that drops state needs an admin's token.",
)
@server_options(required=True)
def promote(**options: Any) -> None:
    """Make a version of a job the one that runs.

    The server checks it against the version that runs now, unless it did so before. Exit codes: 0 promoted, 1 refused,
    2 the server could not be asked.

    Example: compat registry promote --server http://127.0.0.1:8642 --job word_count
    """
    server = server_of(options["server"], options["token_file"])
    if options["force"] != bool(options["reason"]):
        raise click.UsageError("--force and --reason go together.")
    wanted = {"version": options["number"], "force": options["force"], "reason": options["reason"]}
    if options["recipe"] is not None:
        wanted["recipe"] = given_recipe(options["recipe"])
    try:
        answer = server.post(f"{job_path(options['job'])}/promotions", wanted, PromotedAnswer)
    except ServerError as error:
        click.echo(str(error), err=True)
        if error.status == CONFLICT and "check" in error.document:
            sys.exit(_refused(server, error))
        sys.exit(UNDECIDED)
    promotion = answer.promotion
    forced = " (forced)" if promotion.forced else ""
    click.echo(f"{visible(promotion.job)}@{promotion.number} runs now{forced}.")
    for each in promotion.accepted:
        click.echo(visible(f"  let pass: {each.rule} {each.title} ({each.reason}; {each.by})"))


def _refused(server: Server, error: ServerError) -> int:
    """Print the findings that prevent the promotion, one per line; the exit code."""
    try:
        refused = msgspec.convert(error.document, RefusedPromotion)
    except msgspec.ValidationError as wrong:
        click.echo(f"Its answer is not that of a compat service: {visible(str(wrong))}.", err=True)
        return UNDECIDED
    for line in refused.report.against:
        click.echo(visible(f"  {line}"), err=True)
    click.echo(f"The whole report: {server.page('/checks/')}{refused.check.id}", err=True)
    return REFUSED
