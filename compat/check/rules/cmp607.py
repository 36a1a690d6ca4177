"""Another state backend in NEW, where two programs are compared and the format of the snapshot between them is open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.plan.model import StateScope
from compat.state.flink.formats import HEAP, OWN_FORMATS, KeyedFormat, Restores, backend_of, restores

_BACKEND: Final = "state.backend.type"


def _find(check: Check) -> Iterator[Finding]:
    told = check.old.settings.get(_BACKEND), check.new.settings.get(_BACKEND)
    before, after = (backend_of(name or HEAP) for name in told)
    if check.old.snapshot is not None or before is None or after is None or before == after:
        return
    pairs = [
        pair for pair in check.mapping.pairs if any(state.scope is StateScope.KEYED for state in pair.old.states or ())
    ]
    canonical = restores(KeyedFormat.CANONICAL, after) is Restores.YES
    own = any(restores(format, after) is Restores.YES for format in OWN_FORMATS[before])
    if not pairs or (canonical and check.options.deployment is not None):
        return
    if canonical:
        level, only = Level.WARNING, "only a canonical savepoint can be restored, no native one and no checkpoint"
    elif own:
        level, only = Level.UNKNOWN, "only a native savepoint or a checkpoint can be restored, no canonical savepoint"
    else:
        level, only = Level.ERROR if None not in told else Level.UNKNOWN, "nothing that OLD writes can be restored"
    yield check.finding(
        RULE,
        f"the state backend changes from {_named(told[0])} to {_named(told[1])}: {only}",
        level=level,
        consequence="With any other snapshot the tasks fail when they start."
        if canonical or own
        else "The tasks fail when they start.",
        reason="The canonical format is the same for all backends, and ForSt does not read it; all else is files of the "
        "backend that wrote them.",
        old=pairs[0].old,
        new=pairs[0].new,
        fixes=(
            Fix(text="Take the savepoint with --type canonical, which is the default.")
            if canonical
            else Fix(text="Take the savepoint with --type native.")
            if own
            else Fix(text=f"Stay with {told[0] or HEAP}.", code=f"{_BACKEND}: {told[0] or HEAP}"),
        ),
        related=tuple((pair.new.label, pair.new.source) for pair in pairs[1:] if pair.new.source is not None),
    )


def _named(told: str | None) -> str:
    return told or f"Flink's default ({HEAP})"


RULE = Rule(
    id="CMP607",
    name="backend-changed",
    level=Level.WARNING,
    other_levels=(Level.UNKNOWN, Level.ERROR),
    when="unknown where a native savepoint or a checkpoint is restored and a canonical savepoint is not; error where nothing "
    "that OLD's backend writes is restored by NEW's",
    fate=Fate.REFUSED,
    summary="NEW runs with another state backend than OLD, which does not restore from all that OLD writes.",
    why="Keyed state goes from one backend to another in canonical savepoints only; native ones and checkpoints hold files of "
    "the backend that wrote them, and ForSt takes files alone. Which was written, two programs do not tell.",
    old="state.backend.type: hashmap",
    new="state.backend.type: rocksdb",
    fix="Take the savepoint with --type canonical, or check against the snapshot itself.",
    find=_find,
)
