"""Keyed state in one backend's own format that NEW would read with another one."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule

BACKEND = "state.backend.type"
_DEFAULT = "hashmap"
_KNOWN = frozenset({"hashmap", "rocksdb"})


def _find(check: Check) -> Iterator[Finding]:
    snapshot = check.old.snapshot
    if snapshot is None:
        return
    backend = check.new.settings.get(BACKEND)
    told = backend is not None
    backend = backend or _DEFAULT
    pairs = [pair for pair in check.mapping.pairs if snapshot.backends.get(pair.old.id, backend) != backend]
    if not pairs or backend not in _KNOWN:
        return
    first = pairs[0]
    wrote = snapshot.backends[first.old.id]
    yield check.finding(
        RULE,
        f"the keyed state is in the own format of {wrote}, and NEW runs with {backend}"
        if told
        else f"the keyed state is in the own format of {wrote}, and NEW does not say that it runs with it",
        level=Level.ERROR if told else Level.WARNING,
        consequence="The tasks fail when they start."
        if told
        else f"If the cluster has no other setting, NEW runs with {_DEFAULT}, and the tasks fail when they start.",
        reason="Only a canonical savepoint can be given to another backend; native ones and checkpoints hold the backend's own "
        "files.",
        old=first.old,
        new=first.new,
        fixes=(
            Fix(
                text=f"Run NEW with {BACKEND}: {wrote} (for this check: -D {BACKEND}={wrote}), or take a canonical savepoint.",
                code=f"{BACKEND}: {wrote}",
            ),
        ),
        related=tuple((pair.new.label, pair.new.source) for pair in pairs[1:] if pair.new.source is not None),
    )


RULE = Rule(
    id="CMP503",
    name="native-format",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning where NEW and -D name no backend, and the state is not in the format of Flink's default (hashmap).",
    fate=Fate.REFUSED,
    summary="A native savepoint of one state backend is given to another.",
    why="Native savepoints and checkpoints hold files of the backend that wrote them. Only the canonical format "
    "is the same for all.",
    old="state.backend.type: hashmap   (savepoint --type native)",
    new="state.backend.type: rocksdb",
    fix="Take the savepoint with --type canonical, or keep the backend.",
    find=_find,
)
