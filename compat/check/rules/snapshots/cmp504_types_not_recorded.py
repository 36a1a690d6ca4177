"""States whose declared type neither the savepoint holds nor the stored bytes tell: one finding for each operator."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.code_suggestions import OLD_PROGRAM
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import StateChange, changes
from compat.state.model.states import State

_SHOWN = 5


def _find(check: Check) -> Iterator[Finding]:
    if check.old.snapshot is None or check.old.snapshot.types_known:
        return
    for change in changes(check):
        contradicted = change.pair.old.detail.get("contradicted_types", {})
        untold = [
            new
            for old, new in (*change.kept, *change.elements)
            if old.type is None and new.type is not None and new.name not in contradicted
        ]
        if untold:
            yield _finding(check, change, untold)


def _finding(check: Check, change: StateChange, untold: list[State]) -> Finding:
    names = ", ".join(repr(state.name) for state in untold[:_SHOWN])
    more = f" and {len(untold) - _SHOWN} more" if len(untold) > _SHOWN else ""
    types = "the type of 1 state" if len(untold) == 1 else f"the types of {len(untold)} states"
    return check.finding(
        RULE,
        f"{types} of {change.pair.new.label} cannot be compared: {names}{more}",
        consequence="If a type changed, the task fails at the first record, or reads wrong values.",
        reason="PyFlink hands bytes to Flink; a savepoint has the states' names and containers, but not their "
        "declared types, and the stored bytes fit several types.",
        old=change.pair.old,
        new=change.pair.new,
        fixes=(Fix(text="Name the program that wrote the savepoint.", code=OLD_PROGRAM),),
    )


RULE = Rule(
    id="CMP504",
    name="types-not-recorded",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="The savepoint does not record the declared types of some states.",
    why="In process mode, PyFlink gives bytes to Flink. A savepoint has the names and containers of the states, and the "
    "types of keys and windows, but not the meaning of the bytes. The check reads a few stored values. Some fit "
    "only the declared type (a pickle, a small Long), others several types (a text may be bytes). For these, a "
    "changed type shows only if the program that wrote the savepoint is known. An open question is not called "
    "compatible.",
    old='ValueStateDescriptor("name", Types.STRING())     # in the savepoint: a list of byte arrays',
    new='ValueStateDescriptor("name", Types.PRIMITIVE_ARRAY(Types.BYTE()))',
    fix="Name the program that wrote the savepoint: compat check SAVEPOINT new.py --names old.py; or accept it with "
    "--allow-unknown.",
    find=_find,
)
