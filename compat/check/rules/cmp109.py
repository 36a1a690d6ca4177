"""CMP109 invalid-user-hash: which hash may be meant. The refusal itself is Flink's."""

from __future__ import annotations

from compat.check.findings import Fix
from compat.check.rules import writing
from compat.plan.facts import Program, SourceLine

_SHORTEST = 6
"""Digits from which on the beginning of an id is taken for the id."""


def fix(old: Program, text: str, place: SourceLine | None) -> Fix:
    """The id in OLD that ``text`` stands for: that of the operator with this uid, or the only one that begins so."""
    wanted = text.strip().lower()
    ids = [operator.id for operator in old.operators if operator.uid == text]
    if len(wanted) >= _SHORTEST:
        ids = ids or [operator.id for operator in old.operators if operator.id.startswith(wanted)]
    if len(ids) != 1:
        return Fix(
            text="Give set_uid_hash the 32 hex digits of an operator id of OLD; a uid goes to uid.",
            code=f".uid({writing.text_of(text)})",
        )
    call = f".set_uid_hash({writing.text_of(ids[0])})"
    return Fix(text=f"Make it {call}, the id that {text!r} stands for in OLD.", call=call, at=place)
