"""Work in several processes: all of it is done, what fails is raised here, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compat.state.flink import NotWritten
from compat.state.flink.processes import ProcessDied, in_processes


def squared(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def refusing(number: int) -> int:
    if number == 3:
        raise NotWritten("no", path="a/_metadata", offset=7, why="three", advice="Take four.")
    return number


def killed(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def waiting(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(600)


@pytest.mark.parametrize(("processes", "used"), [(1, 1), (2, 2), (9, 5)])
def test_every_task_is_done_once_and_shared_out(processes: int, used: int) -> None:
    found = list(in_processes(squared, range(5), processes))
    assert sorted((one.task, one.result[0]) for one in found) == [(n, n * n) for n in range(5)]
    pids = {one.result[1] for one in found}
    assert len(pids) == used
    assert (os.getpid() in pids) == (used == 1)


def test_no_tasks_need_no_process() -> None:
    assert list(in_processes(squared, [], 4)) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_raised_here_as_it_was_there(processes: int) -> None:
    with pytest.raises(NotWritten) as caught:
        list(in_processes(refusing, range(5), processes))
    assert str(caught.value) == "a/_metadata, byte 7: no (three). Take four."


def test_a_killed_process_is_told() -> None:
    with pytest.raises(ProcessDied) as caught:
        list(in_processes(killed, range(5), 2))
    assert caught.value.code == -signal.SIGKILL


def test_whoever_stops_listening_ends_the_processes(tmp_path: Path) -> None:
    work = in_processes(mostly_waiting, [tmp_path, tmp_path / "none"], 2)
    assert next(work).task == tmp_path / "none"
    until(lambda: len(os.listdir(tmp_path)) == 1)
    work.close()
    until(lambda: not alive(tmp_path))


def mostly_waiting(folder: Path) -> None:
    if folder.exists():
        waiting(folder)


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from compat.state.flink.processes import in_processes; "
        "from tests.state.flink.test_processes import waiting; list(in_processes(waiting, [Path(sys.argv[1])] * 2, 2))"
    )
    root = Path(__file__).parents[3]
    started = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=root)
    try:
        until(lambda: len(os.listdir(tmp_path)) == 2)
    finally:
        started.kill()
        started.wait()
    until(lambda: not alive(tmp_path))


def alive(folder: Path) -> list[str]:
    """The processes that have left their numbers in a folder, as far as they run."""
    return [name for name in os.listdir(folder) if running(int(name))]


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
