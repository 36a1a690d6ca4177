"""Work in other processes: bounded in time and memory, the heavy apart from the light."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from compat.service import discovery
from compat.service.body import BodyRefused
from compat.service.context import work
from compat.service.database import Database
from compat.service.pool import Busy, Pools, Size, WorkFailed
from compat.service.settings import Folder, ServiceSettings
from compat.service.shares import Client, Shares
from tests.compat.service.running import OLD, ROOT, plan
from tests.compat.service.stores import job_store

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


ANN, BOB, EVE = Client("ann", True), Client("bob", True), Client("10.0.0.1", False)


def in_pools(settings, story):
    """Run ``story(pools)`` with processes that have started."""

    async def run():
        pools = Pools(settings)
        try:
            await pools.start()
            return await asyncio.wait_for(story(pools), 60)
        finally:
            await asyncio.to_thread(pools.close)

    return asyncio.run(run())


def test_clients_take_turns(settings):
    async def story(pools):
        order = []

        async def ask(client, number):
            await pools.run(time.sleep, 0.01, size=0, client=client)
            order.append((client.name, number))

        many = [asyncio.create_task(ask(ANN, number)) for number in range(20)]
        await asyncio.sleep(0)
        await asyncio.gather(*many, *(asyncio.create_task(ask(BOB, number)) for number in range(2)))
        return order

    order = in_pools(settings, story)
    assert order.index(("bob", 1)) < 8  # and not behind the twenty of ann
    assert [number for name, number in order if name == "ann"] == list(range(20))


def test_no_client_fills_a_lane(settings):
    async def story(pools):
        waiting = [asyncio.create_task(pools.run(time.sleep, 0.02, size=Size.LARGE, client=ANN)) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await pools.run(time.sleep, 0, size=Size.LARGE, client=ANN)
        await pools.run(time.sleep, 0, size=Size.LARGE, client=BOB)
        await asyncio.gather(*waiting)
        await pools.run(time.sleep, 0, size=Size.LARGE, client=ANN)

    in_pools(settings, story)


def test_those_without_a_token_have_half_of_it_together():
    shares = Shares(most=16, of_one=4)
    addresses = [Client(f"10.0.0.{number}", False) for number in range(16)]
    assert [shares.take(address) for address in addresses] == [True] * 8 + [False] * 8
    assert all(shares.take(ANN) for _ in range(4))
    assert not shares.take(ANN)
    assert all(shares.take(BOB) for _ in range(4))
    assert not shares.take(Client("late", True))
    shares.give(addresses[0])
    assert not shares.take(ANN)
    assert shares.take(addresses[15])
    assert shares.total == 16


def test_what_nobody_waits_for_is_dropped(settings, tmp_path):
    async def story(pools):
        running = asyncio.create_task(pools.run(time.sleep, 60, size=0, client=ANN))
        marks = [tmp_path / str(number) for number in range(3)]
        waiting = [asyncio.create_task(pools.run(os.mkdir, str(mark), size=0, client=ANN)) for mark in marks]
        await asyncio.sleep(0.2)
        for task in (running, *waiting[:2]):
            task.cancel()
        started = time.monotonic()
        await waiting[2]  # the process that slept for the first has ended
        assert time.monotonic() - started < 30
        assert pools.waiting == 0
        return [mark.exists() for mark in marks]

    assert in_pools(settings.__class__(**{**_fields(settings), "check_timeout": 300.0}), story) == [False, False, True]


def _fields(settings):
    return {name: getattr(settings, name) for name in settings.__slots__}


@pytest.mark.parametrize("late", [False, True])
def test_a_process_that_is_free_goes_to_one_who_still_waits(settings, late):
    """A task is cancelled in the moment in which a process becomes free: before it gets its turn, or behind."""

    async def story(pools):
        lane = pools._lanes[Size.SMALL]
        running = asyncio.create_task(pools.run(time.sleep, 0.3, size=0, client=ANN))
        await asyncio.sleep(0.05)
        first, second = (asyncio.create_task(pools.run(len, "ab", size=0, client=who)) for who in (ANN, BOB))
        await asyncio.sleep(0.05)
        give = lane._next

        def meanwhile():
            lane._next = give
            if late:
                give()
                first.cancel()
            else:
                first.cancel()
                give()

        lane._next = meanwhile
        assert await second == 2
        with pytest.raises(asyncio.CancelledError):
            await first
        await running
        await asyncio.sleep(0.1)
        assert (lane._free, lane.shares.total, pools.waiting) == (1, 0, 0)
        assert await pools.run(len, "abc", size=0) == 3

    in_pools(settings, story)


def test_a_client_that_left_has_no_work_left(settings):
    async def story(pools):
        left = asyncio.Event()

        async def receive():
            await left.wait()
            return {"type": "http.disconnect"}

        app = SimpleNamespace(state=SimpleNamespace(service=SimpleNamespace(pools=pools)))
        request = SimpleNamespace(app=app, receive=receive, scope={"client": ("10.0.0.1", 1)})
        assert await work(request, len, "abc", size=0) == 3
        asked = asyncio.create_task(work(request, time.sleep, 60, size=0))
        await asyncio.sleep(0.2)
        left.set()
        with pytest.raises(BodyRefused, match="went away"):
            await asked
        assert await pools.run(len, "abcd", size=0, client=BOB) == 4

    in_pools(settings.__class__(**{**_fields(settings), "check_timeout": 300.0}), story)


def test_a_file_that_nobody_writes_holds_up_nothing(settings, tmp_path):
    store = job_store(tmp_path / "folder" / "job", plan(*OLD), (1, 2))
    [commit] = (store / "state" / "_delta_log").glob("*1.json")
    commit.unlink()
    os.mkfifo(commit)
    [place] = discovery.places(Folder(os.path.realpath(tmp_path / "folder")))

    async def story(pools):
        reading = asyncio.create_task(pools.run(discovery.read, place, size=Size.FILES, timeout=3.0))
        await asyncio.sleep(0.1)
        assert await pools.run(len, "abc", size=settings.huge_body) == 3
        with contextlib.suppress(WorkFailed):
            assert (await reading).status
        assert await pools.run(len, "abcd", size=Size.FILES) == 4

    in_pools(settings, story)


PARENT = """
import asyncio, sys, time
from compat.service.pool import Pools
from compat.service.settings import ServiceSettings

async def run():
    pools = Pools(ServiceSettings(database=sys.argv[1], workers=1))
    await pools.start()
    print("ready", flush=True)
    await pools.run(time.sleep, 600, size=0)

if __name__ == "__main__":
    asyncio.run(run())
"""


def test_a_process_at_work_ends_with_a_killed_server(settings, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), settings.database]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        assert children
        parent.send_signal(signal.SIGKILL)
        parent.wait(30)
    end = time.monotonic() + 20
    while any(alive(child) for child in children):
        assert time.monotonic() < end, children
        time.sleep(0.1)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
