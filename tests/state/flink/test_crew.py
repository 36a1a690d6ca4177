"""Work that machines share through a folder: each gets the results of all, and does its own tasks once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compat.state.flink import NotWritten
from compat.state.flink.crew import Crew, Phase, write_whole
from compat.state.flink.header_parts import StateKey
from compat.state.flink.tally import Tally

DONE: Counter[tuple[str, int]] = Counter()


def tallied(number: int) -> Tally:
    DONE["tallied", number] += 1
    return Tally(written=Counter({StateKey("ab" * 16, "s", keyed=True): number}))


def phase(last: bool = False) -> Phase[int, Tally]:
    return Phase("tallied", tallied, Tally, 0, last)


def test_every_machine_gets_the_results_of_all_tasks(tmp_path: Path) -> None:
    DONE.clear()
    crews = [Crew(machine=number, machines=3) for number in (3, 2, 1)]
    for _ in range(2):  # those that are started again do nothing twice
        with ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda crew: sorted(crew.results(phase(), range(7), str(tmp_path))), crews))
        expected = [(n, tallied(n)) for n in range(7)]
        assert [[(one.task, one.result) for one in each] for each in found] == [expected] * 3
        DONE.subtract({("tallied", n): 1 for n in range(7)})
    assert set(DONE.values()) == {1}


def test_of_the_last_phase_only_the_leader_waits_for_the_others(tmp_path: Path) -> None:
    second, first = Crew(machine=2, machines=2), Crew(machine=1, machines=2)
    assert [one.task for one in second.results(phase(last=True), range(5), str(tmp_path))] == [1, 3]
    assert sorted(one.task for one in first.results(phase(last=True), range(5), str(tmp_path))) == [0, 1, 2, 3, 4]
    assert first.leads
    assert not second.leads


def test_a_crew_of_one_machine_leaves_nothing(tmp_path: Path) -> None:
    assert [one.task for one in Crew().results(phase(), range(2), str(tmp_path))] == [0, 1]
    assert list(tmp_path.iterdir()) == []


def test_who_waits_is_told_that_the_leader_has_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    with pytest.raises(NotWritten) as caught:
        Crew(machine=2, machines=2).until(str(folder / "metadata"))
    assert "machine 1 has given up" in str(caught.value)


def test_a_file_is_there_as_a_whole(tmp_path: Path) -> None:
    write_whole(str(tmp_path / "file"), b"first")
    write_whole(str(tmp_path / "file"), b"second")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", b"second")]
