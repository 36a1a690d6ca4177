"""States of OLD for whose restore nothing speaks: what was not looked at is not called compatible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compat.check.context import Check
from compat.check.evidence import gaps
from compat.check.findings import Fate, Finding, Fix, Gap, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.state.model.states import State

_SAYS_IT = (Level.ERROR, Level.UNKNOWN)


def find_unproven(check: Check, findings: Iterable[Finding], of_states: Iterable[Finding]) -> Iterator[Finding]:
    """The accounts without evidence that no other rule reports: one finding for all that one step settles.

    ``of_states`` are the findings about the fate of states.
    """
    told = {(one.old.id, one.state) for one in findings if one.old is not None and one.level in _SAYS_IT}
    found: dict[tuple[str, str], list[tuple[Pair, State | None, Gap]]] = {}
    for pair, state, gap in gaps(check, of_states):
        if told.isdisjoint(((pair.old.id, None), (pair.old.id, None if state is None else state.name))):
            found.setdefault((pair.old.id, gap.cause), []).append((pair, state, gap))
    for same in found.values():
        pair, state, gap = same[0]
        more = f" (and {len(same) - 1} more)" if len(same) > 1 else ""
        what = f"the state {state.name!r}{more}" if state is not None else "further states that it may keep"
        yield check.finding(
            RULE,
            f"it is unknown whether {pair.new.label} restores {what}",
            consequence="Flink may restore it, lose it, or fail: there is no evidence for any of these.",
            reason=f"{gap.why[:1].upper()}{gap.why[1:]}.",
            old=pair.old,
            new=pair.new,
            state=None if state is None else state.name,
            fixes=(Fix(text=gap.settle),),
            subject=gap.cause,
            cause=_COMMON.get(gap.cause),
        )


_COMMON = {
    "more": "may keep further states besides the known ones",
    "gone": "lack states of OLD, and no rule says what happens to them",
    "migration": "convert old values in a way that their serializers do not describe",
    "pickles": "keep pickles of classes that may have changed",
    **{
        f"{what} {side}": f"keep states whose {what} is not known for {side}"
        for what in ("type", "key type")
        for side in ("OLD", "NEW")
    },
}
"""Titles for several operators with a gap of the same cause; other gaps are reported one by one."""


RULE = Rule(
    id="CMP431",
    name="state-not-proven",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="There is no evidence for what happens to a state.",
    why="A job is compatible only if the restore of each state is proven: its operator, its name and its types were "
    "compared. If one of these is unknown on one side, or an operator may ask for further states once records come, "
    "nothing is proven.",
    old="void processElement(…) { getRuntimeContext().getState(descriptor).update(…); }",
    new="void processElement(…) { getRuntimeContext().getState(otherDescriptor).update(…); }",
    fix="Ask for all states in open(); declare the types on both sides; or accept it with --allow-unknown.",
)
