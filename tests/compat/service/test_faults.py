"""Faults: acknowledged writes are there, none is half there, after power cuts, full disks, locked databases, two servers."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, text

from compat.service.database import Database
from compat.service.registry import Registry
from compat.service.registry.packing import canonical, digest_of
from tests import needs
from tests.compat.service.running import JSON, make_tokens, plans_text, serve
from tests.needs import Need

INITDB = shutil.which("initdb") or "/usr/local/bin/initdb"
PG_CTL = shutil.which("pg_ctl") or "/usr/local/bin/pg_ctl"


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """The URL of a PostgreSQL server of its own, which is asked to keep what it acknowledges."""
    if not os.path.exists(INITDB) or not os.path.exists(PG_CTL):
        needs.without(Need.POSTGRESQL)
    base = tmp_path_factory.mktemp("pg")
    data, as_user = base / "data", []
    if os.geteuid() == 0:  # the server refuses to run as root
        for folder in (base, *base.parents[:3]):
            folder.chmod(folder.stat().st_mode | 0o055)
        shutil.chown(base, "nobody")
        as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        if shutil.which("setpriv") is None:
            needs.without(Need.POSTGRESQL, "it does not run as root, and there is no setpriv")

    def run(*command):
        done = subprocess.run([*as_user, *command], capture_output=True, text=True, cwd="/", timeout=120, check=False)
        if done.returncode:
            needs.without(Need.POSTGRESQL, f"it does not start: {done.stdout}{done.stderr}")

    run(INITDB, "-D", str(data), "-U", "compat", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
    options = f"-c listen_addresses='' -c unix_socket_directories='{base}' -c max_connections=60"
    run(PG_CTL, "-D", str(data), "-w", "-l", str(base / "log"), "-o", options, "start")
    yield f"postgresql://compat@/postgres?host={base}"
    stop = [*as_user, PG_CTL, "-D", str(data), "-m", "immediate", "stop"]
    subprocess.run(stop, capture_output=True, cwd="/", timeout=120, check=False)


@pytest.fixture
def postgres_database(postgres):
    """An empty database of that server."""
    name = f"d{random.getrandbits(60):x}"
    engine = create_engine(postgres.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgres.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The URL of an empty database, of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_database")
    return f"sqlite:///{tmp_path}/compat.db"


def push_body(number):
    return f'{{"plan": {plans_text("count", f"n{number % 5}")}, "commit": "{number}"}}'


def check_whole(database, acknowledged):
    """Every acknowledged version is there, versions are numbered without a gap, and each has its whole plan."""
    registry = Registry(Database(database))
    try:
        for job in registry.jobs.all():
            versions = registry.jobs.versions(job.name, limit=10_000)
            assert [one.number for one in versions] == list(range(len(versions), 0, -1))
            for version in versions:
                assert digest_of(canonical(json.loads(registry.plans.text(version.plan.digest)))) == version.plan.digest
            commits = {one.number: one.commit for one in versions}
            told = acknowledged.get(job.name, {})
            assert {number: commits.get(number) for number in told} == told
        for check in registry.checks.list(limit=1000):
            assert registry.checks.report(check.id)["verdict"] == check.verdict
    finally:
        registry.database.close()
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def push_until_killed(running, numbers, acknowledged, threads=3):
    """Push versions of several jobs, and checks between them, until the server is gone."""

    def work(job):
        headers = {**JSON, "Authorization": f"Bearer {running.tokens['push']}"}
        with httpx.Client(base_url=f"{running.url}/api/v1", headers=headers, timeout=30) as client:
            for _ in range(10_000):
                number = next(numbers)
                try:
                    answer = client.post(f"/jobs/{job}/versions", content=push_body(number))
                    if answer.status_code == 201:
                        acknowledged.setdefault(job, {})[answer.json()["number"]] = str(number)
                    body = f'{{"old": {{"job": "{job}", "version": 1}}, "new": {{"plan": {plans_text("count")}}}}}'
                    client.post("/checks", content=body)
                except httpx.HTTPError:
                    return

    workers = [threading.Thread(target=work, args=(f"job{number}",)) for number in range(threads)]
    for worker in workers:
        worker.start()
    return workers


def count(acknowledged):
    return sum(map(len, list(acknowledged.values())))


def kill_often(tmp_path, database, times):
    tokens, acknowledged, numbers = make_tokens(database), {}, itertools.count()
    pick = random.Random(7)
    for _ in range(times):
        running = serve(tmp_path, database=database, tokens=tokens)
        before = count(acknowledged)
        workers = push_until_killed(running, numbers, acknowledged)
        end = time.monotonic() + 60
        while count(acknowledged) < before + 3 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(pick.uniform(0, 0.3))
        running.kill()
        for worker in workers:
            worker.join(60)
        check_whole(database, acknowledged)
    assert count(acknowledged) >= 3 * times


def test_a_killed_server_keeps_what_it_acknowledged(tmp_path, database):
    kill_often(tmp_path, database, 1)


@pytest.mark.slow
def test_a_server_killed_thirty_times_keeps_what_it_acknowledged(tmp_path, database):
    kill_often(tmp_path, database, 30)


def test_nothing_outlives_a_killed_server(tmp_path):
    running = serve(tmp_path)
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
    running.kill()
    end = time.monotonic() + 30
    while any(_alive(child) for child in children):
        assert time.monotonic() < end, children
        time.sleep(0.1)


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path):
    def no_file_beyond_a_megabyte():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    running = serve(tmp_path, preexec_fn=no_file_beyond_a_megabyte)
    acknowledged, statuses = {}, []
    client = running.client("push")
    for number in range(400):
        names = "".join(random.Random(number).choices("abcdefghijklmnop", k=4000))
        answer = client.post(
            "/jobs/job/versions",
            content=f'{{"plan": {plans_text("count", names)}, "commit": "{number}"}}',
            headers=JSON,
        )
        statuses.append(answer.status_code)
        if answer.status_code == 201:
            acknowledged[answer.json()["number"]] = str(number)
        elif statuses.count(503) > 5:
            break
    assert set(statuses) == {201, 503}
    assert answer.headers["retry-after"]
    assert client.get("/jobs/job/versions").json()["versions"][0]["number"] == max(acknowledged)
    assert running.process.poll() is None
    running.stop()
    check_whole(running.database, {"job": acknowledged})
    roomy = serve(tmp_path, tokens=running.tokens)
    assert roomy.push("job", "count").status_code == 201
    roomy.stop()


def test_a_locked_database_is_told_in_time_and_reading_goes_on(tmp_path):
    running = serve(tmp_path)
    try:
        running.push("job", "count")
        with closing(sqlite3.connect(running.database.removeprefix("sqlite:///"), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            started = time.monotonic()
            answer = running.push("job", "count", commit="two")
            assert answer.status_code == 503
            assert time.monotonic() - started > 4
            assert "Nothing was recorded" in answer.json()["detail"]
            assert running.client("read").get("/jobs/job").json()["versions"] == 1
            other.execute("ROLLBACK")
        assert running.push("job", "count", commit="two").json()["number"] == 2
    finally:
        running.stop()


def test_two_servers_share_a_database(tmp_path, database):
    """They start on an empty one at the same time, push to the same job, and promote against each other."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    started, failed = {}, []

    def start(folder):
        try:
            started[folder] = serve(folder, database=database, tokens={"none": ""})
        except AssertionError as error:
            failed.append(error)

    starting = [threading.Thread(target=start, args=(folder,)) for folder in folders]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    assert not failed, failed
    servers = list(started.values())
    try:
        tokens = make_tokens(database)
        for server in servers:
            server.tokens = tokens
        acknowledged, numbers = {}, itertools.count()
        lock = threading.Lock()

        def push_some(server):
            with httpx.Client(base_url=f"{server.url}/api/v1", timeout=60) as client:
                for _ in range(15):
                    with lock:
                        number = next(numbers)
                    headers = {**JSON, "Authorization": f"Bearer {tokens['push']}"}
                    answer = client.post("/jobs/shared/versions", content=push_body(number), headers=headers)
                    assert answer.status_code == 201, answer.text
                    with lock:
                        assert answer.json()["number"] not in acknowledged
                        acknowledged[answer.json()["number"]] = str(number)

        pushing = [threading.Thread(target=push_some, args=(server,)) for server in servers for _ in range(2)]
        for thread in pushing:
            thread.start()
        for thread in pushing:
            thread.join()
        assert sorted(acknowledged) == list(range(1, 61))
        check_whole(database, {"shared": acknowledged})
        assert servers[0].promote("shared", version=60).status_code == 200
        assert servers[1].client("read").get("/jobs/shared").json()["current"]["number"] == 60
    finally:
        for server in servers:
            server.stop()
