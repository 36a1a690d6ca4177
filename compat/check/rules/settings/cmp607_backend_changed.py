"""Another state backend in NEW, where two programs are compared and the format of the snapshot between them is open."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.flink.formats import FORST, HEAP, OWN_FORMATS, KeyedFormat, Restores, backend_of, restores
from compat.state.model.job import STATE_BACKEND
from compat.state.model.states import StateScope


class _Taken(Struct, frozen=True, kw_only=True):
    """Which of the snapshots that OLD's backend writes NEW's takes, and what there is to say of it."""

    level: Level
    only: str
    consequence: str
    fix: str | None


_CANONICAL = _Taken(
    level=Level.WARNING,
    only="only a canonical savepoint can be restored, no native one and no checkpoint",
    consequence="With any other snapshot the tasks fail when they start.",
    fix="Take the savepoint with --type canonical, which is the default.",
)
_OWN = _Taken(
    level=Level.UNKNOWN,
    only="only a native savepoint or a checkpoint can be restored, no canonical savepoint",
    consequence="With any other snapshot the tasks fail when they start.",
    fix="Take the savepoint with --type native.",
)
_NOTHING = _Taken(
    level=Level.ERROR,
    only="nothing that OLD writes can be restored",
    consequence="The tasks fail when they start.",
    fix=None,
)


def _find(check: Check) -> Iterator[Finding]:
    told = check.old.settings.get(STATE_BACKEND), check.new.settings.get(STATE_BACKEND)
    before, after = (backend_of(name or HEAP) for name in told)
    if not check.snapshot_to_come or before is None or after is None or before == after:
        return
    pairs = [
        pair for pair in check.mapping.pairs if any(state.scope is StateScope.KEYED for state in pair.old.states or ())
    ]
    taken = _taken(before, after, asynchronous=any(pair.old.detail.get("asynchronous") for pair in pairs))
    if not pairs or taken is None or (taken is _CANONICAL and check.options.deployment is not None):
        return
    stay = Fix(text=f"Stay with {told[0] or HEAP}.", code=f"{STATE_BACKEND}: {told[0] or HEAP}")
    yield check.finding(
        RULE,
        f"the state backend changes from {_named(told[0])} to {_named(told[1])}: {taken.only}",
        level=Level.UNKNOWN if taken is _NOTHING and None in told else taken.level,
        consequence=taken.consequence,
        reason="The canonical format is the same for all backends, and ForSt does not read it; all else is files of the "
        "backend that wrote them.",
        old=pairs[0].old,
        new=pairs[0].new,
        fixes=(stay if taken.fix is None else Fix(text=taken.fix),),
        related=tuple((pair.new.label, pair.new.source) for pair in pairs[1:] if pair.new.source is not None),
    )


def _taken(before: str, after: str, *, asynchronous: bool) -> _Taken | None:
    """What a backend takes of another's snapshots; None if it takes them all.

    Of asynchronous states there is no canonical savepoint, and ForSt writes them in a format of their own.
    """
    if asynchronous and before == FORST and restores(KeyedFormat.ASYNCHRONOUS, after) is Restores.NO:
        return _NOTHING
    own = [restores(format, after) is Restores.YES for format in OWN_FORMATS[before]]
    if not asynchronous and restores(KeyedFormat.CANONICAL, after) is Restores.YES:
        return None if all(own) else _CANONICAL
    return _OWN if any(own) else _NOTHING


def _named(told: str | None) -> str:
    return told or f"Flink's default ({HEAP})"


RULE = Rule(
    id="CMP607",
    name="backend-changed",
    level=Level.WARNING,
    other_levels=(Level.UNKNOWN, Level.ERROR),
    when="unknown if a native savepoint or a checkpoint can be restored and a canonical savepoint cannot; error if "
    "NEW's backend restores nothing that OLD's writes",
    fate=Fate.REFUSED,
    summary="NEW runs with another state backend than OLD, which cannot restore every snapshot of OLD.",
    why="Only canonical savepoints carry keyed state from one backend to another. Native ones and checkpoints hold "
    "files of the backend that wrote them, and ForSt reads only files. Two programs do not show which snapshot will "
    "be taken.",
    old="state.backend.type: hashmap",
    new="state.backend.type: rocksdb",
    fix="Take the savepoint with --type canonical, or check against the snapshot itself.",
    find=_find,
)
