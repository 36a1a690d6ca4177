"""State that several processes write is what one writes."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from compat.state.flink import NotWritten, Savepoint, crew, read_draft, read_metadata, transferring, with_references
from compat.state.flink.crew import Crew
from compat.state.flink.header_parts import StateKey
from compat.state.flink.keyed_transfer import key_serializer_of
from compat.state.flink.processes import ProcessDied
from compat.state.flink.rekeying import KeyChange, KeyConversion
from compat.state.flink.remapping import unfinished_together
from compat.state.flink.tally import Tally
from compat.state.flink.transfer import StateTarget, Transfer
from compat.state.flink.transferring import count_entries, write_states
from tests.state.flink.test_transfer import SAVED, keys, made

NAMES = ("windows_no_uid_p3_canonical", "small_rocksdb_incremental_checkpoint", "broadcast_p2_native_files")


def renamed(savepoint: Savepoint) -> Transfer:
    return Transfer(states={key: StateTarget(key.operator, f"{key.name} anew") for key in keys(savepoint)})


def under_the_same_keys(savepoint: Savepoint) -> Transfer:
    """Every key becomes itself: its entries go all the way that those under other keys go."""
    found = {one: key_serializer_of(savepoint, one) for one in savepoint.operators}
    return Transfer(keys={one.id: KeyChange(KeyConversion(keys)) for one, keys in found.items() if keys is not None})


PAIRS = pytest.mark.parametrize(
    ("name", "changes"), [*((name, renamed) for name in NAMES), ("small_uid_p2_canonical", under_the_same_keys)]
)


@PAIRS
def test_several_processes_write_the_same_files(name: str, changes: object, tmp_path: Path) -> None:
    assert callable(changes)
    before = read_metadata(SAVED / name)
    transfer = changes(before)
    operators = {key.operator for key in keys(before)}
    alone, written = made(before, transfer, tmp_path / "alone")
    counted = count_entries(alone, operators)
    with (
        patch.object(crew, "MUCH", 0),
        patch.object(transferring, "write_states", lambda *given: write_states(*given, Crew(processes=3))),
        patch("tests.state.flink.test_transfer.write_states", lambda *given: write_states(*given, Crew(processes=3))),
    ):
        together, divided = made(before, transfer, tmp_path / "together")
        assert count_entries(together, operators, Crew(processes=3)) == counted
    assert divided.tally == written.tally
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


@PAIRS
def test_several_machines_write_the_same_files(name: str, changes: object, tmp_path: Path) -> None:
    assert callable(changes)
    before = read_metadata(SAVED / name)
    transfer = changes(before)
    alone, written = made(before, transfer, tmp_path / "alone")
    machine = partial(of_machine, before, transfer, str(tmp_path / "out"))
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(machine, (3, 2, 1)))
    assert found[-1] == (written.tally, count_entries(alone, {key.operator for key in keys(before)}))
    # One that was interrupted writes its share anew; of what it wrote before nothing stays.
    with unfinished_together(str(tmp_path / "out"), "shared", leads=True) as making:
        os.unlink(os.path.join(making.folder, "written.2"))
        assert machine(2)[0] == written.tally
        assert machine(1) == found[-1]
        making.finish()
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def of_machine(before: Savepoint, transfer: Transfer, out: str, number: int) -> tuple[Tally, Counter[StateKey]]:
    """What one of three machines is told."""
    mine = Crew(machine=number, machines=3)
    with unfinished_together(out, "shared", leads=False) as making:
        written = write_states(before, transfer, making.folder, mine)
        if mine.leads:
            making.take(with_references(read_draft(before), written.changes))
        mine.until(making.metadata)
        counted = count_entries(read_metadata(making.metadata), {key.operator for key in keys(before)}, mine)
    return written.tally, counted


def contents(folder: Path) -> Counter[bytes]:
    """The state files in a folder, whatever their names are."""
    found = [file for file in folder.iterdir() if file.name != "_metadata"]
    assert len(found) > 1
    assert all(file.is_file() for file in found)
    return Counter(file.read_bytes() for file in found)


def test_little_state_is_written_by_this_process_alone(tmp_path: Path) -> None:
    before = read_metadata(SAVED / NAMES[0])
    with patch.object(crew, "in_processes", wraps=crew.in_processes) as divided:
        write_states(before, renamed(before), str(tmp_path), Crew(processes=3))
    assert {call.args[2] for call in divided.call_args_list} == {1}


def test_a_killed_process_leaves_a_reason(tmp_path: Path) -> None:
    before = read_metadata(SAVED / NAMES[0])
    with patch.object(crew, "in_processes", side_effect=ProcessDied(-9)), pytest.raises(NotWritten) as caught:
        write_states(before, renamed(before), str(tmp_path))
    assert "its exit code is -9" in str(caught.value)
    assert "--processes 1" in caught.value.advice


def test_who_watches_is_told_the_bytes_that_are_written_and_read(tmp_path: Path) -> None:
    before = read_metadata(SAVED / NAMES[0])
    told = []

    def watch(doing: str, size: int, done: object) -> nullcontext[None]:
        assert callable(done)
        told.append((doing, size, done))
        return nullcontext()

    after, _ = made(before, renamed(before), tmp_path / "out")
    write_states(before, renamed(before), str(tmp_path), watch=watch)
    count_entries(after, {key.operator for key in keys(before)}, watch=watch)
    (writing, expected, written), (reading, there, read) = told
    assert (writing, reading) == ("Writing state", "Reading it back")
    assert written() == sum(file.stat().st_size for file in tmp_path.iterdir() if file.is_file())
    assert abs(written() - expected) < expected / 2
    assert read() == there == sum(subtask.size for one in after.operators for subtask in one.subtasks)
