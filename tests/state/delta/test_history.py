"""The history of epochs in a log."""

from __future__ import annotations

from itertools import pairwise

import pytest

from compat.state.delta.compaction import compact
from compat.state.delta.errors import StoreError
from compat.state.delta.history import NO_MORE_INPUT, epochs
from compat.state.delta.log import SnapshotLog
from tests.compat.service.stores import job_store


def log_of(folder, records, marks=()):
    return SnapshotLog.open(str(job_store(folder / "job", {}, records, marks) / "state"))


def test_each_epoch_is_told_once_the_oldest_first(tmp_path):
    found = epochs(log_of(tmp_path, [3, 1, 4]), "watermark")
    assert [(each.number, each.records) for each in found] == [(1, 3), (2, 1), (3, 4)]
    assert [each.time for each in found] == sorted(each.time for each in found)


def test_sizes_add_up(tmp_path):
    log = log_of(tmp_path, [3, 1, 4])
    found = epochs(log, "watermark")
    sizes = [0, *(each.size for each in found)]
    assert [each.written for each in found] == [after - before for before, after in pairwise(sizes)]
    assert found[-1].size == sum(file.size for file in log.files())


def test_a_watermark_stands_until_it_changes(tmp_path):
    found = epochs(log_of(tmp_path, [1, 1, 1, 1], [5, None, 9, NO_MORE_INPUT]), "watermark")
    assert [each.watermark for each in found] == [5, 5, 9, None]


def test_before_any_epoch(tmp_path):
    assert epochs(log_of(tmp_path, []), "watermark") == []


def test_compaction_keeps_the_epochs(tmp_path):
    log = log_of(tmp_path, [3, 1, 4], [1, 2, 3])
    before = epochs(log, "watermark")
    compact(log, {"token": "token"}, frozenset())
    after = epochs(log, "watermark")
    assert [(each.number, each.records) for each in after] == [(each.number, each.records) for each in before]
    assert after[-1].watermark == 3


def test_a_damaged_commit_is_named(tmp_path):
    log = log_of(tmp_path, [3, 1])
    commit = tmp_path / "job" / "state" / "_delta_log" / f"{log.version:020d}.json"
    found = SnapshotLog.open(str(tmp_path / "job" / "state"))
    commit.write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        epochs(found, "watermark")
