"""Keyed operators whose keys have another hash than before."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.class_changes import short
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, KeyHeir, Level
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.code import HashCode

_LOST = (
    "Flink restores this without an error. Keys whose hash gives another key group are no longer found: their state is "
    "lost without an error."
)


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        old = {} if pair.old.key is None else {one.name: one for one in pair.old.key.hashes}
        yield from _seen(check, pair)
        for new in () if pair.new.key is None else pair.new.key.hashes:
            if new.by_identity:
                yield _finding(check, pair, new, "hashes by identity", _LOST, _BY_IDENTITY, Level.ERROR)
            elif new.name in old:
                yield from _changes(check, pair, old[new.name], new)


_KEEP = (
    "Keep hashCode and equals of keys as they were; or give the operator a uid of its own, and restore with -n if the old "
    "state may go."
)
_BY_IDENTITY = (
    "Two equal keys have different hash codes, as one of their parts is an array or an enum, or has no hashCode: in another "
    "process the same key has another hash."
)


def _seen(check: Check, pair: Pair) -> Iterator[Finding]:
    """Keys in the state that was restored that are where nobody looks for them."""
    answer = check.answer(pair)
    if answer is None or not answer.misplaced:
        return
    yield check.finding(
        RULE,
        f"keys in the state of {pair.new.label} have another hash than when they were written",
        consequence=_LOST,
        reason=f"{answer.misplaced} of the values in the state lie in another key group than the hash of their key says now.",
        old=pair.old,
        new=pair.new,
        fixes=(Fix(text=_KEEP, code=uid_call(pair.new, check)), *code_suggestions.migrate(check)),
        heirs=(KeyHeir(),),
        silent=True,
        subject="state",
    )


def _changes(check: Check, pair: Pair, old: HashCode, new: HashCode) -> Iterator[Finding]:
    measured = old.samples is not None and new.samples is not None
    if old.digest != new.digest and measured and old.samples == new.samples:
        reason = "The code of hashCode is another one; for the values that were tried it gives what it gave before."
        consequence = "Flink restores this without an error. A key with another hash is no longer found."
        yield _finding(check, pair, new, "has another hashCode", consequence, reason, Level.WARNING)
    elif old.digest != new.digest:
        reason = "The code of hashCode is another one" + (", and gives other values." if measured else ".")
        yield _finding(check, pair, new, "has another hashCode", _LOST, reason, Level.ERROR)
    elif measured and old.samples != new.samples:
        reason = "Its code is the same, and gave other values for the same keys in another process."
        yield _finding(check, pair, new, "has other hash codes", _LOST, reason, Level.ERROR)
    if old.equals != new.equals:
        consequence = "Flink restores this without an error. Two keys may now be equal, or one key may be two."
        yield _finding(
            check, pair, new, "has another equals", consequence, "The code of equals is another one.", Level.WARNING
        )


def _finding(
    check: Check, pair: Pair, key: HashCode, what: str, consequence: str, reason: str, level: Level
) -> Finding:
    moved = level is Level.ERROR and not key.by_identity
    return check.finding(
        RULE,
        f"{short(key.name)}, in the key of {pair.new.label}, {what}",
        level=level,
        consequence=consequence,
        reason=reason,
        old=pair.old,
        new=pair.new,
        fixes=(Fix(text=_KEEP, code=uid_call(pair.new, check)), *(code_suggestions.migrate(check) if moved else ())),
        heirs=(KeyHeir(),) if moved else (),
        silent=True,
        subject=f"{key.name} {what}",
    )


RULE = Rule(
    id="CMP416",
    name="key-hash-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if only the code changed and tried values hash as before, or if only equals changed",
    fate=Fate.LOST,
    summary="A class in the key of an operator has another hashCode or equals.",
    why="A key's hash code decides the key group of its state. State stays in its old group, but Flink looks for it in "
    "the group of the new hash.",
    old="public int hashCode() { return Objects.hash(user, shop); }",
    new="public int hashCode() { return 31 * user.hashCode() + shop.hashCode(); }",
    fix="Keep the hash of a key's class for as long as its state is needed.",
    find=_find,
)
