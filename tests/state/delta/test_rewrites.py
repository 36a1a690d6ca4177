"""What others do to a snapshot table by Delta's own means changes no answer: OPTIMIZE in any order, RESTORE to any version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.state.delta.compaction import compact, latest
from compat.state.delta.errors import StoreError
from compat.state.delta.following import follow
from compat.state.delta.log import SnapshotLog
from compat.state.delta.replica import MemoryReplica, Position
from compat.state.delta.rows import Kind, Row, read_rows, together, write_rows

Contents = dict[bytes, bytes]


def write(log: SnapshotLog, changes: dict[int, int | None]) -> int:
    """Commit changes as the next epoch, which is given."""
    epoch = log.next_epoch
    rows = [
        Row("op", Kind.VALUE, key % 8, "count", b"%d" % key, b"", b"", None if value is None else b"%d" % value)
        for key, value in changes.items()
    ]
    assert log.commit(epoch, [write_rows(log.path, rows, epoch)] if rows else [], {"token": f"t{epoch}"})
    return epoch


def contents(log: SnapshotLog) -> Contents:
    return {row.key: row.value for row in read_rows(latest(together(list(log.read())))) if row.value is not None}


def caught_up(replica: MemoryReplica, log: SnapshotLog) -> list[bytes]:
    """The values of a replica that follows the log to where it stands."""
    tokens = log.tokens()
    follow(
        replica,
        Position(log.epoch, tokens.get(log.epoch, f"new {log.version}")),
        lambda after: log.changes(after, range(8), frozenset(["op"])),
        lambda _: lambda data: data,
        tokens.get,
    )
    return sorted(value[1:] for value in replica.entries.values())


CHANGES = st.dictionaries(st.integers(0, 20), st.one_of(st.none(), st.integers(0, 99)), max_size=8)
STEPS = st.lists(
    st.one_of(
        CHANGES,
        st.just("compact"),
        st.just("optimize"),
        st.just("z-order"),
        st.just("follow"),
        st.integers(0, 3).map(lambda back: ("restore", back)),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_contents_epochs_and_replicas_follow_one_line_of_history(tmp_path_factory: Any, steps: list[Any]) -> None:
    path = tmp_path_factory.mktemp("log")
    log = SnapshotLog.create(path)
    now: Contents = {}
    epochs: list[tuple[int, int, Contents]] = []
    given_away: set[int] = set()
    replica = MemoryReplica()
    for step in steps:
        if isinstance(step, dict):
            now = dict(now)
            for key, value in step.items():
                now.pop(b"%d" % key, None)
                if value is not None:
                    now[b"%d" % key] = b"%d" % value
            epoch = write(log, step)
            assert epoch not in given_away
            given_away.add(epoch)
            epochs.append((epoch, log.version, now))
        elif step == "follow":
            assert caught_up(replica, log) == sorted(now.values())
        elif step == "compact" and epochs:
            compact(log, {"token": f"t{log.epoch}"})
        elif step == "optimize":
            DeltaTable(str(path)).optimize.compact()
        elif step == "z-order":
            DeltaTable(str(path)).optimize.z_order(["value", "key"])
        elif isinstance(step, tuple) and epochs:
            del epochs[max(len(epochs) - step[1], 1) :]
            _, version, now = epochs[-1]
            if version < DeltaTable(str(path)).version():
                DeltaTable(str(path)).restore(version)
        log = SnapshotLog.open(path)
    assert contents(log) == now
    assert log.epoch == (epochs[-1][0] if epochs else 0)
    assert [each["epoch"] for each in reversed(log.checkpoints())] == [epoch for epoch, _, _ in epochs]
    assert caught_up(replica, log) == sorted(now.values())
    assert caught_up(MemoryReplica(), log) == sorted(now.values())


def test_a_rollback_under_a_running_job_is_told(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    for value in (1, 2, 3):
        write(log, {1: value})
    DeltaTable(str(tmp_path)).restore(2)
    with pytest.raises(StoreError, match="restored to an earlier version while the job ran"):
        write(log, {1: 4})
    log = SnapshotLog.open(tmp_path)
    assert contents(log) == {b"1": b"2"}
    assert (log.epoch, write(log, {1: 5}), log.epoch) == (2, 4, 4)


def test_a_copy_without_history_stands_where_its_rows_say(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path / "log")
    for value in (1, 2, 3):
        write(log, {1: value})
    copy = DeltaTable(str(tmp_path / "log")).to_pyarrow_table()
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "copy"), copy)
    log = SnapshotLog.open(tmp_path / "copy")
    assert (log.epoch, log.next_epoch, contents(log)) == (3, 4, {b"1": b"3"})


@pytest.mark.parametrize("write", [lambda log: log.lead(7), lambda log: log.commit(log.next_epoch, [], {})])
def test_features_that_we_do_not_write_are_told(tmp_path: Path, write: Any) -> None:
    log = SnapshotLog.create(tmp_path)
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clustering", "domainMetadata"]}
    commit = tmp_path / "_delta_log" / f"{log.version + 1:020d}.json"
    commit.write_text("\n".join(map(json.dumps, ({"commitInfo": {"operation": "CLUSTER BY"}}, {"protocol": protocol}))))
    with pytest.raises(
        StoreError, match=r"features of Delta that jobs do not write: .* Begin another job from it with -s"
    ):
        write(SnapshotLog.open(tmp_path))
