"""Timers on the heap beside RocksDB, which native savepoints leave out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.plan.facts import Program, Snapshot
from compat.state.flink.formats import ROCKSDB, WITHOUT_HEAP_TIMERS, KeyedFormat, backend_of
from compat.state.model.job import STATE_BACKEND
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind

_FACTORY: Final = "state.backend.rocksdb.timer-service.factory"
_ON_HEAP: Final = "HEAP"
_WITHOUT_ENDS = frozenset({"GlobalWindows", "CountTumblingWindowAssigner", "CountSlidingWindowAssigner"})
"""Windows that no timer ends unless their trigger sets one."""


def _find(check: Check) -> Iterator[Finding]:
    snapshot = check.old.snapshot
    if snapshot is None:
        if check.snapshot_to_come:
            yield from _of_programs(check)
        return
    to_heap = check.in_flink and _keeps_timers_on_heap(check.new)
    for pair in check.right_pairs:
        left_out = pair.old.id in snapshot.without_timers
        passed_over = to_heap and snapshot.formats.get(pair.old.id) in WITHOUT_HEAP_TIMERS and _has_queue(pair.old)
        if (left_out or passed_over) and (level := _level(pair, snapshot)) is not None:
            yield _finding(check, pair, level, left_out=left_out)


def _of_programs(check: Check) -> Iterator[Finding]:
    """Two programs do not tell which savepoint will be taken."""
    if not (_keeps_timers_on_heap(check.old) or _keeps_timers_on_heap(check.new)):
        return
    pairs = [pair for pair in check.right_pairs if _sets_timers(pair.old) and _has_queue(pair.new)]
    if pairs:
        first = pairs[0]
        yield check.finding(
            RULE,
            "timers are on the heap beside RocksDB: a native savepoint does not carry them over",
            level=Level.WARNING,
            consequence="Restored from one, the job has its state, but OLD's timers never fire. Flink gives no error.",
            reason=_REASON,
            old=first.old,
            new=first.new,
            fixes=_FIXES,
            related=tuple((pair.new.label, pair.new.source) for pair in pairs[1:] if pair.new.source is not None),
        )


def _finding(check: Check, pair: Pair, level: Level, *, left_out: bool) -> Finding:
    if left_out:
        title = f"the timers of {pair.new.label} are not in this snapshot"
    else:
        title = f"the timers of {pair.new.label} are in RocksDB's files, where NEW does not look for them"
    if level is Level.UNKNOWN:
        consequence = "If OLD had set any, they never fire."
    elif pair.new.kind == "window":
        consequence = "The windows have their contents, but open ones never end."
    else:
        consequence = "The state is there, but OLD's timers never fire."
    return check.finding(
        RULE,
        title,
        level=level,
        consequence=consequence,
        reason=_REASON,
        old=pair.old,
        new=pair.new,
        fixes=_FIXES
        if left_out
        else (Fix(text=f"Run NEW with {_FACTORY}: ROCKSDB.", code=f"{_FACTORY}: ROCKSDB"), _FIXES[0]),
        silent=True,
    )


def _level(pair: Pair, snapshot: Snapshot) -> Level | None:
    """How sure it is that timers go missing; None if OLD had none, or nothing is known of any.

    A window, and each function that can set timers, has a queue of timers from its start on, even an empty one
    (`KeyedProcessOperator.open`). If a snapshot has no queue, it was kept on the heap, or OLD's function was of another sort.
    Timers that were set after RocksDB's files were materialized are in a changelog.
    """
    in_log = snapshot.formats.get(pair.old.id) is KeyedFormat.CHANGELOG_FILES
    if _ends_by_timers(pair.new):
        return Level.UNKNOWN if in_log else Level.ERROR
    if not _has_queue(pair.new):
        return None
    before = pair.old.detail.get("timers")
    if before is None and not snapshot.types_known:
        return None if pair.new.detail.get("timers") is False else Level.UNKNOWN
    return {True: Level.UNKNOWN if in_log else Level.ERROR, None: Level.UNKNOWN}.get(before)


def _keeps_timers_on_heap(program: Program) -> bool:
    rocksdb = backend_of(program.settings.get(STATE_BACKEND) or "") == ROCKSDB
    return rocksdb and program.settings.get("state.backend.rocksdb.timer-service.factory") == _ON_HEAP


def _sets_timers(operator: Operator) -> bool:
    return _has_queue(operator) and (_ends_by_timers(operator) or operator.detail.get("timers") is not False)


def _ends_by_timers(operator: Operator) -> bool:
    return operator.kind == "window" and operator.detail.get("window_class") not in _WITHOUT_ENDS


def _has_queue(operator: Operator) -> bool:
    return any(state.kind is StateKind.TIMERS for state in operator.states or ())


_REASON = (
    f"Beside RocksDB, timers can be kept on the heap ({_FACTORY}: HEAP). A native savepoint is of RocksDB's files alone, and "
    "timers are looked for where NEW keeps them."
)
_FIXES = (
    Fix(text="Take the savepoint with --type canonical: it has the timers, and gives them to either."),
    Fix(text=f"Keep the timers in RocksDB in both versions: {_FACTORY}: ROCKSDB."),
)

RULE = Rule(
    id="CMP506",
    name="timers-not-in-snapshot",
    level=Level.ERROR,
    other_levels=(Level.WARNING, Level.UNKNOWN),
    when="unknown if OLD may have registered none; warning for two programs, which do not show which savepoint is taken",
    fate=Fate.LOST,
    summary="Timers on the heap beside RocksDB do not survive a native savepoint.",
    why="RocksDB's native savepoints are copies of its files. Timers on the heap are in canonical savepoints and, "
    "separately, in checkpoints. They are neither in native savepoints nor in a changelog's materialized part. And "
    "a job with timers on the heap does not find timers in RocksDB's files. Seen in Flink 2.3: the state came back, "
    "no timer fired, and there was no error.",
    old=f"{_FACTORY}: HEAP   (savepoint --type native)",
    new="# any version of the job",
    fix="Take the savepoint with --type canonical.",
    find=_find,
)
