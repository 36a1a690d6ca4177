"""User hashes that are no operator ids: Flink refuses the program, and this is the id that was meant."""

from __future__ import annotations

from compat.check import code_suggestions
from compat.check.findings import Fate, Fix, Level
from compat.check.rule import Rule
from compat.plan.facts import Program
from compat.state.model.source_line import SourceLine

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
            code=f".uid({code_suggestions.text_of(text)})",
        )
    call = f".set_uid_hash({code_suggestions.text_of(ids[0])})"
    return Fix(text=f"Make it {call}, the id that {text!r} stands for in OLD.", call=call, at=place)


RULE = Rule(
    id="CMP109",
    name="invalid-user-hash",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="A user hash is not 32 hexadecimal digits.",
    why="A user hash is an operator id, which has 16 bytes. Flink refuses anything else.",
    old='stream.map(f).set_uid_hash("clean")',
    new='stream.map(f).set_uid_hash("cbc357ccb763df2852fee8c4fc7d55f2")',
    fix="Copy the operator id from the report, from a savepoint (compat inspect) or from Flink's log; for your own name "
    "use .uid instead.",
)
