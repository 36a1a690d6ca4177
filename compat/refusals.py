"""A program that Flink refuses, as a finding of the check."""

from __future__ import annotations

from compat.check.findings import Finding, Fix, Level, Report, Verdict
from compat.check.rules import cmp105, cmp109
from compat.compiler.configuration import CHECKPOINT_INTERVAL
from compat.plan.facts import Program, SourceLine, facts_of
from compat.plan.model import Refused

_RULES = (
    ("Hash collision on user-specified ID", "CMP105"),
    ("Node hash must be a 32 character String", "CMP109"),
    ("Forward partitioning does not allow change of parallelism", "CMP202"),
    ("not supported by default for iterative jobs", "CMP203"),
)
_FOUND = "Found: "


def refused(plan: Refused, name: str, old: Program) -> Report | None:
    """The report on a NEW that Flink refuses by one of the rules; None for any other refusal."""
    message = plan.error.message
    for text, rule in _RULES:
        if text in message:
            finding = Finding(
                rule=rule,
                level=Level.ERROR,
                title=message.splitlines()[0],
                consequence=f"Flink refuses the program: {plan.error.class_name}.",
                reason=message,
                old_line=old.source or next((one.source for one in old.operators if one.source is not None), None),
                new_line=plan.error.source or SourceLine(name, 0),
                fixes=_fixes(rule, plan, name, old),
            )
            new = Program(
                name=name,
                kind="program",
                job_name=plan.job_name or "",
                flink=plan.flink,
                operators=(),
                vertices=(),
                settings={},
            )
            return Report(old=old, new=new, verdict=Verdict.INCOMPATIBLE, findings=(finding,), mapping=(), refused=True)
    return None


def _fixes(rule: str, plan: Refused, name: str, old: Program) -> tuple[Fix, ...]:
    """What to do about the refusal."""
    match rule:
        case "CMP105":
            return _apart(plan, name, old) or (Fix(text="Give each operator a uid of its own."),)
        case "CMP109":
            return (cmp109.fix(old, plan.error.message.rpartition(_FOUND)[2], plan.error.source),)
        case "CMP202":
            text = "Give both operators the same parallelism, or use rebalance() in the place of forward()."
            return (Fix(text=text, code=".rebalance()"),)
        case _:
            text = "Take the loop out of the job, or switch checkpoints off."
            return (Fix(text=text, code=f"{CHECKPOINT_INTERVAL}: 0"),)


def _apart(plan: Refused, name: str, old: Program) -> tuple[Fix, ...]:
    """Edits for uids that several operators have; none where the job is refused for more than that."""
    if plan.apart is None:
        return ()
    uids = {int(node): uid for node, uid in plan.apart.shared_uids.items()}
    return tuple(cmp105.fixes(old, facts_of(plan.apart, name=name, kind="program"), uids))
