"""States that are pickled on both sides."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import changes


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new in change.kept:
            if old.type is not None and old.type == new.type and "Pickled" in old.type:
                yield check.finding(
                    RULE,
                    f"the state {old.name!r} of {change.pair.new.label} is pickled",
                    consequence="The bytes are readable; whether the objects in them still fit cannot be judged.",
                    reason="A pickle carries names of classes, and what it holds is known only when it is loaded.",
                    old=change.pair.old,
                    new=change.pair.new,
                    state=old.name,
                    fixes=(Fix(text="Declare a type for the state."),),
                )


RULE = Rule(
    id="CMP411",
    name="pickled-type",
    level=Level.NOTE,
    fate=Fate.RESTORED,
    summary="A state holds pickled values on both sides.",
    why="The bytes can be read, but their content depends on classes: a renamed module or a changed attribute shows "
    "only when a value is unpickled.",
    old='ValueStateDescriptor("user", Types.PICKLED_BYTE_ARRAY())',
    new='ValueStateDescriptor("user", Types.PICKLED_BYTE_ARRAY())',
    fix="Declare a type, or keep the pickled classes importable under their old names.",
    find=_find,
)
