"""States whose new type reads what the old one wrote once it is converted, or in part."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, restores
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import changes, retyped
from compat.state.compatibility import PROCESS, Answer


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new, compatibility in retyped(change):
            if compatibility.answer is not Answer.AFTER_MIGRATION:
                continue
            in_part = change.dialect is PROCESS
            yield check.finding(
                RULE,
                f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} had the type {old.type} and has "
                f"{new.type}",
                consequence="Flink restores this without an error: declared fields are read, and all others "
                "are gone when the value is next written."
                if in_part
                else "The values are converted when they are restored. OLD cannot read them any more.",
                reason=f"{'; '.join(compatibility.changes)}.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(Fix(text="Nothing. Keep a savepoint of OLD, to be able to go back."),),
                silent=in_part,
            )
    yield from _told_by_flink(check)


def _told_by_flink(check: Check) -> Iterator[Finding]:
    """States that Flink's own serializers convert."""
    for pair, answer in restores.answered(check):
        if any(pair == other for other, _ in restores.problems(check)):
            continue
        for change in answer.migrations:
            yield check.finding(
                RULE,
                f"the state {change.name!r} of {pair.new.label} has another type, which reads the old values",
                consequence="The values are converted when they are restored. OLD cannot read them any more.",
                reason=" ".join(change.reasons),
                old=pair.old,
                new=pair.new,
                state=change.name,
                fixes=(Fix(text="Nothing. Keep a savepoint of OLD, to be able to go back."),),
            )


RULE = Rule(
    id="CMP405",
    name="state-type-migrates",
    level=Level.MIGRATE,
    fate=Fate.MIGRATED,
    summary="The type of a state changed, and the old bytes can be converted.",
    why="A snapshot in a store names the fields of rows and the schemas of Avro records. So fields may be added, "
    "removed and moved, and all values are converted at the restore. PyFlink converts nothing, but ignores the "
    "bytes after the last declared field.",
    old='Types.ROW_NAMED(["user", "count", "note"], [Types.STRING(), Types.LONG(), Types.STRING()])',
    new='Types.ROW_NAMED(["user", "count"], [Types.STRING(), Types.LONG()])',
    fix="Nothing. Take a savepoint before: OLD can no longer read the converted state.",
    find=_find,
)
