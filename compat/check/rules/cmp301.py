"""Operators, with state or without, whose max parallelism NEW sets to another value than the recorded one.

One finding for each change, with the first operator; the others are related.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pinning import edit, hidden
from compat.check.rule import Rule
from compat.plan.facts import Operator
from compat.state.assignment import Refusal


def _find(check: Check) -> Iterator[Finding]:
    changed: dict[tuple[int, int], list[Pair]] = {}
    leaving = _leaving(check)
    for conflict in check.mapping.refused(Refusal.CONFIGURED):
        pair = conflict.pair
        if pair.new.id not in leaving:
            changed.setdefault((pair.old.max_parallelism, pair.new.max_parallelism), []).append(pair)
    environment = _on_the_environment(changed, check)
    for (before, after), pairs in changed.items():
        first = pairs[0]
        yield check.finding(
            RULE,
            f"the max parallelism of {first.new.label} is {before} in OLD and {after} in NEW",
            consequence="Flink refuses the restore; allowing non-restored state does not help.",
            reason="The max parallelism is the number of key groups that the state is divided into. It cannot change, and "
            f"NEW sets it{_for(len(pairs))}.",
            old=first.old,
            new=first.new,
            fixes=_environment_fix(before) if environment == (before, after) else _fixes(before, pairs, check),
            related=tuple((pair.new.label, line) for pair in pairs[1:] if (line := pair.new.source) is not None),
        )


def _for(count: int) -> str:
    return "" if count == 1 else f", for {count} operators"


def _leaving(check: Check) -> set[str]:
    """Operators of NEW that have to take other state than the pairing gives them, which is an error of its own."""
    moved: set[str] = set()
    if not check.options.allow_non_restored:
        moved = {new.id for old in check.mapping.lost if (new := check.successor(old)) is not None}
    return moved | {pair.new.id for pair in check.mapping.stateful_pairs() if pair.old.id in check.doubtful}


def _on_the_environment(changed: dict[tuple[int, int], list[Pair]], check: Check) -> tuple[int, int] | None:
    """The change that comes of the environment's own setting: the one of most operators, as it has one value only.

    None where other operators need the value that it has.
    """
    setting = check.new.settings.get("max_parallelism")
    if any(pair.old.max_parallelism == pair.new.max_parallelism == setting for pair in check.mapping.pairs):
        return None
    changes = {change: len(pairs) for change, pairs in changed.items() if change[1] == setting}
    return max(changes, key=changes.__getitem__) if changes else None


def _environment_fix(before: int) -> tuple[Fix, ...]:
    call = f"env.set_max_parallelism({before})"
    return (Fix(text=f"Set it to {before} again on the environment: {call}, or pipeline.max-parallelism.", call=call),)


def _fixes(before: int, pairs: list[Pair], check: Check) -> tuple[Fix, ...]:
    """The setting on each operator of the chains concerned that has one, else on the operator itself."""
    members = {operator.vertex: list[Operator]() for operator in check.new.operators}
    for operator in check.new.operators:
        members[operator.vertex].append(operator)
    setting: dict[str, Operator] = {}
    for pair in pairs:
        chain = members[pair.new.vertex]
        setters = [other for other in chain if other.detail.get("own_max_parallelism") == pair.new.max_parallelism]
        setting |= {operator.id: operator for operator in setters or [pair.new] if not hidden(operator)}
    return tuple(edit(operator, "set_max_parallelism", before) for operator in setting.values()) or (
        Fix(text=f"Set it to {before} again.", code=f".set_max_parallelism({before})"),
    )


RULE = Rule(
    id="CMP301",
    name="max-parallelism",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="The max parallelism set in NEW differs from the recorded one.",
    why="Keyed state is stored by key group, and the max parallelism is the number of key groups. With another "
    "number every key would lie elsewhere. Flink refuses the restore, for stateless operators too.",
    old="env.set_max_parallelism(128)",
    new="env.set_max_parallelism(256)",
    fix="Set the recorded max parallelism again, or do not set it: then Flink takes the recorded one.",
    find=_find,
)
