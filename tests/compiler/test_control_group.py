"""What a process may use, as the files of its control groups say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.compiler import control_group

GIBI = 1 << 30
MACHINE = {"proc/meminfo": f"MemTotal: {8 * GIBI // 1024} kB\nMemFree: 1 kB\nMemAvailable: {6 * GIBI // 1024} kB\n"}
GROUPS = "sys/fs/cgroup/"


@pytest.fixture(autouse=True)
def _eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_group, "_allowed", lambda: 8)


def made(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "cores", "memory", "available"),
    [
        pytest.param({}, 8, 8, 6, id="no limits"),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", GROUPS + "cpu.max": "150000 100000\n", GROUPS + "memory.max": str(GIBI)},
            1.5, 1, 1, id="a container, version 2",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", GROUPS + "cpu.max": "max 100000\n", GROUPS + "memory.max": "max\n"},
            8, 8, 6, id="version 2 without limits",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "0::/a.slice/job\n",
                GROUPS + "a.slice/cpu.max": "200000 100000", GROUPS + "a.slice/job/cpu.max": "400000 100000",
                GROUPS + "a.slice/memory.max": str(7 * GIBI), GROUPS + "a.slice/job/memory.max": "max",
            },
            2, 7, 6, id="the group around it has less",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/docker/1a\n4:memory:/docker/1a\n3:pids:/\n",
                GROUPS + "cpu/cpu.cfs_quota_us": "300000\n", GROUPS + "cpu/cpu.cfs_period_us": "100000\n",
                GROUPS + "memory/memory.limit_in_bytes": str(2 * GIBI),
            },
            3, 2, 2, id="a container, version 1",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/\n",
                GROUPS + "cpu/cpu.cfs_quota_us": "-1\n", GROUPS + "cpu/cpu.cfs_period_us": "100000\n",
                GROUPS + "memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            8, 8, 6, id="version 1 without limits",
        ),
    ],
)  # fmt: skip
def test_what_is_left(tmp_path: Path, files: dict[str, str], cores: float, memory: int, available: int) -> None:
    root = made(tmp_path, MACHINE | files)
    assert control_group.cores(root) == cores
    assert control_group.memory(root) == memory * GIBI
    assert control_group.available_memory(root) == available * GIBI


def test_nothing_tells(tmp_path: Path) -> None:
    assert control_group.cores(tmp_path) == 8
    assert control_group.memory(tmp_path) is None
    assert control_group.available_memory(tmp_path) is None


def test_this_machine() -> None:
    total = control_group.memory()
    assert control_group.cores() > 0
    assert total is not None
    assert 0 < (control_group.available_memory() or 0) <= total
