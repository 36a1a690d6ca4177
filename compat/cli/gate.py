"""``compat check --server URL --job NAME new.py``: a check against what runs, recorded where others see it.

The program is compiled here, and OLD is the plan that the server keeps. The check is made twice: here, where the sources are,
so that every option, format, comment and source line works as without a server; and there, whose verdict counts too. What was
let pass here (comments, settings, a baseline) is told to the server with its reason, and is kept with the check.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import click

from compat.check.findings import Report
from compat.cli.remote import Server, job_path
from compat.comparison import Comparison, Outcomes
from compat.escaping import visible
from compat.loader.inputs import Input, InputKind

FOUND, UNDECIDED = 1, 2


@dataclass(frozen=True, slots=True)
class Running:
    """The version of a job that runs: what to call it, its number, and its plan as an input."""

    label: str
    number: int
    input: Input


@contextmanager
def running(server: Server, job: str) -> Iterator[Running]:
    """The version of a job that runs, as long as the context lasts. Raises ServerError."""
    version = server.get(f"{job_path(job)}/versions/current")
    number = int(version["number"])
    plan = server.get(f"{job_path(job)}/versions/{number}/plan")
    label = f"{job}@{number}"
    with TemporaryDirectory(prefix="compat-") as folder:
        path = os.path.join(folder, "old.plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
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
        answer = server.post(
            "/checks",
            {
                "old": {"job": job, "version": old.number},
                "new": {"plan": new_plan, "label": comparison.new},
                "options": {
                    "allow_non_restored_state": comparison.allow_non_restored,
                    "flink": comparison.load.flink,
                    "accept": [
                        {"fingerprint": finding.fingerprint, "reason": finding.ignored or "in the baseline"}
                        for finding in outcome.suppressed
                    ],
                },
                "record": server.token is not None,
                **origin,
            },
        )
        worst = max(worst, _tell(server, answer, outcome))
    return worst


def _tell(server: Server, answer: dict[str, Any], outcome: Report) -> int:
    check, verdict = answer["check"], str(answer["report"]["verdict"])
    if verdict != outcome.verdict.value:
        version = visible(str(answer["report"]["tool"]["version"]))
        click.echo(f"The server (compat {version}) says otherwise: {visible(answer['report']['sentence'])}", err=True)
    if check is None:
        click.echo("Not recorded: there is no token (COMPAT_TOKEN or --token-file).", err=True)
    else:
        click.echo(f"Recorded as check {int(check['id'])}: {server.page('/checks/')}{int(check['id'])}", err=True)
    if verdict in (outcome.verdict.value, "compatible", "compatible-with-migration"):
        return 0
    return UNDECIDED if verdict == "unknown" else FOUND
