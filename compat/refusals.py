"""A program that Flink refuses, as a finding of the check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.check.findings import Finding, Fix, Report, Verdict
from compat.check.rule import Rule
from compat.check.rules import cmp105, cmp109, cmp202, cmp203
from compat.compiler.configuration import CHECKPOINT_INTERVAL
from compat.plan.decode import PlanError, decode
from compat.plan.facts import Program, SourceLine

_RULES = (
    ("Hash collision on user-specified ID", cmp105.RULE),
    ("Node hash must be a 32 character String", cmp109.RULE),
    ("Forward partitioning does not allow change of parallelism", cmp202.RULE),
    ("not supported by default for iterative jobs", cmp203.RULE),
)
_FOUND = "Found: "


def refused(plan: Mapping[str, Any], name: str, old: Program) -> Report | None:
    """The report on a NEW that Flink refuses by one of the rules; None for any other refusal."""
    error = plan["error"]
    message = str(error["message"])
    for text, rule in _RULES:
        if text in message:
            place = _place(error.get("source"))
            finding = Finding(
                rule=rule.id,
                level=rule.level,
                title=message.splitlines()[0],
                consequence=f"Flink refuses the program: {error['class']}.",
                reason=message,
                old_line=old.source or next((one.source for one in old.operators if one.source is not None), None),
                new_line=place or SourceLine(name, 0),
                fixes=_fixes(rule, plan, name, old, place),
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
            return Report(old=old, new=new, verdict=Verdict.INCOMPATIBLE, findings=(finding,), mapping=(), refused=True)
    return None


def _place(source: Mapping[str, Any] | None) -> SourceLine | None:
    if source is None:
        return None
    end = source.get("end")
    return SourceLine(source["file"], source["line"], None if end is None else (end[0], end[1]))


def _fixes(rule: Rule, plan: Mapping[str, Any], name: str, old: Program, place: SourceLine | None) -> tuple[Fix, ...]:
    """What to do about the refusal."""
    if rule is cmp105.RULE:
        return _apart(plan, name, old) or (Fix(text="Give each operator a uid of its own."),)
    if rule is cmp109.RULE:
        return (cmp109.fix(old, plan["error"]["message"].rpartition(_FOUND)[2], place),)
    if rule is cmp202.RULE:
        text = "Give both operators the same parallelism, or use rebalance() in the place of forward()."
        return (Fix(text=text, code=".rebalance()"),)
    text = "Take the loop out of the job, or switch checkpoints off."
    return (Fix(text=text, code=f"{CHECKPOINT_INTERVAL}: 0"),)


def _apart(plan: Mapping[str, Any], name: str, old: Program) -> tuple[Fix, ...]:
    """Edits for uids that several operators have; none where the job is refused for more than that."""
    try:
        apart = decode(plan["apart"], name=name, kind="program")
    except (KeyError, PlanError):
        return ()
    return tuple(cmp105.fixes(old, apart, {int(node): uid for node, uid in plan["apart"]["shared_uids"].items()}))
