"""Scanning the operator's folders for savepoints and checkpoints, periodically.

It looks every few seconds. The kernel's notifications miss changes on network file systems, where savepoints usually are. A
worker process reads only the changed files.
"""

from __future__ import annotations

import asyncio
import time

from sqlalchemy.exc import DataError

from compat.service import discovery
from compat.service.context import Service, blocking
from compat.service.pool import Size, WorkFailed
from compat.service.registry.savepoints import SeenSavepoint
from compat.service.telemetry import log


async def keep_scanning(parts: Service) -> None:
    """Scan now and then until cancelled. What goes wrong is logged, and tried again."""
    while parts.settings.folders:
        try:
            await scan(parts)
        except Exception as error:  # the cause may be gone at the next look
            log("scan", level="error", error=f"{type(error).__name__}: {error}"[:1000])
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
                timeout = parts.settings.files_timeout
                seen = await parts.pools.run(discovery.read, place, size=Size.FILES, timeout=timeout)
            except WorkFailed as error:
                seen = discovery.unreadable(place, str(error))
            await _keep(parts, place, seen)
    await blocking(registry.savepoints.gone, [id for id in known if id not in found])
    parts.metrics.savepoints.set(len(found))
    parts.metrics.scanned.set(time.time())
    return len(found)


async def _keep(parts: Service, place: discovery.Place, seen: SeenSavepoint) -> None:
    """Keep what was found; of what no database takes, that it is there."""
    put = parts.registry.savepoints.put
    try:
        await blocking(put, seen)
    except (DataError, ValueError, OverflowError) as error:
        log("scan", level="error", path=place.path, error=f"{type(error).__name__}: {error}"[:1000])
        await blocking(put, discovery.unreadable(place, "it holds what the registry's database does not take"))
