"""Records of an unaligned checkpoint that wait at a place which is inside a chain of NEW.

Flink: ``StateAssignmentOperation.checkForUnsupportedToplogyChanges``.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule

_BEFORE, _BEHIND = "before", "behind"


def _find(check: Check) -> Iterator[Finding]:
    taken = {pair.new.id: pair for pair in check.mapping.pairs if "records_in_flight" in pair.old.detail}
    if not taken:
        return
    for vertex in check.new.vertices:
        for id in vertex.operators:
            pair = taken.get(id)
            if pair is None:
                continue
            places = pair.old.detail["records_in_flight"]
            inside = (_BEFORE in places and id != vertex.operators[0], _BEHIND in places and id != vertex.operators[-1])
            if any(inside):
                where = "before" if inside[0] else "behind"
                yield check.finding(
                    RULE,
                    f"the checkpoint holds records in flight {where} {pair.new.label}, and NEW chains it there",
                    consequence="Flink refuses the restore: it cannot recover from an unaligned checkpoint when exchanges with "
                    "persisted data are now chained.",
                    reason="The records wait in a network exchange, and NEW has none at that place.",
                    old=pair.old,
                    new=pair.new,
                    fixes=(
                        Fix(
                            text="Keep the exchange for one restore, or take a savepoint (or an aligned checkpoint): it "
                            "holds no records in flight.",
                            code=".rebalance()",
                        ),
                    ),
                )


RULE = Rule(
    id="CMP205",
    name="records-in-flight",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="An unaligned checkpoint has records in an exchange that the new job does not have.",
    why="Records in flight belong to a network exchange between two chains. If NEW chains the two operators, there is "
    "no place for these records, and Flink refuses the restore.",
    old="a.rebalance().map(f)   # records wait between a and f",
    new="a.map(f)               # one chain",
    fix="Keep the exchange for one restore, or restore from a savepoint: it holds no records in flight.",
    find=_find,
)
