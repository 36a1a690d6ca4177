"""The processors and the memory that this process may use: those of the machine, and what its control groups leave of them.

A container is a control group. Its limits, and those of the groups around it, are files below ``/sys/fs/cgroup``. Version 2 has
one tree, version 1 a tree for each kind of resource.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/")


def cores(root: Path = _ROOT) -> float:
    """The processors that this process may keep busy; a quota may give a part of one."""
    found = [float(_allowed())]
    for folder in _groups(root, "cpu"):
        quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
        if not period:
            quota, period = (_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
        if quota.isdigit() and period.isdigit() and int(period):  # no limit is "max", in version 1 -1
            found.append(int(quota) / int(period))
    return min(found)


def memory(root: Path = _ROOT) -> int | None:
    """The bytes of memory of the machine, or of the control group if that is less; None if unknown."""
    return min([*_limits(root), *_of_machine(root, "MemTotal")], default=None)


def available_memory(root: Path = _ROOT) -> int | None:
    """The bytes of memory that are there to be taken now, but no more than the control group may have."""
    return min([*_limits(root), *_of_machine(root, "MemAvailable")], default=None)


def _limits(root: Path) -> Iterator[int]:
    for folder in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _text(folder / name).strip()
            if text.isdigit():
                yield int(text)


def _groups(root: Path, kind: str) -> Iterator[Path]:
    """The folders of this process's control group and those around it, in both versions.

    In a container, the process is told a path that is only on the host; its own group is mounted as the outermost one there.
    """
    for line in _text(root / "proc/self/cgroup").splitlines() or ["0::/"]:
        number, kinds, path = line.split(":", 2)
        if number != "0" and kind not in kinds.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("" if number == "0" else kind)
        inner = top / path.lstrip("/")
        yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(top))


def _of_machine(root: Path, name: str) -> list[int]:
    lines = _text(root / "proc/meminfo").splitlines()
    return [int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")]


def _allowed() -> int:
    """How many processors the scheduler may put this process on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""
