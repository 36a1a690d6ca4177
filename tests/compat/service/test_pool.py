"""Work in other processes: bounded in time and memory, the heavy apart from the light."""

from __future__ import annotations

import asyncio
import time

import pytest

from compat.service.database import Database
from compat.service.pool import Busy, Pools, WorkFailed
from compat.service.settings import ServiceSettings

MEGABYTE = 1024 * 1024


@pytest.fixture
def settings(tmp_path):
    Database(f"sqlite:///{tmp_path}/compat.db").migrate()
    return ServiceSettings(
        database=f"sqlite:///{tmp_path}/compat.db", workers=1, check_timeout=3.0, worker_memory=1024 * MEGABYTE
    )


def test_work_is_bounded_and_goes_on_after_it_failed(settings, monkeypatch):
    async def run():
        pools = Pools(settings)
        try:
            await pools.start()
            slow = asyncio.create_task(pools.run(time.sleep, 60, size=settings.heavy_body))
            started = time.monotonic()
            assert await pools.run(len, "abc", size=10) == 3  # not held up by what is heavy
            assert not slow.done()
            with pytest.raises(WorkFailed, match="longer than 3 seconds"):
                await slow
            assert time.monotonic() - started < 30
            with pytest.raises(WorkFailed, match="memory"):
                await pools.run(bytearray, 2048 * MEGABYTE, size=10)
            with pytest.raises(ZeroDivisionError):
                await pools.run(divmod, 1, 0, size=10)
            assert await pools.run(len, "abcd", size=settings.heavy_body) == 4
            assert pools.waiting == 0
            monkeypatch.setattr("compat.service.pool.MOST_WAITING", 0)
            with pytest.raises(Busy):
                await pools.run(len, "abc", size=10)
        finally:
            await asyncio.to_thread(pools.close)

    asyncio.run(run())
