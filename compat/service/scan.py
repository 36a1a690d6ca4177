"""Scanning the operator's folders for savepoints and checkpoints, periodically.

A look every few seconds instead of the kernel's notifications, as these do not tell of changes on network file systems, where
savepoints usually are. Only what changed since is read, by a worker process.
"""

from __future__ import annotations

import asyncio
import time

from sqlalchemy.exc import SQLAlchemyError

from compat.service import discovery
from compat.service.context import Service, blocking
from compat.service.pool import Busy, WorkFailed
from compat.service.telemetry import log


async def keep_scanning(parts: Service) -> None:
    """Scan now and then until cancelled. What goes wrong is logged, and tried again."""
    while parts.settings.folders:
        try:
            await scan(parts)
        except (OSError, SQLAlchemyError, WorkFailed, Busy) as error:
            log("scan", level="error", error=str(error))
        await asyncio.sleep(parts.settings.scan_interval)


async def scan(parts: Service) -> int:
    """Scan all folders once; gives the number of savepoints."""
    registry = parts.registry
    known = await blocking(registry.savepoints.fingerprints)
    found: set[str] = set()
    for folder in parts.settings.folders:
        for place in await blocking(discovery.places, folder):
            found.add(place.id)
            if known.get(place.id) == place.fingerprint:
                continue
            try:
                seen = await parts.pools.run(discovery.read, place, size=parts.settings.heavy_body)
            except WorkFailed as error:
                seen = discovery.unreadable(place, str(error))
            await blocking(registry.savepoints.put, seen)
    await blocking(registry.savepoints.gone, [id for id in known if id not in found])
    parts.metrics.savepoints.set(len(found))
    parts.metrics.scanned.set(time.time())
    return len(found)
