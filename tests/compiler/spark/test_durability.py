"""A power cut at any moment: what an epoch is made of is on the disk before the epoch counts, and it before it is published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from compat.compiler.spark.connectors.delta.sink import DeltaCommitter, DeltaWriter
from compat.compiler.spark.connectors.files.sink import FileCommitter
from compat.compiler.spark.driver.restore import find_snapshot
from compat.compiler.spark.runtime_api.sinks import WriterContext
from compat.compiler.spark.task import epochs
from compat.state.delta.log import SnapshotLog
from compat.state.types import Types
from tests.compiler.spark.test_faults import run


class Disk:
    """What survives a power cut: files whose contents were synced, by inode, and folders with the names they had then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._contents: dict[int, int] = {}
        self._names: dict[str, set[str]] = {}
        real = os.fsync

        def fsync(descriptor: int) -> None:
            real(descriptor)
            path, status = os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor)
            if os.path.isdir(path):
                self._names[path] = set(os.listdir(path))
            else:
                self._contents[status.st_ino] = status.st_size

        monkeypatch.setattr(os, "fsync", fsync)

    def keeps(self, path: str | Path) -> bool:
        """True if a file would be there, whole."""
        folder, name = os.path.split(path)
        status = os.stat(path)
        return self._contents.get(status.st_ino) == status.st_size and name in self._names.get(folder, ())


@pytest.mark.parametrize("inline", [0, 2000])
def test_an_epoch_survives_a_power_cut(cluster: Any, tmp_path: Path, monkeypatch: Any, inline: int) -> None:
    disk = Disk(monkeypatch)
    seen = []

    def committing(self: Any, actions: Any, *arguments: Any) -> None:
        paths = [os.path.join(self.path, action.path) for action in actions]
        assert all(map(disk.keeps, paths))
        seen.append("state")
        commit(self, actions, *arguments)
        assert disk.keeps(Path(self.path, "_delta_log", f"{self.version:020d}.json"))

    def publishing(self: Any, committables: Any, transaction: Any) -> None:
        hidden = [path for path, *_ in committables if os.path.exists(path)]
        assert all(map(disk.keeps, hidden))
        seen.append("files")
        publish(self, committables, transaction)
        assert all(disk.keeps(final) for _, final, *_ in committables)

    def adding(self: Any, committables: Any, transaction: Any) -> None:
        assert all(disk.keeps(tmp_path / "table" / name) for name, *_ in committables)
        seen.append("table")
        add(self, committables, transaction)
        version = DeltaTable(tmp_path / "table").version()
        assert disk.keeps(tmp_path / "table" / "_delta_log" / f"{version:020d}.json")

    commit, publish, add = SnapshotLog._write, FileCommitter.commit, DeltaCommitter.commit
    monkeypatch.setattr(SnapshotLog, "_write", committing)
    monkeypatch.setattr(FileCommitter, "commit", publishing)
    monkeypatch.setattr(DeltaCommitter, "commit", adding)
    monkeypatch.setattr(epochs, "INLINE_ROWS", inline)
    run(cluster, tmp_path)
    assert {seen.count(what) >= 4 for what in ("state", "files", "table")} == {True}


def test_a_savepoint_survives_a_power_cut(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    disk = Disk(monkeypatch)
    run(cluster, tmp_path, epochs=2)
    snapshot = find_snapshot(cluster.last.master.job.savepoint)
    log = snapshot.open()
    assert all(disk.keeps(Path(log.path, file.path)) for file in log.files())
    assert all(
        disk.keeps(snapshot.directory / name) for name in os.listdir(snapshot.directory) if name.endswith(".json")
    )


def test_what_late_attempts_wrote_into_a_table_is_swept(tmp_path: Path) -> None:
    """Also of epochs that are committed since; files of others, those of the table and those still to be published stay."""
    path = tmp_path / "table"
    settings = {"path": str(path), "row_type": Types.ROW_NAMED(["n"], [Types.INT()])}

    def written(job: str, epoch: int) -> list[Any]:
        writer = DeltaWriter(settings, WriterContext("op", 0, epoch, "a", "", job))
        writer.write((epoch,), None)
        return writer.prepare_commit()

    committer = DeltaCommitter(settings)
    committer.commit(written("job", 1), ("job-op", 1))
    written("job", 1)
    written("other", 1)
    waiting = written("job", 2)
    committer.sweep("job", 2, {file for file, _ in committer.files(waiting)})
    assert len(list(path.glob("*.parquet"))) == 3
    committer.commit(waiting, ("job-op", 2))
    assert sorted(row["n"] for row in DeltaTable(str(path)).to_pyarrow_table().to_pylist()) == [1, 2]
