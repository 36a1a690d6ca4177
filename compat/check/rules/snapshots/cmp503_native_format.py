"""Keyed state in a format that NEW's state backend does not restore from."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.state.flink.formats import BACKENDS, FORST, HEAP, KeyedFormat, Restores, backend_of, restores
from compat.state.model.job import STATE_BACKEND


def _find(check: Check) -> Iterator[Finding]:
    snapshot = check.old.snapshot
    if snapshot is None:
        return
    told = check.new.settings.get(STATE_BACKEND)
    backend = told or HEAP
    for answer in (Restores.NO, Restores.UNTOLD):
        pairs = [
            pair
            for pair in check.mapping.pairs
            if pair.old.id in snapshot.formats and restores(snapshot.formats[pair.old.id], backend) is answer
        ]
        if pairs:
            yield _finding(check, pairs, snapshot.formats[pairs[0].old.id], told, answer)
            return


def _finding(check: Check, pairs: list[Pair], format: KeyedFormat, told: str | None, answer: Restores) -> Finding:
    first = pairs[0]
    known = told is None or backend_of(told) is not None
    return check.finding(
        RULE,
        _title(format, told, answer),
        level=_level(told, answer),
        consequence=_consequence(told, answer),
        reason=_WHY.get(format, _OWN_FILES)
        if known
        else f"{told} is not a backend of Flink: it is unknown which formats it reads.",
        old=first.old,
        new=first.new,
        fixes=(_fix(format, told),),
        related=tuple((pair.new.label, pair.new.source) for pair in pairs[1:] if pair.new.source is not None),
    )


def _title(format: KeyedFormat, told: str | None, answer: Restores) -> str:
    if told is None:
        return f"the keyed state is in {_NAMES[format]}, and NEW does not set its state backend"
    verb = "does not restore from it" if answer is Restores.NO else "may not restore from it"
    return f"the keyed state is in {_NAMES[format]}, and NEW runs with {told}, which {verb}"


def _level(told: str | None, answer: Restores) -> Level:
    if answer is Restores.UNTOLD:
        return Level.UNKNOWN
    return Level.WARNING if told is None else Level.ERROR


def _consequence(told: str | None, answer: Restores) -> str:
    if told is None:
        return f"If the cluster has no other setting, NEW runs with {HEAP}, and the tasks fail when they start."
    return "The tasks fail when they start." if answer is Restores.NO else "The tasks may fail when they start."


def _fix(format: KeyedFormat, told: str | None) -> Fix:
    readers = [backend for backend in BACKENDS if restores(format, backend) is Restores.YES]
    if not readers:
        return Fix(text="Run NEW with the backend that wrote it, or take a canonical savepoint.")
    text = f"Run NEW with {STATE_BACKEND}: {' or '.join(readers)}"
    if told == FORST and format is not KeyedFormat.ASYNCHRONOUS:
        text += f", or, for a jar or a query, make files of this that {FORST} reads: "
        text += "compat migrate SAVEPOINT NEW OUT --native rocksdb"
    elif format in _OF_ONE_SORT:
        text += f" (for this check: -D {STATE_BACKEND}={readers[0]}), take a canonical savepoint, or make one of this: "
        text += "compat migrate SAVEPOINT NEW OUT --canonical"
    return Fix(text=f"{text}.", code=f"{STATE_BACKEND}: {readers[0]}")


_OF_ONE_SORT = frozenset({KeyedFormat.HEAP, KeyedFormat.ROCKSDB_SCAN, KeyedFormat.FILES})
"""Formats of a backend's own that a canonical savepoint stands in for. ForSt takes none of asynchronous states."""

_OWN_FILES = (
    "Only a canonical savepoint can be given to another backend; other snapshots hold files of the one that wrote them."
)
_ONLY_ITS_OWN = (
    "ForSt restores from checkpoints and native savepoints with files of its own or of RocksDB's, from no other format."
)
_NAMES: dict[KeyedFormat, str] = {
    **{format: format.value for format in KeyedFormat},
    KeyedFormat.CANONICAL: "the canonical format",
    KeyedFormat.UNTOLD: "the native format of a backend that the savepoint does not name",
}
_WHY = {
    KeyedFormat.CANONICAL: _ONLY_ITS_OWN,
    KeyedFormat.CHANGES: _ONLY_ITS_OWN,
    KeyedFormat.CHANGELOG_CANONICAL: _ONLY_ITS_OWN,
    KeyedFormat.UNTOLD: "Native savepoints and checkpoints hold files of a backend's own, too few to show "
    "which backend wrote them.",
    KeyedFormat.FILES: "RocksDB and ForSt write files of one form, and read each other's; hashmap reads none.",
    KeyedFormat.ASYNCHRONOUS: "ForSt writes the states of asynchronous operators in its own form.",
}


RULE = Rule(
    id="CMP503",
    name="native-format",
    level=Level.ERROR,
    other_levels=(Level.WARNING, Level.UNKNOWN),
    when="warning if NEW and -D name no backend, and Flink's default (hashmap) does not restore from the state's "
    "format; unknown if the savepoint does not show which backend wrote it, or NEW's backend is not one of Flink's.",
    fate=Fate.REFUSED,
    summary="The keyed state is in a format that NEW's state backend does not restore from.",
    why="Native savepoints and checkpoints hold files of the backend that wrote them. Only the canonical format is the "
    "same for all, and ForSt does not read even that.",
    old="state.backend.type: hashmap   (savepoint --type native)",
    new="state.backend.type: rocksdb",
    fix="Take the savepoint with --type canonical, or keep the backend.",
    only_in_flink=True,
    find=_find,
)
