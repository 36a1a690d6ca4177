"""Generated ids under which another function of Java goes on from the state."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.amounts import only_timers
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import BY_GENERATED_ID
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.check.similarity import own_code, own_function


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = own_code(pair.old), own_code(pair.new)
        if pair.by != BY_GENERATED_ID or before is None or after is None or only_timers(pair.old):
            continue
        names = own_function(pair.old), own_function(pair.new)
        if None in names or names[0] == names[1] or before.digest == after.digest:
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} runs {after}, and its state was written by {before}",
            consequence=f"Flink restores this without an error; {after} goes on with the state of {before}.",
            reason=f"Both have the generated id {pair.old.id}, which says where an operator stands, and not what it does.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Nothing, if the class was only renamed. If it is another operator, give it a uid of its own, and "
                    "restore with -n if the old state may go.",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=True,
        )


RULE = Rule(
    id="CMP115",
    name="function-at-the-same-place",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="Under a generated id, a function of another class finds the state of the old one.",
    why="A generated id depends on the place of an operator, not on its work. A function in another one's place takes "
    "its state, too, if the states have equal names and types.",
    old="keyed.process(new CountClicks())",
    new="keyed.process(new CountBuys())",
    fix="Nothing if the class was renamed. Otherwise give the new operator its own uid.",
    find=_find,
)
