"""Slices hold the rows of their key groups, all of them and no others, and what is read at once is bounded."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from compat.state.delta import compaction, reading, rows, slices
from compat.state.delta.compaction import Compaction, compact, decide
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, read_rows, write_rows
from compat.state.delta.savepoint import LogState, import_snapshot, write_savepoint
from compat.state.delta.slices import cut, in_order, inside, read_slice
from compat.state.delta.work import HERE, Workers
from compat.state.stores.local import LocalFiles
from compat.state.stores.paths import Place

GROUPS = 32
EPOCHS = 4


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets of some kilobytes in the place of megabytes."""
    monkeypatch.setattr(slices, "SLICE_BYTES", 40_000)
    monkeypatch.setattr(slices, "_SMALL_BYTES", 0)
    monkeypatch.setattr(compaction, "_FILE_BYTES", 20_000)
    monkeypatch.setattr(compaction, "_ORDERED_BYTES", 60_000)
    monkeypatch.setattr(compaction, "_LEAST_GROUP", 1000)
    monkeypatch.setattr(reading, "BATCH_BYTES", 5000)


def filled(path: Path, seed: int = 0) -> SnapshotLog:
    """A log of some epochs: values, some of which are removed, and what belongs to no key."""
    draw = random.Random(seed)
    log = SnapshotLog.create(path)
    for epoch in range(1, EPOCHS + 1):
        changed = [
            Row("op", Kind.VALUE, key % GROUPS, "value", b"%d" % key, b"", b"", draw.choice((None, b"%d" % epoch * 50)))
            for key in draw.sample(range(600), 300)
        ]
        changed.append(Row("op", Kind.OPERATOR, -1, "states", b"", b"", b"", b"%d" % epoch))
        changed.append(Row("other", Kind.TASK, -1, "task", b"", b"", b"", b"%d" % epoch))
        log.commit(epoch, [write_rows(log.path, changed, epoch)], {"token": f"t{epoch}"})
    return log


def live(log: SnapshotLog) -> dict[Any, Any]:
    return {
        (row.operator_id, row.kind, row.key): row.value
        for table in compaction.contents(log)
        for row in read_rows(table)
    }


def expected(log: SnapshotLog) -> dict[Any, Any]:
    """The same from all rows at once."""
    found: dict[Any, Any] = {}
    for file in log.files():
        for row in read_rows(next(log.parts(files=[file]))):
            found[row.operator_id, row.kind, row.key] = row.value
    return {place: value for place, value in found.items() if value is not None}


