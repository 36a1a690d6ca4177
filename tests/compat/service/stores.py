"""A job's store as the runtime on Spark leaves it, made without Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row, write_rows

OPERATOR = "0123456789abcdef0123456789abcdef"


def job_store(
    folder: Path,
    plan: dict[str, Any],
    records: Sequence[int],
    marks: Sequence[int | None] = (),
    name: str = "word count",
) -> Path:
    """The directory of a job that committed an epoch for each of ``records``, with a watermark for each of ``marks``."""
    folder.mkdir(parents=True)
    log = SnapshotLog.create(str(folder / "state"))
    for epoch, count in enumerate(records, start=1):
        rows = [
            Row(OPERATOR, Kind.VALUE, group, "count", b"k%d" % (epoch * 1000 + group), b"", b"", b"%d" % group)
            for group in range(count)
        ]
        files = [write_rows(log.path, rows, epoch)]
        mark = marks[epoch - 1] if epoch <= len(marks) else None
        if mark is not None:
            row = Row(OPERATOR, Kind.OPERATOR, NO_KEY_GROUP, "watermark", b"", b"", b"", b"%d" % mark)
            files.append(write_rows(log.path, [row], epoch))
        assert log.commit(epoch, files, {"token": f"t{epoch}", "records": count})
    entry = {"job_id": folder.name, "name": name, "status": "RUNNING", "pid": 1, "started": time.time() - 60}
    metrics = [
        {"operator_id": OPERATOR, "name": "count", "metrics": {"sizes": {"sum": 6, "count": 2, "min": 1, "max": 5}}}
    ]
    told = {"epoch": len(records), "records": sum(records), "metrics": metrics}
    (folder / "job.json").write_text(json.dumps(entry | told))
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder
