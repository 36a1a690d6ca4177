"""Keyed Python state across a change between process and thread mode."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.job import PYTHON_EXECUTION_MODE
from compat.state.model.states import State, StateKind, StateScope


def _find(check: Check) -> Iterator[Finding]:
    before, after = check.told_modes
    if None in (before, after) or before == after:
        return
    for pair in check.right_pairs:
        if any(_is_named_by_mode(state) for state in pair.old.states or ()):
            yield check.finding(
                RULE,
                f"the state of {pair.new.label} is lost: {PYTHON_EXECUTION_MODE} was {before} and is {after}",
                consequence="Flink restores this without an error; all keyed state starts empty."
                + amounts.lost(pair.old),
                reason="The two modes keep state under different names.",
                old=pair.old,
                new=pair.new,
                fixes=(
                    Fix(
                        text=f"Set {PYTHON_EXECUTION_MODE} to {before} again.",
                        code=f"{PYTHON_EXECUTION_MODE}: {before}",
                    ),
                ),
                silent=True,
            )


def _is_named_by_mode(state: State) -> bool:
    """Whether a state has another name in each mode: the program's own, and what windows keep."""
    kept = state.scope is StateScope.KEYED and state.kind is not StateKind.TIMERS and not state.unstable
    return kept or not state.built_in


RULE = Rule(
    id="CMP603",
    name="execution-mode",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="The option python.execution-mode changed between process and thread.",
    why="In process mode PyFlink stores state d as python-state-d in bytes, in thread mode as d with its own "
    "type. The names differ, so all keyed state starts empty: Flink restores this without an error.",
    old="python.execution-mode: process",
    new="python.execution-mode: thread",
    fix="Keep the mode of the job that wrote the state.",
    only_in_flink=True,
    find=_find,
)
