"""CMP409 redistribution."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import writing
from compat.check.rules.states import changes


def find(check: Check) -> Iterator[Finding]:
    """Operator states that changed between list, union and broadcast."""
    for change in changes(check):
        for old, new in change.kept:
            if old.scope is not new.scope:
                yield check.finding(
                    "CMP409",
                    Level.ERROR,
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
                            code=f'"scope": {writing.text_of(old.scope.value)}',
                        ),
                    ),
                )
