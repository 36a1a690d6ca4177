"""From exceptions to failures of restores: each with its entry of the catalogue, repetitions counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from compat.diagnosis.catalogue import ENTRIES, RESTORE
from compat.diagnosis.entry import Entry, Proof
from compat.diagnosis.exceptions import Cause, Chain, Origin, chains
from compat.diagnosis.lines import Line

_RESTORING = re.compile(
    r"Could not restore (?:keyed|operator) state backend|BackendBuildingException|Error while getting state|"
    r"Failed when trying to restore|StateMigrationException|SimpleVersionedListState|Failed to deserialize value"
)
"""Messages of outer exceptions for state that was being restored or read."""
_COORDINATOR = re.compile(
    r"Global failure triggered by OperatorCoordinator for '(?P<task>.*?)' \(operator (?P<operator>[0-9a-f]{32})\)"
)
_NOT_THE_STATE = re.compile(
    r"Could not load the native \w+ library|No space left on device|OutOfMemoryError|CancelTaskException|"
    r"InterruptedException|ClosedByInterruptException|Insufficient number of network buffers"
)
"""Causes that make a restore fail although the state is fine."""
_HASH = re.compile(r"@[0-9a-f]+|\(\d+/\d+\)|0x[0-9a-f]+")
_NO_PATH = "Checkpoint Metadata"
"""The text that Flink writes by mistake in place of the path."""
_LONGEST, _LONGEST_PASTED = 300, 4_000
_MOST = 200
_FEWEST_LINES = 50
_CLASS = re.compile(r"(?:[a-z_]\w*\.)+(?=[A-Z])")
_SHORT = ("old", "new", "now", "before")


class Failure(Struct, frozen=True, kw_only=True):
    """A failed restore: its entry in the catalogue, the values from its text, and how often it occurred.

    ``values`` are the named groups of the entry's pattern and of the outer exceptions. ``root`` is the innermost exception,
    ``asked_at`` the line of the program that asked for the state, ``task`` and ``vertex`` are the log's. ``first`` and ``last``
    are times as the log writes them.
    """

    entry: Entry
    values: Mapping[str, str]
    said: str
    root: str
    asked_at: str | None = None
    task: str | None = None
    vertex: str | None = None
    savepoint: str | None = None
    count: int = 1
    first: str = ""
    last: str = ""

    @property
    def operator(self) -> str | None:
        """The id of the operator; the id of the chain's first operator if only that is known."""
        return self.values.get("operator") or self.values.get("vertex") or self.vertex

    @property
    def exact(self) -> bool:
        """Whether the operator is the one that failed, and not merely the first of its task."""
        return "operator" in self.values


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The contents of a log: the failed restores in the order of the log, and counts of everything else."""

    failures: tuple[Failure, ...]
    lines: int
    others: int = 0
    last_other: str = ""
    left_out: int = 0


def diagnose(lines: Iterable[Line]) -> Diagnosis:
    """Find the failures of restores in the lines of a log."""
    seen: list[str] = []
    number = 0

    def counted() -> Iterator[Line]:
        nonlocal number
        for line in lines:
            number += 1
            if number <= _FEWEST_LINES:
                seen.append(line.text[:_LONGEST_PASTED])
            yield line

    found: dict[tuple[object, ...], Failure] = {}
    others = left_out = 0
    last_other = ""
    for chain in chains(counted()):
        failure = failure_of(chain)
        if failure is None:
            others += 1
            last_other = _clipped(chain.causes[-1].text)
            continue
        key = _key(failure)
        before = found.get(key)
        if before is not None:
            found[key] = replace(before, count=before.count + 1, last=failure.last or before.last)
        elif len(found) < _MOST:
            found[key] = failure
        else:
            left_out += 1
    if not found and not others and number <= _FEWEST_LINES:
        # A text that somebody pasted, without the class in front and perhaps broken into lines.
        pasted = failure_of(Chain((Cause("", " ".join(" ".join(seen).split())),)))
        if pasted is not None:
            return Diagnosis(failures=(pasted,), lines=number)
    return Diagnosis(
        failures=tuple(found.values()), lines=number, others=others, last_other=last_other, left_out=left_out
    )


def failure_of(chain: Chain) -> Failure | None:
    """The failure of a restore that an exception is; None for any other exception.

    The innermost cause that is in the catalogue decides; exceptions that any program throws count only if nothing else decides.
    """
    if any(_NOT_THE_STATE.search(cause.text) for cause in chain.causes):
        return None
    restoring = any(_RESTORING.search(cause.text) for cause in chain.causes)
    for general in (False, True):
        for place in range(len(chain.causes) - 1, -1, -1):
            told = _recognised(chain, place, restoring, general)
            if told is not None:
                return _failure(chain, chain.causes[place], *told)
    for cause in reversed(chain.causes):
        if (match := RESTORE.pattern.search(cause.text)) is not None:
            return _failure(chain, cause, RESTORE, match)
    return None


def _recognised(chain: Chain, place: int, restoring: bool, general: bool) -> tuple[Entry, re.Match[str]] | None:
    cause = chain.causes[place]
    for entry in ENTRIES:
        if entry is RESTORE or (entry.proof is Proof.RESTORE) is not general:
            continue
        match = entry.pattern.search(cause.text)
        if match is not None and _proven(entry, chain, place, restoring):
            return entry, match
    return None


def _proven(entry: Entry, chain: Chain, place: int, restoring: bool) -> bool:
    if entry.proof is Proof.TEXT or restoring:
        return True
    # Java omits the lines of a cause's trace that the outer exception's has, too: a cause without an origin has the outer
    # one's.
    origins = [cause.origin for cause in reversed(chain.causes[: place + 1])]
    told = next((one for one in origins if one in (Origin.STATE, Origin.PROGRAM)), None)
    if told is None and entry.proof is Proof.NOT_ELSEWHERE:
        return all(one is Origin.NO_TRACE for one in origins)
    return told is Origin.STATE


def _failure(chain: Chain, cause: Cause, entry: Entry, match: re.Match[str]) -> Failure:
    values: dict[str, str] = {}
    for outer in chain.causes:
        for pattern in (RESTORE.pattern, _COORDINATOR):
            if (around := pattern.search(outer.text)) is not None:
                values.update(around.groupdict())
    values.update({name: value for name, value in match.groupdict().items() if value is not None})
    for name in _SHORT:
        if name in values:
            values[name] = _CLASS.sub("", _HASH.sub("", values[name]))
    said = values.pop("savepoint", None)
    return Failure(
        entry=entry,
        values=values,
        said=_clipped(cause.text),
        root=_clipped(chain.causes[-1].text),
        asked_at=next((one.asked_at for one in reversed(chain.causes) if one.asked_at), None),
        task=values.get("task") or chain.task,
        vertex=chain.vertex,
        savepoint=said if said not in (None, _NO_PATH) else chain.savepoint,
        first=chain.time,
        last=chain.time,
    )


def _key(failure: Failure) -> tuple[object, ...]:
    """The key that repetitions of a failure share: everything but subtask, time and hashes of objects."""
    values = tuple(sorted((name, value) for name, value in failure.values.items() if name not in ("subtask", "group")))
    return failure.entry.name, values, failure.asked_at, _HASH.sub("", failure.said)


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
