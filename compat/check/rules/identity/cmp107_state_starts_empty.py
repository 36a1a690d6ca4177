"""Stateful operators of NEW for which OLD has nothing. CMP102 reports those that lost their id."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.amounts import only_timers
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.identity import hidden
from compat.check.rule import Rule
from compat.check.starting_empty import without_state


def _find(check: Check) -> Iterator[Finding]:
    successors = {operator.id for operator in check.mapping.successors.values()}
    for new in check.mapping.fresh:
        if not new.has_state or new.id in successors or only_timers(new) or hidden(new):
            continue
        yield check.finding(
            RULE,
            f"{new.label} finds no state in {check.old.name}",
            consequence=without_state(new),
            reason=f"OLD has nothing under its id {new.id}"
            + (f" nor under its user hash {new.user_hash}." if new.user_hash else "."),
            new=new,
            fixes=(
                Fix(
                    text="Nothing, if the operator is new. If it took over from another one, give it that one's uid, or "
                    "its id with .set_uid_hash."
                ),
            ),
        )


RULE = Rule(
    id="CMP107",
    name="state-starts-empty",
    level=Level.WARNING,
    fate=Fate.EMPTY,
    summary="A stateful operator of NEW finds no state in OLD.",
    why="That is right for a new operator. For one that existed before, it means that its id changed and that it starts empty.",
    old="keyed.process(Count())",
    new='keyed.process(Count())\nkeyed.process(Alert()).uid("alert")',
    fix='Nothing if the operator is new. Otherwise pin it to its old id with .set_uid_hash("<old id>").',
    find=_find,
)
