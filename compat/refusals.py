"""A program that Flink refuses, as a finding of the check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.check.findings import Finding, Fix, Level, Report, Verdict
from compat.plan.facts import Program, SourceLine

_RULES = (
    ("Hash collision on user-specified ID", "CMP105", "Give each operator a uid of its own."),
    ("Node hash must be a 32 character String", "CMP109", "Give set_uid_hash the 32 hex digits of an operator id."),
    (
        "Forward partitioning does not allow change of parallelism",
        "CMP202",
        "Give both operators the same parallelism, or use rebalance() in the place of forward().",
    ),
    (
        "not supported by default for iterative jobs",
        "CMP203",
        "Take the loop out of the job, or switch checkpoints off.",
    ),
)


def refused(plan: Mapping[str, Any], name: str, old: Program) -> Report | None:
    """The report on a NEW that Flink refuses by one of the rules; None for any other refusal."""
    error = plan["error"]
    message = str(error["message"])
    for text, rule, fix in _RULES:
        if text in message:
            place = error.get("source")
            finding = Finding(
                rule=rule,
                level=Level.ERROR,
                title=message.splitlines()[0],
                consequence=f"Flink refuses the program: {error['class']}.",
                reason=message,
                old_line=old.source,
                new_line=None if place is None else SourceLine(place["file"], place["line"]),
                fixes=(Fix(text=fix),),
            )
            new = Program(
                name=name,
                kind="program",
                job_name=str(plan.get("job_name") or ""),
                flink=str(plan.get("flink") or ""),
                operators=(),
                vertices=(),
                settings={},
            )
            return Report(old=old, new=new, verdict=Verdict.INCOMPATIBLE, findings=(finding,), mapping=())
    return None
