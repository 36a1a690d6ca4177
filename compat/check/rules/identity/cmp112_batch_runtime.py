"""Jobs in batch mode, on either side: Flink gives them no state, and takes none from them."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    if not any(operator.has_state for operator in check.old.operators):
        return
    if check.new.batch:
        yield check.finding(
            RULE,
            "NEW runs in batch mode, in which Flink restores nothing",
            consequence="Flink restores this without an error: the job ignores the savepoint, all state is gone, and the "
            "sources read from their beginning.",
            reason=_reason(check.new.settings.get("mode")) + (_BEFORE if check.old.batch else ""),
            fixes=(_fix("NEW"),),
            silent=True,
            subject="NEW",
        )
    elif check.old.batch:
        yield check.finding(
            RULE,
            "OLD runs in batch mode, in which Flink takes no savepoint",
            consequence="There is nothing to restore: NEW starts without state.",
            reason=_reason(check.old.settings.get("mode")),
            fixes=(_fix("OLD"),),
            subject="OLD",
        )


_BEFORE = " OLD does so too, and Flink takes no savepoint of it: its state was lost before this change already."


def _reason(mode: object) -> str:
    if mode == "AUTOMATIC":
        return "execution.runtime-mode is AUTOMATIC, and all sources are bounded."
    return "execution.runtime-mode is BATCH."


def _fix(side: str) -> Fix:
    return Fix(
        text=f"Run {side} in streaming mode: bounded sources end there as well.",
        code="execution.runtime-mode: STREAMING",
    )


RULE = Rule(
    id="CMP112",
    name="batch-runtime",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="OLD or NEW runs in batch mode, which has no savepoints.",
    why="A job in batch mode takes no checkpoints and starts from none: Flink switches them off and ignores the path of a "
    "savepoint without an error. AUTOMATIC means batch mode as soon as all sources are bounded.",
    old="env.from_source(numbers, no_watermarks(), 'numbers')",
    new="env.set_runtime_mode(RuntimeExecutionMode.BATCH)\nenv.from_source(numbers, no_watermarks(), 'numbers')",
    fix="Set execution.runtime-mode to STREAMING. A job that is meant to run as a batch starts without old state.",
    only_in_flink=True,
    find=_find,
)
