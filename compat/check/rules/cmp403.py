"""CMP403 state-kind."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.keeping import KindChange, kind_change
from compat.check.rules import amounts, writing
from compat.check.rules.states import changes

_CONSEQUENCES = {
    KindChange.READ: "Flink restores this without an error, and the old values are read: PyFlink keeps both kinds alike. "
    "Whether they mean the same is up to the program.",
    KindChange.FIRST_ONLY: "Flink restores this without an error; of each list only the first element is read, the others "
    "are lost.",
    KindChange.REFUSED: "The task fails at the first access: the state was registered as another kind.",
}


def find(check: Check) -> Iterator[Finding]:
    """States that changed between value, list, map, reducing and aggregating."""
    for change in changes(check):
        for old, new in change.kept:
            if old.scope is not new.scope:
                continue
            became = kind_change(old, new, change.dialect)
            if became is KindChange.NONE:
                continue
            yield check.finding(
                "CMP403",
                Level.WARNING if became is KindChange.READ else Level.ERROR,
                f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} was a {old.kind.value} state and is a "
                f"{new.kind.value} state",
                consequence=_CONSEQUENCES[became],
                reason="What one kind of state writes, another one does not read."
                if became is KindChange.REFUSED
                else "In the store the two are one: a list of which a state of one value reads the first element.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    Fix(
                        text=f"Give the {new.kind.value} state another name, and keep {old.name!r} as it was.",
                        code=writing.descriptor(old) or writing.under_another_name(new),
                    ),
                ),
                silent=became is not KindChange.REFUSED,
            )
