"""Uids of NEW that PyFlink drops, because it melts their operator into another one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for operator in check.new.operators:
        for uid, place in operator.merged_uids:
            finding = check.finding(
                RULE,
                f"the uid {uid!r} is dropped: PyFlink merges its operator into {operator.name.partition(', ')[0]!r}",
                consequence="The job has no operator of this id. That alone loses no state: a merged operator has none.",
                reason="Neighbouring Python operators run as one, with the uid of the first.",
                new=operator,
                subject=uid,
                fixes=(
                    Fix(
                        text="Remove the uid, or keep the operator apart with .start_new_chain() or "
                        "python.operator-chaining.enabled=false.",
                        code=".start_new_chain()",
                    ),
                ),
            )
            yield finding if place is None else replace(finding, new_line=place)


RULE = Rule(
    id="CMP110",
    name="uid-lost-in-merging",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A uid was given to an operator that PyFlink merges into the one before it.",
    why="PyFlink merges neighbouring Python operators into one, which keeps the uid of the first. The uid of the second "
    "is dropped without an error, and with it an id that older savepoints may have.",
    old='keyed.process(Count()).uid("count").map(show)',
    new='keyed.process(Count()).uid("count").map(show).uid("show")',
    fix="Remove the uid that has no effect, or keep the operators apart with .disable_chaining() or "
    ".start_new_chain() on the second.",
    find=_find,
)
