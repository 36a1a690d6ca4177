"""Operator states that changed between list, union and broadcast."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import changes


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new in change.kept:
            if old.scope is not new.scope:
                yield check.finding(
                    RULE,
                    f"the state {old.name!r} of {change.pair.new.label} was {old.scope.value} state and is "
                    f"{new.scope.value} state",
                    consequence="The task fails when it starts.",
                    reason="The way a state is spread over subtasks is part of its snapshot.",
                    old=change.pair.old,
                    new=change.pair.new,
                    state=old.name,
                    fixes=(
                        Fix(
                            text="Keep it, or give the new state another name.",
                            code=f'"scope": {code_suggestions.text_of(old.scope.value)}',
                        ),
                        *(code_suggestions.migrate(check) if new.serializers is not None else ()),
                    ),
                )


RULE = Rule(
    id="CMP409",
    name="redistribution",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="Operator state changed between list, union and broadcast.",
    why="Flink gives the three to subtasks in different ways, and records the way with the state. It refuses to read "
    "one as another.",
    old="a list state, split between the subtasks",
    new="the same name as a union list state",
    fix="Use a new name for the state of the new kind, or keep the kind.",
    find=_find,
)
