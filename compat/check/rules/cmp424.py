"""Keyed operators whose key is computed in another way."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.amounts import only_timers
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.plan.behaviour import Code
from compat.plan.facts import Operator


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("key"), pair.new.detail.get("key")
        if before is None or after is None or only_timers(pair.old) or _alike(before, after):
            continue
        if _key_types(pair.old) != _key_types(pair.new):
            continue  # Flink refuses that
        yield check.finding(
            RULE,
            f"the key of {pair.new.label} is computed in another way: {_difference(before, after)}",
            consequence="Flink restores this without an error; if the new code gives other keys, each key finds the state of "
            "the records that had that key before.",
            reason="A savepoint has the type of the keys and their values, and nothing of where they come from.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Nothing, if the keys are the same ones. Otherwise give the operator a uid of its own, so that it "
                    "starts empty.",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=True,
        )


def _key_types(operator: Operator) -> set[str]:
    return {state.key_type for state in operator.states or () if state.key_type is not None}


def _alike(before: Code, after: Code) -> bool:
    """True if both compute the same; of a class that was renamed the code says so."""
    if before.values != after.values:
        return False
    return before.digest == after.digest if before.digest and after.digest else before.name == after.name


def _difference(before: Code, after: Code) -> str:
    if before.name != after.name:
        return f"{before.name} became {after.name}"
    if before.digest != after.digest:
        return f"the code of its key selector in {after.name} changed"
    changed = sorted(
        name for name in before.values.keys() | after.values.keys() if before.values.get(name) != after.values.get(name)
    )
    return f"its key selector {after.name} has another {', '.join(changed)}"


RULE = Rule(
    id="CMP424",
    name="key-selector-changed",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A keyed operator with state has another key selector for keys of the same type.",
    why="State is kept by key. If keys are computed otherwise, records meet the state of other records: Flink restores this "
    "without an error.",
    old="s.keyBy(order -> order.customer)",
    new="s.keyBy(order -> order.product)",
    fix="Nothing if the keys are the same ones. Otherwise give the operator a uid of its own.",
    find=_find,
)
