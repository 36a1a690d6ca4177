"""States that changed between value, list, map, reducing and aggregating."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.state_storage import KindChange, kind_change
from compat.check.states import changes

_CONSEQUENCES = {
    KindChange.READ: "Flink restores this without an error, and the old values are read: PyFlink keeps both kinds alike. "
    "Whether they mean the same is up to the program.",
    KindChange.FIRST_ONLY: "Flink restores this without an error; of each list only the first element is read, the others "
    "are lost.",
    KindChange.REFUSED: "The task fails at the first access: the state was registered as another kind.",
}


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new in change.kept:
            if old.scope is not new.scope:
                continue
            became = kind_change(old, new, change.dialect)
            if became is KindChange.NONE:
                continue
            yield check.finding(
                RULE,
                f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} was a {old.kind.value} state and is a "
                f"{new.kind.value} state",
                level=Level.WARNING if became is KindChange.READ else Level.ERROR,
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
                        code=code_suggestions.descriptor(old) or code_suggestions.under_another_name(new),
                    ),
                    *code_suggestions.convert(check, new, change.dialect),
                ),
                silent=became is not KindChange.REFUSED,
            )


RULE = Rule(
    id="CMP403",
    name="state-kind",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if PyFlink still reads the old values: in process mode, from a state of one value to another such "
    "state or to a list",
    fate=Fate.REFUSED,
    summary="A state changed its kind: value, list, map, reducing, aggregating.",
    why="Each kind has its own form in the store. A value read as a map fails at the first access. PyFlink stores "
    "values and lists alike, and reads one as the other with a wrong meaning.",
    old='get_state(ValueStateDescriptor("seen", Types.LONG()))',
    new='get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))',
    fix="Give the new state a new name and fill it from the old one while processing; remove the old one in a "
    "later version.",
    find=_find,
)
