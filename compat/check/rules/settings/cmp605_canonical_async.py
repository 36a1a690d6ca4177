"""Jobs with asynchronous state, of which Flink takes no canonical savepoint."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.plan.facts import Program
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    if check.old.kind != "savepoint" and (operators := _asynchronous(check.old)):
        yield check.finding(
            RULE,
            f"OLD asks for state asynchronously in {_listed(operators)}: it can be restored from a native savepoint only",
            consequence="A canonical savepoint, which is the kind that Flink takes by default, fails while it is taken.",
            reason="Flink 2 does not write asynchronous keyed state in the canonical format.",
            old=operators[0],
            fixes=(_FIX,),
            subject="old",
        )
    elif operators := _asynchronous(check.new):
        yield check.finding(
            RULE,
            f"NEW asks for state asynchronously in {_listed(operators)}: no canonical savepoint can be taken of it",
            consequence="The job restores; a canonical savepoint of it, which is what Flink takes by default, will fail.",
            reason="Flink 2 does not write asynchronous keyed state in the canonical format.",
            new=operators[0],
            fixes=(_FIX,),
            subject="new",
        )


def _asynchronous(program: Program) -> list[Operator]:
    return [operator for operator in program.operators if operator.detail.get("asynchronous")]


def _listed(operators: list[Operator]) -> str:
    more = f" and {len(operators) - 3} more" if len(operators) > 3 else ""
    return ", ".join(operator.label for operator in operators[:3]) + more


_FIX = Fix(text="Take native savepoints: flink stop --type native, or a checkpoint that is retained.")

RULE = Rule(
    id="CMP605",
    name="canonical-async",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A canonical savepoint makes a job with asynchronous state fail.",
    why="Operators with asynchronous state (enableAsyncState, Flink 2) have no canonical format: the savepoint that flink stop "
    "takes by default fails, and the job with it.",
    old="s.keyBy(key).process(f)",
    new="s.keyBy(key).enableAsyncState().process(f)",
    fix="Take native savepoints, or restore from checkpoints.",
    find=_find,
)
