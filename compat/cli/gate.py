"""``compat check --server URL --job NAME new.py``: a check against the running version, recorded on the server.

The program is compiled here, and OLD is the plan that the server keeps, or each of those that the job's mode names. The
check is made twice: here, where the sources are, so that every option, format, comment and source line works as without
a server; and on the server, whose verdict counts too. A finding that is ignored here (comments, settings, a baseline)
goes to the server with its reason: the server accepts and keeps it if an admin sends it. A check against a savepoint,
which only the server can read, is made there alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import click
from msgspec import Struct

from compat.check.findings import Finding, Report
from compat.check.ignores import NO_REASON
from compat.cli.remote import Server, ServerError, job_path
from compat.comparison import Comparison, Outcomes
from compat.escaping import visible
from compat.loader.inputs import Input, InputKind
from compat.loader.lines import carrying_from
from compat.service.answers import CheckedAnswer, CompatibilityAnswer, PlanAnswer, VersionAnswer
from compat.service.records import Mode
from compat.state.model.job import Plan, Refused

FORBIDDEN, NOT_FOUND = 403, 404

FOUND, UNDECIDED = 1, 2


class Running(Struct, frozen=True):
    """A version of a job that runs, or ran: its label, its number, and its plan as an input."""

    label: str
    number: int
    input: Input


def mode_of(server: Server, job: str) -> CompatibilityAnswer:
    """The state that a new version of a job has to restore. Raises ServerError."""
    try:
        return server.get(f"{job_path(job)}/compatibility", CompatibilityAnswer)
    except ServerError as error:
        if error.status != NOT_FOUND:
            raise
    number = server.get(f"{job_path(job)}/versions/current", VersionAnswer).number  # of a server that knows no modes
    return CompatibilityAnswer(mode=Mode.CURRENT, versions=None, savepoint=None, against=(number,))


@contextmanager
def restored(server: Server, job: str, mode: CompatibilityAnswer) -> Iterator[list[Running]]:
    """The versions of a job whose state a new one has to restore, valid while the context lasts. Raises ServerError."""
    numbers = mode.against or (server.get(f"{job_path(job)}/versions/current", VersionAnswer).number,)
    with TemporaryDirectory(prefix="compat-") as folder:
        found = []
        for number in numbers:
            plan = server.get(f"{job_path(job)}/versions/{number}/plan", PlanAnswer)
            label, path = f"{job}@{number}", os.path.join(folder, f"{number}.plan.json")
            with open(path, "wb") as file:
                file.write(bytes(plan))
            found.append(Running(label, number, Input(label, path, InputKind.PLAN)))
        yield found


def restores_savepoint(
    server: Server, id: str, plan: Plan | Refused, label: str, origin: Mapping[str, str | None]
) -> int:
    """Have the server check a plan against a savepoint that it knows, and print the answer; the exit code.

    Raises ServerError.
    """
    request = {
        "old": {"savepoint": id},
        "new": {"plan": plan, "label": label},
        "options": {"flink": plan.flink},
        "record": server.token is not None,
        **origin,
    }
    answer = server.post("/checks", request, CheckedAnswer)
    click.echo(visible(answer.report.sentence))
    for line in answer.report.against:
        click.echo(visible(f"  {line}"))
    _tell_record(server, answer)
    if answer.report.passed:
        return 0
    return UNDECIDED if answer.report.verdict == "unknown" else FOUND


def record(
    server: Server, job: str, old: Running, comparison: Comparison, result: Outcomes, origin: Mapping[str, str | None]
) -> int:
    """Have the server repeat and keep the check that was made here; the exit code if it finds more, else 0.

    Raises ServerError.

    Prints on standard error the address of the check's page, and the server's verdict if it differs.
    """
    worst = 0
    for outcome, (_, new_plan) in zip(result.outcomes, result.plans, strict=False):
        if not isinstance(outcome, Report):
            continue
        request = {
            "old": {"job": job, "version": old.number},
            "new": {"plan": new_plan and carrying_from(new_plan, result.sources), "label": comparison.new},
            "record": server.token is not None,
            **origin,
        }
        options = {"allow_non_restored_state": comparison.allow_non_restored, "flink": comparison.load.flink}
        worst = max(worst, _tell(server, _made(server, request, options, outcome.suppressed), outcome))
    return worst


def _made(server: Server, request: dict[str, Any], options: dict[str, Any], passed: Sequence[Finding]) -> CheckedAnswer:
    """The server's check. A finding ignored here passes there if the token is an admin's, or if an admin accepted it."""
    accept = [
        {"fingerprint": finding.fingerprint, "reason": finding.ignored}
        for finding in passed
        if finding.ignored not in (None, NO_REASON)
    ]
    if len(accept) < len(passed):
        click.echo(
            f"{len(passed) - len(accept)} findings are ignored here without a reason, so the server counts them: "
            "write the reason behind the comment, as in '# compat: ignore[CMP402] reason'.",
            err=True,
        )
    try:
        return server.post("/checks", {**request, "options": {**options, "accept": accept}}, CheckedAnswer)
    except ServerError as error:
        if error.status != FORBIDDEN or not accept:
            raise
    click.echo(
        f"{len(accept)} findings that are ignored here count on the server until an admin accepts them: "
        "repeat this command with an admin's token.",
        err=True,
    )
    return server.post("/checks", {**request, "options": options}, CheckedAnswer)


def _tell(server: Server, answer: CheckedAnswer, outcome: Report) -> int:
    verdict = answer.report.verdict
    if verdict != outcome.verdict.value:
        version = visible(answer.report.tool.version)
        click.echo(f"The server (compat {version}) disagrees: {visible(answer.report.sentence)}", err=True)
    _tell_record(server, answer)
    if verdict == outcome.verdict.value or answer.report.passed:
        return 0
    return UNDECIDED if verdict == "unknown" else FOUND


def _tell_record(server: Server, answer: CheckedAnswer) -> None:
    if answer.check is None:
        click.echo("Not recorded: there is no token (COMPAT_TOKEN or --token-file).", err=True)
    else:
        click.echo(f"Recorded as check {answer.check.id}: {server.page('/checks/')}{answer.check.id}", err=True)
