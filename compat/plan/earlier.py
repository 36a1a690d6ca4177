"""The open points of plans of earlier formats, so that missing statements are not taken for negative ones.

Format 1 did not say whether an operator may keep more than the states that it lists. Python programs show all states
that their functions ask for; Java code may ask for state when records come, and sources and sinks of the old kind had
no states.
"""

from __future__ import annotations

from msgspec.structs import replace

from compat.state.model.job import FORMAT, Plan
from compat.state.model.operators import Operator
from compat.state.model.states import More

_OLD_KIND = ("legacy_source", "legacy_sink")
_UNTOLD = More(why="its plan was made by an earlier version of compat, which did not look for more; make it again")


def operators_of(plan: Plan) -> tuple[Operator, ...]:
    """The operators of a plan; in an earlier format with the reasons why they may keep more states."""
    if plan.format == FORMAT:
        return plan.operators
    return tuple(
        replace(operator, more=_UNTOLD, has_state=True) if _may_keep_more(operator, plan.language) else operator
        for operator in plan.operators
    )


def _may_keep_more(operator: Operator, language: str | None) -> bool:
    if operator.more is not None or operator.states is None:
        return False
    if language == "java":
        return operator.function is not None
    return language == "python" and operator.kind in _OLD_KIND and "class" in operator.detail
