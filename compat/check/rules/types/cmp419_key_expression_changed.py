"""Keyed operators whose key is another expression of the same type."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.inputs import exchanged, moved_along, ways
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.code import UserCode
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    shadowed = {pair.new.id for pair in check.mapping.shadowed}  # whose state has gone to another operator's
    for pair in check.right_pairs:
        if _key_types(pair.old) != _key_types(pair.new) or pair.new.id in shadowed:
            continue
        before = pair.old.key_selectors
        if moved_along(pair.old, pair.new) and exchanged(pair.old, pair.new, check.old, check.new):
            before = before[::-1]  # each input kept its key in its new place
        both = zip(before, pair.new.key_selectors, strict=False)
        for number, (old, new) in enumerate(both, start=1):
            if old is not None and new is not None and old.digest is not None and new.digest is not None:
                yield from _changes(check, pair, number, old, new)


def _changes(check: Check, pair: Pair, number: int, old: UserCode, new: UserCode) -> Iterator[Finding]:
    change = _change(check, pair, old, new)
    if change is None:
        return
    level, reason = change
    which = f" of input {number}" if len(pair.new.key_selectors) > 1 else ""
    yield check.finding(
        RULE,
        f"the key{which} of {pair.new.label} is another expression",
        level=level,
        consequence="Flink restores this without an error: the state of each old key goes on with whatever has that key now, "
        "and records that had it before find none.",
        reason=reason,
        old=pair.old,
        new=pair.new,
        fixes=(
            Fix(
                text="Keep the key as it was; or give the operator a uid of its own, and restore with -n if the old state may "
                "go. If it is the same key in other words, let this finding pass.",
                code=uid_call(pair.new, check),
            ),
        ),
        silent=True,
        subject=str(number),
    )


def _change(check: Check, pair: Pair, old: UserCode, new: UserCode) -> tuple[Level, str] | None:
    """How much a changed key matters, and the reason; None if it is the same key."""
    part = old.sources.index(new.source) if old.source and new.source and new.source in old.sources else None
    if part is not None and old.source == new.source:
        return None  # it takes the same, wherever that is now
    if (old.digest, old.captured) == (new.digest, new.captured):
        if part is not None:
            return Level.ERROR, f"Its KeySelector, {new}, gets what was at [{part}] of the records before."
        made_otherwise = old.source and new.source and old.source != new.source
        if not made_otherwise or ways(pair.old, check.old) != ways(pair.new, check.new):
            return None
        return Level.UNKNOWN, f"The functions before its KeySelector, {new}, compute what it takes in another way."
    if old.digest != new.digest:
        reason = f"The code of its KeySelector, {new}, is another one"
    else:
        before = {one.name: one.digest for one in old.captured}
        names = [one.name for one in new.captured if before.get(one.name) != one.digest]
        reason = f"Its KeySelector, {new}, holds other values" + (f" in {', '.join(names)}" if names else "")
    tried = part is None and old.samples is not None and old.samples == new.samples
    level = level_of(old, new) if part is None else Level.ERROR
    return level, reason + (
        "; for the records that were tried it gives the keys that it gave before." if tried else "."
    )


def level_of(old: UserCode, new: UserCode) -> Level:
    """An error if made-up records, or the code alone, show another key; unknown if code that decides hides what changed."""
    if old.samples is not None and new.samples is not None and old.samples != new.samples:
        return Level.ERROR
    if old.branches or new.branches or old.constants != new.constants:
        return Level.UNKNOWN
    return Level.WARNING if old.samples is not None and new.samples is not None else Level.ERROR


def _key_types(operator: Operator) -> set[str]:
    return {state.key_type for state in operator.states or () if state.key_type is not None}


RULE = Rule(
    id="CMP419",
    name="key-expression-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING, Level.UNKNOWN),
    when="warning if the expression gives the same keys as before for the tried records; unknown if code in Python that "
    "decides by the record changed, and no tried record shows another key",
    fate=Fate.LOST,
    summary="The key of an operator is computed in another way, with the same type.",
    why="Flink compares only the type of a key. State of one thing goes on with another thing that happens to have an "
    "equal key.",
    old="stream.keyBy(order -> order.customer)",
    new="stream.keyBy(order -> order.shop)",
    fix="Keep the key; or start the operator without state under another uid.",
    find=_find,
)
