"""``compat registry token``: who may use the service, and clusters."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta

import click

from compat.cli.serve import DATABASE, opened_registry, service_modules
from compat.compiler.configuration import parse_duration
from compat.compiler.errors import ProgramError

_ROLE = click.Choice(["read", "push", "deploy", "admin"])


def _end(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A future time in seconds since 1970, from a length of time from now, or as the end of a day in UTC.

    Raises a usage error for anything else.
    """
    if value is None:
        return None
    try:
        moment = _moment(value)
    except (ValueError, OverflowError, ProgramError) as error:
        raise click.BadParameter(
            f"{value!r} is neither a length of time such as 90d nor a day such as 2030-12-31."
        ) from error
    if moment <= time.time():
        raise click.BadParameter(f"{value!r} is in the past.")
    return moment


def _moment(text: str) -> float:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        if text.strip().isdecimal():
            raise  # a number of what?
        return (datetime.now(UTC) + timedelta(milliseconds=parse_duration(text))).timestamp()
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)).timestamp()


@click.group("token")
def token() -> None:
    """Manage tokens for the service and for clusters. Roles: read looks, push records checks and versions, deploy runs
    jobs on clusters, admin forces promotions.

    Example: compat registry token create ci --role push
    """


@token.command("create")
@click.argument("name")
@click.option("--role", type=_ROLE, default="push", show_default=True, help="What the token allows.")
@click.option(
    "--job",
    "jobs",
    multiple=True,
    metavar="PATTERN",
    help="The jobs that the token may change, by name; * matches anything. Repeatable (default: all).",
)
@click.option(
    "--expires",
    callback=_end,
    metavar="90d|DAY",
    help="When the token ends: a length of time from now, or a day (UTC). Default: never.",
)
@DATABASE
def create(name: str, role: str, jobs: tuple[str, ...], expires: float | None, database: str) -> None:
    """Create a token and print it; it cannot be printed again. The audit log and pages show its NAME.

    Example: compat registry token create payments-ci --role push --job 'payments-*' --expires 90d
    """
    service = service_modules()
    if jobs and role == "deploy":
        raise click.UsageError(
            "A token with the role deploy runs programs, which may do anything there: so it cannot be bound to jobs."
        )
    try:
        text = opened_registry(database).tokens.create(
            service.requests.job_name(name),
            service.records.Role[role.upper()],
            jobs=tuple(service.requests.job_pattern(each) for each in jobs),
            expires_at=expires,
        )
    except (service.registry.Conflict, ValueError) as error:
        raise click.UsageError(str(error)) from error
    click.echo(text)


@token.command("list")
@DATABASE
def list_tokens(database: str) -> None:
    """List all tokens with their roles, the jobs that they are bound to, and when they end."""
    service = service_modules()
    for each in opened_registry(database).tokens.list():
        told = [each.name, each.role.name.lower()]
        if each.jobs:
            told.append(f"jobs {', '.join(each.jobs)}")
        if each.expires_at is not None:
            ends = service.records.moment(each.expires_at)
            told.append(f"ended {ends}" if each.expired(time.time()) else f"until {ends}")
        click.echo("\t".join(told))


@token.command("revoke")
@click.argument("name")
@DATABASE
def revoke(name: str, database: str) -> None:
    """Revoke a token."""
    service = service_modules()
    try:
        opened_registry(database).tokens.revoke(name)
    except service.registry.NotFound as error:
        raise click.UsageError(str(error)) from error
