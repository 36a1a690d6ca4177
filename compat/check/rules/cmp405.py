"""CMP405 state-type-migrates."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import amounts
from compat.check.rules.states import changes, retyped
from compat.state.compatibility import PROCESS, Answer


def find(check: Check) -> Iterator[Finding]:
    """States whose new type reads what the old one wrote once it is converted, or in part."""
    for change in changes(check):
        for old, new, compatibility in retyped(change):
            if compatibility.answer is not Answer.AFTER_MIGRATION:
                continue
            in_part = change.dialect is PROCESS
            yield check.finding(
                "CMP405",
                Level.MIGRATE,
                f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} had the type {old.type} and has "
                f"{new.type}",
                consequence="Flink restores this without an error: what is still declared is read, what is not is gone when "
                "the value is next written."
                if in_part
                else "The values are converted when they are restored. OLD cannot read them any more.",
                reason=f"{'; '.join(compatibility.changes)}.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(Fix(text="Nothing. Keep a savepoint of OLD, to be able to go back."),),
                silent=in_part,
            )
