"""Operators, with state or without, whose max parallelism NEW sets to another value than the recorded one.

One finding for each change, with the first operator; the others are related.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.identity import hidden
from compat.check.mapping import Pair
from compat.check.pinning import edit, leave_own_id
from compat.check.rule import Rule
from compat.state.assignment import Refusal
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    changed: dict[tuple[int, int], list[Pair]] = {}
    leaving = check.leaving
    tied = {pair.new.id for pair in check.tied.values()}
    passed_over = {(pair.old.id, pair.new.id) for pair in check.repaired.shadowed}
    apart = _at_odds_with_its_chain(pair for pair in check.repaired.pairs if pair.new.id not in leaving)
    for conflict in check.repaired.refused(Refusal.CONFIGURED):
        pair = conflict.pair
        if pair.new.id in leaving or (pair.new.id in tied and (pair.old.id, pair.new.id) in passed_over):
            continue  # a separate error, whose edits solve this, too
        if (pair.old.id, pair.new.id) in passed_over:
            reason = (
                f"The state comes by its user hash {pair.new.user_hash}, but Flink compares the max parallelism with what "
                f"OLD recorded under its own id {pair.new.id} too, which is {pair.old.label}."
            )
            yield _to_leave_its_id(pair, reason, check)
        elif pair.new.id in apart:
            reason = (
                f"It takes no state, but has the id {pair.new.id}, under which OLD recorded {pair.old.label}; the operators "
                "of its chain have one max parallelism, and others of them need another one."
            )
            yield _to_leave_its_id(pair, reason, check)
        else:
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


def _at_odds_with_its_chain(pairs: Iterable[Pair]) -> set[str]:
    """Operators of NEW without state, by id, whose id is recorded with another max parallelism than their chain needs.

    A chain has one: that of its state, else the one that it has now, where one of its operators needs that.
    """
    chains: dict[str, list[Pair]] = {}
    for pair in pairs:
        chains.setdefault(pair.new.vertex, []).append(pair)
    apart: set[str] = set()
    for members in chains.values():
        recorded = [pair.old.max_parallelism for pair in members]
        present = members[0].new.max_parallelism
        stateful = {pair.old.max_parallelism for pair in members if pair.old.has_state}
        needed = stateful or {present if present in recorded else recorded[0]}
        if len(needed) == 1:
            apart |= {
                pair.new.id
                for pair in members
                if pair.old.max_parallelism not in needed
                and pair.new.user_hash != pair.old.id
                and not pair.old.has_state
                and not hidden(pair.new)
            }
    return apart


def _to_leave_its_id(pair: Pair, reason: str, check: Check) -> Finding:
    """No setting helps where two ids that count are recorded with two max parallelisms."""
    before = pair.old.max_parallelism
    return check.finding(
        RULE,
        f"the max parallelism under the own id of {pair.new.label} is {before} in OLD and {pair.new.max_parallelism} in NEW",
        consequence="Flink refuses the restore; allowing non-restored state does not help.",
        reason=reason,
        old=pair.old,
        new=pair.new,
        fixes=(leave_own_id(pair.new, before, check),),
    )


def _for(count: int) -> str:
    return "" if count == 1 else f", for {count} operators"


def _on_the_environment(changed: dict[tuple[int, int], list[Pair]], check: Check) -> tuple[int, int] | None:
    """The change that comes of the environment's own setting: the one of most operators, as it has one value only.

    None if other operators need the value that it has.
    """
    setting = check.new.settings.get("max_parallelism")
    if any(pair.old.max_parallelism == pair.new.max_parallelism == setting for pair in check.repaired.pairs):
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
    why="Keyed state is stored by key group, and the max parallelism is the number of key groups. With a "
    "different number every key would be in a different place. Flink refuses the restore, for stateless operators too.",
    old="env.set_max_parallelism(128)",
    new="env.set_max_parallelism(256)",
    fix="Set the recorded max parallelism again, or do not set it: then Flink takes the recorded one.",
    find=_find,
)
