"""States that code of the user's writes, which is not what it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat.check import restores
from compat.check.class_changes import short
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import kept_states
from compat.state.model.code import WrittenClass
from compat.state.model.states import State, StateScope


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        for old, new in kept_states(pair):
            yield from _changes(check, pair, old, old.classes, new.classes, old.serializers == new.serializers)
        if pair.old.key is not None and pair.new.key is not None:
            yield from _changes(check, pair, None, pair.old.key.classes, pair.new.key.classes, same_snapshot=True)


def _changes(
    check: Check,
    pair: Pair,
    state: State | None,
    old: Sequence[WrittenClass],
    new: Sequence[WrittenClass],
    same_snapshot: bool,
) -> Iterator[Finding]:
    now = {(one.name, one.under): one for one in new}
    what = "the key" if state is None else f"the state {state.name!r}"
    for one in old:
        other = now.get((one.name, one.under))
        if other is None or "code" not in (one.writer, other.writer) or "java" in (one.writer, other.writer):
            continue
        if one.writer == other.writer and one.digest == other.digest:
            continue
        name = other.serializer if other.serializer is not None else other.name
        own = one.writer == other.writer
        if own and other.decides and not same_snapshot:
            asked = check.answer(pair) is not None
            level = Level.WARNING if asked else Level.UNKNOWN
        elif other.serializer != one.serializer and state is not None and _read(check, pair, state):
            level = Level.WARNING
        else:
            level = Level.ERROR
        yield check.finding(
            RULE,
            f"{what} of {pair.new.label} is read by other code than wrote it",
            level=level,
            consequence="Flink restores this without an error, and reads wrong values, if the code does not read the old bytes."
            if level is Level.ERROR
            else "Flink asks the snapshot of the serializer, whose answer counts, right or wrong.",
            reason=f"The code of {short(name)} that writes and reads values is another one"
            + (", and its snapshot says of nothing that it cannot be read." if own and not other.decides else "."),
            old=pair.old,
            new=pair.new,
            state=None if state is None else state.name,
            fixes=(
                Fix(
                    text="Keep the form of the bytes; or give the serializer's snapshot a new version, answer "
                    "compatibleAfterMigration for the old one, and restore with the code that reads it."
                ),
            ),
            silent=True,
            subject=one.name,
        )


def _read(check: Check, pair: Pair, state: State) -> bool:
    """Whether NEW reads what OLD's serializer writes: the heap, and operator state, with the one that OLD's snapshot names."""
    scope = "keyed" if state.scope is StateScope.KEYED else "operator"
    return restores.reads_samples(check, pair, scope, state.name)


RULE = Rule(
    id="CMP420",
    name="serializer-code-changed",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN, Level.WARNING),
    when="unknown or warning if the serializer's snapshot has another version, and code that may ask for a migration; "
    "warning if another serializer replaced it, and the old one restored made-up values",
    fate=Fate.LOST,
    summary="The user's own serializer, or a class that writes itself, has other code.",
    why="Flink believes a serializer's snapshot. If it always answers compatibleAsIs, the new code reads the old bytes.",
    old="public void serialize(Long value, DataOutputView out) { out.writeLong(value); }",
    new="public void serialize(Long value, DataOutputView out) { out.writeLong(value + 5000); }",
    fix="Raise the snapshot's version, and let it answer compatibleAfterMigration for its old versions.",
    find=_find,
)
