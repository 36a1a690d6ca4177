"""``compat check --server URL --job NAME new.py``: a check against what runs, recorded where others see it.

The program is compiled here, and OLD is the plan that the server keeps. The check is made twice: here, where the sources are,
so that every option, format, comment and source line works as without a server; and there, whose verdict counts too. What was
let pass here (comments, settings, a baseline) is told to the server with its reason: from an admin it is accepted, and kept.
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
from compat.service.answers import CheckedAnswer, PlanAnswer, VersionAnswer

FORBIDDEN = 403

FOUND, UNDECIDED = 1, 2


class Running(Struct, frozen=True):
    """The version of a job that runs: what to call it, its number, and its plan as an input."""

    label: str
    number: int
    input: Input


@contextmanager
def running(server: Server, job: str) -> Iterator[Running]:
    """The version of a job that runs, as long as the context lasts. Raises ServerError."""
    number = server.get(f"{job_path(job)}/versions/current", VersionAnswer).number
    plan = server.get(f"{job_path(job)}/versions/{number}/plan", PlanAnswer)
    label = f"{job}@{number}"
    with TemporaryDirectory(prefix="compat-") as folder:
        path = os.path.join(folder, "old.plan.json")
        with open(path, "wb") as file:
            file.write(bytes(plan))
        yield Running(label, number, Input(label, path, InputKind.PLAN))


def record(
    server: Server, job: str, old: Running, comparison: Comparison, result: Outcomes, origin: Mapping[str, str | None]
) -> int:
    """Have the server make and keep the check that was made here; the exit code if it finds more, 0 if not.

    Raises ServerError.

    Prints, on standard error, where the check is to be seen, and the server's verdict if it is another one.
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
    """The server's check. What was let pass here passes there if the token is an admin's, or an admin accepted it before."""
    accept = [
        {"fingerprint": finding.fingerprint, "reason": finding.ignored}
        for finding in passed
        if finding.ignored not in (None, NO_REASON)
    ]
    if len(accept) < len(passed):
        click.echo(
            f"{len(passed) - len(accept)} findings are let pass here without a reason, and not there: "
            "write it behind the comment, as in '# compat: ignore[CMP402] reason'.",
            err=True,
        )
    try:
        return server.post("/checks", {**request, "options": {**options, "accept": accept}}, CheckedAnswer)
    except ServerError as error:
        if error.status != FORBIDDEN or not accept:
            raise
    click.echo(
        f"{len(accept)} findings that are let pass here pass there only once an admin accepted them: "
        "the same command with an admin's token does.",
        err=True,
    )
    return server.post("/checks", {**request, "options": options}, CheckedAnswer)


def _tell(server: Server, answer: CheckedAnswer, outcome: Report) -> int:
    check, verdict = answer.check, answer.report.verdict
    if verdict != outcome.verdict.value:
        version = visible(answer.report.tool.version)
        click.echo(f"The server (compat {version}) says otherwise: {visible(answer.report.sentence)}", err=True)
    if check is None:
        click.echo("Not recorded: there is no token (COMPAT_TOKEN or --token-file).", err=True)
    else:
        click.echo(f"Recorded as check {check.id}: {server.page('/checks/')}{check.id}", err=True)
    if verdict == outcome.verdict.value or answer.report.passed:
        return 0
    return UNDECIDED if verdict == "unknown" else FOUND
