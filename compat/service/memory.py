"""What memory there is, and what the service needs."""

from __future__ import annotations

import os
from pathlib import Path

from compat.service.settings import ServiceSettings

MEGABYTE = 1024 * 1024
SERVER, PROCESS = 400 * MEGABYTE, 150 * MEGABYTE
"""The server itself, with what it keeps for the next who asks, and a process for small work."""

BYTES_A_BYTE = 25
"""Reading a body and checking its plans takes so many times its size."""

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def lacking(settings: ServiceSettings, available: int | None) -> list[str]:
    """What is too little, in words: of the bytes that are ``available`` (None: not known), of those that a process may take."""
    told = []
    largest = settings.max_body * BYTES_A_BYTE
    if settings.worker_memory < min(largest, 3 * 1024 * MEGABYTE):
        told.append(
            f"A process may take {settings.worker_memory // MEGABYTE} MB, and the largest body "
            f"({settings.max_body // MEGABYTE} MB) up to {largest // MEGABYTE} MB: raise --worker-memory, or lower --max-body."
        )
    processes = settings.workers + max(1, settings.workers // 2) + 2
    needed = SERVER + processes * PROCESS
    if available is not None and available < needed:
        told.append(
            f"There are {available // MEGABYTE} MB of memory, and {needed // MEGABYTE} MB are needed for "
            f"{processes} processes: lower --workers."
        )
    return told


def available() -> int | None:
    """The memory in bytes that this machine, or the control group we are in, has to give; None where nothing tells."""
    amounts = []
    for path in _CGROUPS:
        text = _text(path).strip()
        if text.isdigit():
            amounts.append(int(text))
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            amounts.append(int(line.split()[1]) * 1024)
    return min(amounts, default=None)


def _text(path: str) -> str:
    try:
        return Path(path).read_text() if os.path.exists(path) else ""
    except OSError:
        return ""
