"""What memory the service needs."""

from __future__ import annotations

from compat.service.caches import ANSWERS, ENTRY, MEGABYTE, PAGES, PLANS, REPORTS, VERSIONS
from compat.service.settings import ServiceSettings

KEPT = PAGES + ANSWERS + REPORTS + PLANS + VERSIONS * ENTRY
"""All that the server keeps for the next who asks, when it is full."""

BARE = 90 * MEGABYTE
"""The server's process when it has just begun."""

SERVER, PROCESS = 2 * KEPT + BARE, 150 * MEGABYTE
"""The server's process, as what is kept is replaced all the time and lies scattered, and a process for small work."""

BYTES_A_BYTE = 25
"""Reading a body and checking its plans takes so many times its size."""


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
