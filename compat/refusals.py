"""A finding of the check for a program that Flink refuses."""

from __future__ import annotations

from collections.abc import Mapping

from compat.check.findings import Finding, Fix, Report, Verdict
from compat.check.rule import Rule
from compat.check.rules.identity import cmp105_duplicate_uid as cmp105
from compat.check.rules.identity import cmp109_invalid_user_hash as cmp109
from compat.check.rules.scaling import cmp305_parallelism_above_own_max as cmp305
from compat.check.rules.shape import cmp202_forward_parallelism as cmp202
from compat.check.rules.shape import cmp203_iteration_with_checkpoints as cmp203
from compat.compiler.errors import ErrorCode
from compat.plan.facts import Program, facts_of
from compat.state.model.job import Refusal, Refused
from compat.state.model.source_line import SourceLine

_RULES: Mapping[str, Rule] = {
    ErrorCode.DUPLICATE_UID.value: cmp105.RULE,
    ErrorCode.MALFORMED_UID_HASH.value: cmp109.RULE,
    ErrorCode.FORWARD_CHANGES_PARALLELISM.value: cmp202.RULE,
    ErrorCode.CHECKPOINTED_ITERATION.value: cmp203.RULE,
    ErrorCode.PARALLELISM_ABOVE_MAX.value: cmp305.RULE,
}
_BEFORE_CODES = {
    "Hash collision on user-specified ID": ErrorCode.DUPLICATE_UID,
    "Node hash must be a 32 character String": ErrorCode.MALFORMED_UID_HASH,
    "Forward partitioning does not allow change of parallelism": ErrorCode.FORWARD_CHANGES_PARALLELISM,
    "not supported by default for iterative jobs": ErrorCode.CHECKPOINTED_ITERATION,
}
"""Flink's words that tell errors apart in plans of version 0.1.0, which have no error codes."""


def refused(plan: Refused, name: str, old: Program) -> Report | None:
    """The report on a NEW that Flink refuses because of one of the rules; None for any other refusal."""
    code, value = _code(plan.error)
    rule = _RULES.get(code)
    if rule is None:
        return None
    finding = Finding(
        rule=rule.id,
        level=rule.level,
        title=plan.error.message.splitlines()[0],
        consequence=f"Flink refuses the program: {plan.error.class_name}.",
        reason=plan.error.message,
        old_line=old.source or next((one.source for one in old.operators if one.source is not None), None),
        new_line=plan.error.source or SourceLine(name, 0),
        fixes=_fixes(rule, plan, value, name, old),
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


def _code(error: Refusal) -> tuple[str, str]:
    """The code and the text of an error, also for plans of version 0.1.0."""
    if error.code is not None:
        return error.code, error.value or ""
    code = next((code for words, code in _BEFORE_CODES.items() if words in error.message), ErrorCode.UNUSABLE)
    return code.value, error.message.rpartition("Found: ")[2]


def _fixes(rule: Rule, plan: Refused, value: str, name: str, old: Program) -> tuple[Fix, ...]:
    """The fixes for the refusal."""
    if rule is cmp105.RULE:
        return _apart(plan, name, old) or (Fix(text="Give each operator a uid of its own."),)
    if rule is cmp109.RULE:
        return (cmp109.fix(old, value, plan.error.source),)
    if rule is cmp202.RULE:
        text = "Give both operators the same parallelism, or use rebalance() in place of forward()."
        return (Fix(text=text, code=".rebalance()"),)
    if rule is cmp305.RULE:
        return (cmp305.fix(value),)
    return (cmp203.FIX,)


def _apart(plan: Refused, name: str, old: Program) -> tuple[Fix, ...]:
    """Edits that give operators with the same uid different ones; none if the program is refused for other reasons too."""
    if plan.apart is None:
        return ()
    uids = {int(node): uid for node, uid in plan.apart.shared_uids.items()}
    return tuple(cmp105.fixes(old, facts_of(plan.apart, name=name, kind="program"), uids))
