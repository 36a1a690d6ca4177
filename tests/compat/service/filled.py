"""A service with something to look at: two jobs, checks, savepoints of Flink, a job and a savepoint on Spark."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from compat.state.delta.log import SnapshotLog
from compat.state.delta.savepoint import LogState, write_savepoint
from tests.compat.service.running import OLD, RENUMBERED, ROOT, Running, plan, serve
from tests.compat.service.stores import job_store

SAVEPOINT = ROOT / "tests" / "golden" / "savepoints" / "windows_no_uid_p3_canonical"
RECORDS = (100, 220, 180, 300)
UNREGISTERED = "nobody pushed: me"
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


def filled(folder: Path, *options: str) -> Running:
    """Start it; what it holds is below ``folder``."""
    store = folder / "store"
    now = int(time.time() * 1000)
    job_store(
        store / "jobs" / "6f2c", plan(*OLD), RECORDS, [now - 60_000 + 100 * epoch for epoch in range(len(RECORDS))]
    )
    log = SnapshotLog.open(str(store / "jobs" / "6f2c" / "state"))
    write_savepoint(
        LogState.of(log), store / "savepoints" / "savepoint-6f2c", {"job_id": "6f2c", "epoch": log.epoch}, plan(*OLD)
    )
    shutil.copytree(SAVEPOINT, store / "flink" / "windows")
    broken = store / "flink" / "broken"
    broken.mkdir()
    (broken / "_metadata").write_bytes(b"\x00\x01")
    job_store(store / "jobs" / "linked", plan(*OLD), (1, 2))
    (store / "jobs" / "linked" / "state").rename(folder / "elsewhere")
    (store / "jobs" / "linked" / "state").symlink_to(folder / "elsewhere")
    stray = job_store(store / "jobs" / "stray", plan(*OLD), (1, 2))
    _point_outside(stray / "state")
    job_store(store / "jobs" / "loner", plan(*OLD), (1, 2), name=UNREGISTERED)
    job_store(store / "jobs" / "odd", plan(*OLD), (1, 2), name=f"a/{HOSTILE}")
    running = serve(folder, "--folder", str(store), *options)
    for job, new in (("word count", RENUMBERED), ("orders", OLD)):
        assert running.push(job, *OLD, commit="0a1b2c3d4e5f", author="ada").is_success
        assert running.promote(job).is_success
        assert running.push(job, *new, commit="9f8e7d6c", author=HOSTILE).is_success
        body = {"old": {"job": job}, "new": {"plan": plan(*new), "label": "job.py"}, "record": True}
        assert running.client("push").post("/checks", json=body).status_code == 201
    assert running.client("admin").post("/savepoints/scan").is_success
    told = {"resource": "FlinkDeployment streams/words", "version": None, "check": 1, "message": "Nobody knows it."}
    running.registry.audit.admitted("word count", outcome="undecided", **told)
    return running


def _point_outside(table: Path) -> None:
    """Make the table's first commit name a file above it."""
    for commit in (table / "_delta_log").glob("*.json"):
        text = commit.read_text()
        name = next((path.name for path in table.glob("*.parquet") if path.name in text), None)
        if name is not None:
            (table / name).rename(table.parent / name)
            commit.write_text(text.replace(f'"path":"{name}"', f'"path":"../{name}"'))
            return
