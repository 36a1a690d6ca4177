"""Buffers that stay on one machine travel in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.compiler.datastream.common import Types
from compat.compiler.spark.runtime_api.elements import Buffer, Records, Stowed, decode_elements, encode_elements
from compat.compiler.spark.task import stowage
from compat.compiler.spark.task.epochs import EpochSpec, InProcessRunner, TaskFailure, TaskReport
from compat.compiler.spark.task.stowage import (
    TRAVELS,
    BuffersLost,
    folder_for_buffers,
    payloads,
    remove_left_buffers,
    stow,
)


def buffers(size: int, count: int = 3) -> list[Buffer]:
    return [Buffer(1, 1, 0, 0, 0, number, bytes([number]) * size) for number in range(count)]


def test_large_buffers_are_stowed_and_come_back(tmp_path: Path) -> None:
    made = buffers(TRAVELS)
    with folder_for_buffers(str(tmp_path)) as folder:
        stowed = stow(folder, made)
        assert {type(each.payload) for each in stowed} == {Stowed}
        assert [(each._replace(payload=payload), payload) for each, payload in payloads(stowed[::-1])] == [
            (each, each.payload) for each in made[::-1]
        ]
        assert len(os.listdir(folder)) == 1
    assert not os.path.exists(folder)


def test_small_ones_travel_as_they_are(tmp_path: Path) -> None:
    made = buffers(TRAVELS // 3)
    with folder_for_buffers(str(tmp_path)) as folder:
        assert stow(folder, made) is made
        assert os.listdir(folder) == []
    assert [payload for _, payload in payloads(made)] == [each.payload for each in made]


def test_without_a_folder_or_where_nothing_can_be_written_they_travel(tmp_path: Path) -> None:
    made = buffers(TRAVELS)
    assert stow("", made) is made
    assert stow(str(tmp_path / "none"), made) is made
    (tmp_path / "file").touch()
    with folder_for_buffers(str(tmp_path / "file")) as folder:
        assert folder == ""


@pytest.mark.parametrize("harm", ["removed", "cut", "flipped"])
def test_buffers_that_were_lost_are_told(tmp_path: Path, harm: str) -> None:
    with folder_for_buffers(str(tmp_path)) as folder:
        stowed = stow(folder, buffers(TRAVELS))
        path = Path(folder, os.listdir(folder)[0])
        if harm == "removed":
            path.unlink()
        elif harm == "cut":
            os.truncate(path, 2 * TRAVELS + 1)
        else:
            path.write_bytes(path.read_bytes()[:-1] + b"!")
        with pytest.raises(BuffersLost, match=path.name):
            list(payloads(stowed))


def test_what_drivers_left_that_were_killed_is_removed(tmp_path: Path) -> None:
    dead = tmp_path / "stowage" / f"{2**22 + 1}-abc"
    dead.mkdir(parents=True)
    (dead / "file").touch()
    with folder_for_buffers(str(tmp_path)) as folder:
        remove_left_buffers(str(tmp_path))
        assert not dead.exists()
        assert os.path.isdir(folder)


def test_elements_are_what_they_were() -> None:
    made = [Records([1, 2], None), Records([["a"]], [5])]
    assert decode_elements(encode_elements(list(made))) == made


class Stowing(InProcessRunner):
    """Runs epochs in this process as a driver does whose tasks are all on its machine."""

    used: list[int] = []
    harm: list[str] = []

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        with folder_for_buffers(spec.folder) as folder:
            reports = super().run(replace(spec, stowage=folder))
            self.used.append(len(os.listdir(folder)))
        return reports

    def run_subtask(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Any:
        stowed = [each.payload.path for each in buffers if isinstance(each.payload, Stowed)]
        if stowed and self.harm:
            self.harm.pop()
            Path(stowed[0]).unlink(missing_ok=True)
        return super().run_subtask(spec, vertex, subtask, buffers)


@pytest.mark.parametrize("lost", [0, 2])
def test_a_job_gives_the_same_and_goes_on_where_buffers_are_lost(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    monkeypatch.setattr(stowage, "TRAVELS", 0)
    monkeypatch.setattr("compat.compiler.spark.driver.executor.InProcessRunner", Stowing)
    monkeypatch.setattr("compat.compiler.spark.driver.recovery._AFTER_A_LOSS", 0.01)
    monkeypatch.setattr(Stowing, "used", [])
    monkeypatch.setattr(Stowing, "harm", ["harm"] * lost)
    env = cluster.environment(2, epoch_records=40)
    made = env.from_collection([(number % 7, number) for number in range(100)], Types.TUPLE([Types.INT(), Types.INT()]))
    last = made.key_by(lambda pair: pair[0], Types.INT()).sum(1)
    found: dict[int, list[int]] = {}
    for key, total in last.execute_and_collect():
        found.setdefault(key, []).append(total)

    assert {key: totals[-1] for key, totals in found.items()} == {key: sum(range(key, 100, 7)) for key in range(7)}
    assert sum(map(len, found.values())) == 100
    assert any(Stowing.used)
    assert Stowing.harm == []
