"""The memory that the service needs."""

from __future__ import annotations

from compat.service.caches import ANSWERS, ENTRY, MEGABYTE, PAGES, PLANS, REPORTS, VERSIONS
from compat.service.settings import ServiceSettings

KEPT = PAGES + ANSWERS + REPORTS + PLANS + VERSIONS * ENTRY
"""The maximum bytes of the server's caches."""

BARE = 90 * MEGABYTE
"""The bytes of the server's process at its start."""

SERVER, PROCESS = 2 * KEPT + BARE, 150 * MEGABYTE
"""The server's process, as what is kept is replaced all the time and lies scattered, and a process for small work."""

BYTES_A_BYTE = 25
"""The bytes of memory that reading a body and checking its plans takes, per byte of the body."""


def lacking(settings: ServiceSettings, available: int | None) -> list[str]:
    """The lack of memory, in words: of ``available`` bytes (None: not known), and of the bytes that a process may take."""
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