class Elsewhere(Workers):
    """Workers who count what they are given."""

    def __init__(self) -> None:
        self.parts: list[int] = []

    def each(self, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        self.parts.append(len(parts))
        return [work(part) for part in parts]

    def beside(self) -> Workers:
        return self

    def give_up(self) -> None:
        """They cannot."""


@pytest.mark.usefixtures("narrow")
def test_slices_have_each_row_once_and_are_small(tmp_path: Path) -> None:
    log = filled(tmp_path)
    found = cut(log.sources()).slices
    assert found[0].groups == range(-1, 0)
    assert [group for one in found[1:] for group in one.groups] == list(range(GROUPS))
    read = [read_slice(one) for one in found]
    assert sum(table.num_rows for table in read) == sum(file.rows for file in log.files())
    assert all(inside(table, one.groups).num_rows == table.num_rows for table, one in zip(read, found, strict=True))
    assert len(found) > 5
    assert max(table.nbytes for table in read) < 60_000
    assert live(log) == expected(log)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("part", [range(-1, 0), range(5, 9), range(GROUPS)])
def test_a_part_of_the_key_groups_is_cut_alone(tmp_path: Path, part: range) -> None:
    log = filled(tmp_path)
    found = cut(log.sources(), part).slices
    assert [group for one in found for group in one.groups] == list(part)


def test_little_state_is_two_slices_and_no_footer_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(tmp_path)
    monkeypatch.setattr(slices, "opened", None)
    assert [one.groups for one in cut(log.sources()).slices] == [range(-1, 0), range(GROUPS)]


@pytest.mark.usefixtures("narrow")
def test_files_that_each_slice_would_read_are_put_in_order_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, so many slices read each of the files as a whole."""
    log = filled(tmp_path)
    wanted = expected(log)
    assert len(cut(log.sources()).scattered) == EPOCHS
    read: list[str] = []
    real = reading.batches
    monkeypatch.setattr(slices, "batches", lambda *given, **named: read.append(given[1].path) or real(*given, **named))
    others = Elsewhere()
    made = decide(log).done(workers=others)
    assert others.parts[0] == EPOCHS
    assert not {file.path for file in log.files()} & set(read)
    assert {file.path for file in made} | {file.path for file in log.files()} == {
        file.name for file in tmp_path.glob("*.parquet")
    }  # what was put in order is removed again
    assert decide(log).commit(log, made, {"token": "t4"})
    assert live(log) == expected(log) == wanted


def test_what_work_takes_in_memory_does_not_grow_with_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With budgets of a megabyte: of 4 MB and of 16 MB of values, a compaction, a savepoint and a restore hold as much."""
    budget = 1024 * 1024
    monkeypatch.setattr(slices, "SLICE_BYTES", budget)
    monkeypatch.setattr(slices, "_SMALL_BYTES", 0)
    monkeypatch.setattr(compaction, "_FILE_BYTES", budget)
    monkeypatch.setattr(compaction, "_ORDERED_BYTES", budget)
    monkeypatch.setattr(compaction, "_LEAST_GROUP", budget // 32)
    monkeypatch.setattr(reading, "BATCH_BYTES", budget // 8)

    def most(work: Callable[[], object]) -> int:
        before = pa.default_memory_pool()
        counting = pa.proxy_memory_pool(before)
        pa.set_memory_pool(counting)
        try:
            work()
        finally:
            pa.set_memory_pool(before)
        return int(counting.max_memory())

    taken: dict[int, list[int]] = {}
    for keys in (1000, 4000):
        draw, log = random.Random(keys), SnapshotLog.create(tmp_path / f"{keys}")
        for epoch in range(1, EPOCHS + 1):
            changed = [
                Row("op", Kind.VALUE, key % GROUPS, "value", b"%d" % key, b"", b"", draw.randbytes(1024))
                for key in range(epoch % 2, keys * 2, 2)
            ]
            log.commit(epoch, [write_rows(log.path, changed, epoch)], {"token": f"t{epoch}"})
        copy, target = tmp_path / f"savepoint {keys}", SnapshotLog.create(tmp_path / f"target {keys}")
        taken[keys] = [
            most(lambda: compact(log, {"token": f"t{EPOCHS}"})),  # noqa: B023
            most(lambda: write_savepoint(LogState.of(log), copy, {}, None, HERE)),  # noqa: B023
            most(lambda: import_snapshot(log, target, {"op": "new"}, frozenset(), {}, len, HERE)),  # noqa: B023
        ]
        assert sum(table.num_rows for table in target.parts()) == 2 * keys
    for little, much in zip(taken[1000], taken[4000], strict=True):
        assert much < 6 * budget
        assert much < little + 2 * budget


@pytest.mark.usefixtures("narrow")
def test_a_compaction_loses_nothing_that_is_committed_while_it_goes_on(tmp_path: Path) -> None:
    log = filled(tmp_path)
    compaction = decide(log)
    made = compaction.done()
    late = [
        Row("op", Kind.VALUE, 0, "value", b"0", b"", b"", b"late"),
        Row("op", Kind.VALUE, 1, "value", b"1", b"", b"", None),
    ]
    log.commit(EPOCHS + 1, [write_rows(log.path, late, EPOCHS + 1)], {"token": "t5"})
    wanted = expected(log)
    assert compaction.commit(log, made, {"token": "t5"})
    assert live(log) == wanted
    assert wanted["op", Kind.VALUE, b"0"] == b"late"
    assert (log.epoch, log.floor, log.next_epoch) == (EPOCHS + 1, EPOCHS, EPOCHS + 2)
    assert log.tokens() == {EPOCHS: "t4", EPOCHS + 1: "t5"}  # those before it cannot be followed from any more
    assert live(SnapshotLog.open(tmp_path)) == wanted


def _optimized(path: Path) -> None:
    DeltaTable(str(path)).optimize.compact()


def _restored(path: Path) -> None:
    DeltaTable(str(path)).restore(2)


def _committed(path: Path) -> None:
    other = SnapshotLog.open(path)
    other.commit(other.next_epoch, [], {"token": "another"})


@pytest.mark.parametrize("meddle", [_optimized, _restored, _committed])
def test_a_compaction_of_what_somebody_else_changed_meanwhile_changes_nothing(
    tmp_path: Path, meddle: Callable[[Path], None]
) -> None:
    log = filled(tmp_path)
    compaction = decide(log)
    made = compaction.done()
    meddle(tmp_path)
    before = SnapshotLog.open(tmp_path)
    if meddle is _optimized:
        assert not compaction.commit(log, made, {"token": "t4"})
        assert not {file.path for file in made} & {file.name for file in tmp_path.glob("*.parquet")}
    else:
        with pytest.raises(StoreError, match="changed by another process"):
            compaction.commit(log, made, {"token": "t4"})
    assert SnapshotLog.open(tmp_path).version == before.version


def test_a_compaction_whose_files_were_swept_is_not_committed(tmp_path: Path) -> None:
    log = filled(tmp_path)
    compaction = decide(log)
    made = compaction.done()
    log.sweep()
    with pytest.raises(StoreError, match="finds no such file"):
        compaction.commit(log, made, {"token": "t4"})
    assert live(SnapshotLog.open(tmp_path)) == expected(log)


@pytest.mark.usefixtures("narrow")
def test_a_savepoint_and_what_is_restored_of_it_have_what_the_log_has(tmp_path: Path) -> None:
    log = filled(tmp_path / "log")
    state, others = LogState.of(log), Elsewhere()
    wanted = live(log)
    log.commit(EPOCHS + 1, [], {"token": "t5"})  # what comes later is not in it
    path = write_savepoint(state, tmp_path / "savepoint", {}, None, others)
    saved = SnapshotLog.open(path)
    assert (saved.epoch, live(saved)) == (EPOCHS, wanted)
    target = SnapshotLog.create(tmp_path / "target")
    tallied = import_snapshot(
        saved, target, {"op": "new"}, frozenset({Kind.TASK}), {}, lambda table: table.num_rows, others
    )
    assert sum(tallied) == len(wanted)
    assert live(target) == {("new", kind, key): value for (id, kind, key), value in wanted.items() if id == "op"}
    assert target.epoch == EPOCHS
    assert others.parts[0] == EPOCHS
    assert max(others.parts) > 5
    named = {file.path for file in target.files()}
    assert {file.name for file in (tmp_path / "target").glob("*.parquet")} == named


def test_what_was_removed_under_a_key_that_was_pickled_otherwise_stays_removed(tmp_path: Path) -> None:
    """Who takes a snapshot over does not know which keys are pickled: it must keep what tells that they were removed."""
    log = SnapshotLog.create(tmp_path / "log")
    first, second = (b"\1" + b"\0\0\0\1" + b"k" + pickled for pickled in (b"one way", b"another"))
    for epoch, key, value in ((1, first, b"1"), (2, second, None)):
        changed = [Row("op", Kind.VALUE, 0, "value", key, b"", b"", value)]
        log.commit(epoch, [write_rows(log.path, changed, epoch)], {"token": ""})
    target = SnapshotLog.create(tmp_path / "target")
    import_snapshot(log, target, {"op": "op"}, frozenset(), {}, len)
    assert [table.num_rows for table in compaction.contents(target, pickled=frozenset({"op"}))] == [0]
    compact(target, {"token": ""}, frozenset({"op"}))
    assert live(target) == {}


def _rows(log: SnapshotLog, groups: range) -> list[Any]:
    return [
        each
        for table in log.changes(1, groups, frozenset(["op"]))
        for each in zip(*(table[name].to_pylist() for name in ("key", "epoch", "value")), strict=True)
    ]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("rewritten", ["not", "by us", "by Delta"])
def test_changes_of_an_entry_come_oldest_first(tmp_path: Path, rewritten: str) -> None:
    """Where the rows lie in the order of epochs they are read as they lie, else in slices."""
    log = filled(tmp_path)
    if rewritten == "by us":
        compact(log, {"token": "t4"})
    elif rewritten == "by Delta":
        DeltaTable(str(tmp_path)).optimize.z_order(["value"])
        log = SnapshotLog.open(tmp_path)
    assert in_order(log.place, log.files()) is (rewritten != "by Delta")
    seen: dict[bytes, int] = {}
    values: dict[bytes, Any] = {}
    for key, epoch, value in [*_rows(log, range(20)), *_rows(log, range(20, GROUPS))]:
        assert epoch > 1
        if key:
            assert seen.get(key, 0) <= epoch
            seen[key], values[key] = epoch, value
    wanted = {key: value for (_, kind, key), value in live(log).items() if kind == Kind.VALUE and key in values}
    assert {key: value for key, value in values.items() if value is not None} == wanted
    assert {key for key in values if int(key) % GROUPS < 20} == {key for key, *_ in _rows(log, range(20)) if key}


def test_a_large_table_is_written_by_key_group_in_small_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "CLUSTERED_BYTES", 1000)
    monkeypatch.setattr(rows, "_GROUP_BYTES", 20_000)
    log = filled(tmp_path)
    for source in log.sources():
        with reading.opened(log.place, source.file) as parquet:
            found = [each.groups for each in reading.row_groups(parquet)]
        assert len(found) > 1
        lows = [each[0] for each in found if each is not None]
        assert lows == sorted(lows)
    with_group = cut(log.sources(), range(3, 4))
    assert all(piece.row_groups is None for one in with_group.slices for piece in one.pieces)
    monkeypatch.setattr(slices, "_SMALL_BYTES", 0)
    (one,) = cut(log.sources(), range(3, 4)).slices
    assert all(piece.row_groups is not None and len(piece.row_groups) < 3 for piece in one.pieces)
    assert pa.compute.unique(read_slice(one)["key_group"]).to_pylist() == [3]


class _Remote(LocalFiles):
    """Files of this machine as if they were elsewhere; ``read_whole`` are those that came with one request."""

    def __init__(self) -> None:
        self.read_whole: list[str] = []

    @property
    def local(self) -> bool:
        return False

    def read(self, path: str) -> bytes:
        self.read_whole.append(path)
        return super().read(path)


@pytest.mark.parametrize("large", [False, True])
def test_of_a_large_file_elsewhere_only_what_is_wanted_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    if large:
        monkeypatch.setattr(reading, "_WHOLE_BYTES", 0)
    log, remote = filled(tmp_path), _Remote()
    for file in log.files():
        found = pa.concat_tables(reading.batches(Place(remote, log.path), file))
        assert list(read_rows(found)) == list(read_rows(next(log.parts(files=[file]))))
    assert len(remote.read_whole) == (0 if large else EPOCHS)


def test_nothing_is_no_slice(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    assert cut(log.sources()).slices == ()
    assert Compaction(log.path, 0, (), True, 0).done(workers=HERE) == []
