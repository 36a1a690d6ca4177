"""Exports the registry regularly, in a separate process, as a large one takes a while."""

from __future__ import annotations

import asyncio
import os
import sys
import time

from compat.service.context import Service
from compat.service.telemetry import log


async def keep_backing_up(parts: Service) -> None:
    """Export regularly until cancelled. Errors are logged, and the export is repeated later."""
    while parts.settings.backup is not None:
        try:
            await _export(parts, parts.settings.backup)
        except OSError as error:
            log("backup", level="error", error=str(error))
        await asyncio.sleep(parts.settings.backup_interval)


async def _export(parts: Service, path: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "compat", "registry", "export", path),
        env={**os.environ, "COMPAT_DATABASE": parts.settings.database},  # a password is no argument that others see
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode == 0:
        parts.metrics.backed_up.set(time.time())
        log("backup", path=path)
    else:
        log("backup", level="error", path=path, error=errors.decode("utf-8", "replace")[-1000:])
