"""Restores pairs of SQL scripts in Flink, in the interpreter of a PyFlink: ``python restore.py < PAIRS > RECORDS``.

Each line of the standard input is ``{"old": SCRIPT, "new": SCRIPT}``, and each line of the output what became of it. OLD runs
for a while and is stopped with a savepoint; NEW starts from it and runs to its end; and NEW runs once more from the beginning.
The tables are sequences, and OLD and NEW read the same rows: what stands at the end of the restored run has to stand at the
end of the whole one, or the state was not what NEW takes it for.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

_ROW = re.compile(r"^o> ([+-][IUD])\[(.*)\]$")
_RATE = re.compile(r"'rows-per-second' = '\d+'")
_SLOWLY, _FAST = "'rows-per-second' = '25'", "'rows-per-second' = '1000'"
"""How fast tables are read by OLD, which has to be stopped before their end, and by NEW."""
_RUNS, _UNSEEN = 1.5, 3.0
"""Seconds that OLD runs behind its first row, or at all where none comes, of the about five that its tables last."""
_PATIENCE = 60.0
_END = "is shutting down"
"""What is in a cause that is none: the cluster of a failed job ends."""
_STATEMENT = re.compile(r";\s*\n")


def main() -> None:
    """Restore the pairs, one after the other, in one JVM, whose output goes to a file of its own."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    answers = os.dup(1)
    with tempfile.TemporaryDirectory() as folder:
        out = os.open(f"{folder}/out", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        for line in sys.stdin:
            record = _restored(json.loads(line), Path(folder))
            os.write(answers, (json.dumps(record) + "\n").encode())


def _restored(pair: dict[str, Any], folder: Path) -> dict[str, Any]:
    try:
        savepoint, _ = _run(pair["old"], folder, stop=True)
    except Exception as error:  # what Flink says of OLD decides about nothing
        return {"outcome": "no savepoint", "error": _said(error)}
    if savepoint is None:
        return {"outcome": "no savepoint", "error": "the job ended before"}
    try:
        _, behind = _run(pair["new"], folder, savepoint=savepoint)
    except Exception as error:
        return {"outcome": "failed", "error": _said(error)}
    try:
        _, whole = _run(pair["new"], folder)
    except Exception as error:
        return {"outcome": "no new", "error": _said(error)}
    strange = Counter(_standing(behind)) - Counter(_standing(whole))
    return {"outcome": "other rows" if strange else "restored", "rows": len(behind), "strange": sorted(strange)[:5]}


def _run(
    script: str, folder: Path, savepoint: str | None = None, *, stop: bool = False
) -> tuple[str | None, list[tuple[str, str]]]:
    """A run of a script: the savepoint that it was stopped with, and the rows that it printed."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    mark = (folder / "out").stat().st_size
    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table.get_config().set("parallelism.default", "1")
    table.get_config().set("restart-strategy.type", "none")
    if savepoint is not None:
        table.get_config().set("execution.state-recovery.path", savepoint)
    *before, insert = _STATEMENT.split(_RATE.sub(_SLOWLY if stop else _FAST, script).strip().removesuffix(";"))
    for statement in before:
        for one in statement.split("; SET"):
            one = one if one.startswith(("SET", "CREATE")) else f"SET{one}"
            if found := re.fullmatch(r"SET '(.*)' = '(.*)'", one.strip()):
                table.get_config().set(found[1], found[2])
            else:
                table.execute_sql(one)
    job = table.execute_sql(insert).get_job_client()
    at = None
    if stop:
        _until_running(job)
        _until_rows(folder / "out", mark)
        time.sleep(_RUNS)
        at = _savepoint(job, folder)
    else:
        job.get_job_execution_result().result()
    return at, _rows(folder / "out", mark)


def _savepoint(job: Any, folder: Path) -> str:
    """Stop a job with a savepoint. PyFlink's own method calls one that Flink no longer has."""
    from pyflink.java_gateway import get_gateway

    form = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.CANONICAL
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return str(job._j_job_client.stopWithSavepoint(False, str(folder), form).get())
        except Exception as error:  # a task has not started yet
            if "triggering task" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(0.3)


def _until_running(job: Any) -> None:
    until = time.monotonic() + _PATIENCE
    while job.get_job_status().result().name not in ("RUNNING", "FAILED", "FINISHED") and time.monotonic() < until:
        time.sleep(0.05)


def _until_rows(out: Path, mark: int) -> None:
    until = time.monotonic() + _UNSEEN - _RUNS
    while not _rows(out, mark) and time.monotonic() < until:
        time.sleep(0.1)


def _rows(out: Path, mark: int) -> list[tuple[str, str]]:
    with open(out, "rb") as file:
        file.seek(mark)
        found = map(_ROW.match, file.read().decode("utf-8", "replace").split("\n"))
    return [(match[1], match[2]) for match in found if match]


def _standing(rows: list[tuple[str, str]]) -> list[str]:
    """The rows that stand at the end. One that is taken back and was never given is of before the savepoint."""
    standing = Counter[str]()
    for kind, row in rows:
        if kind in ("+I", "+U"):
            standing[row] += 1
        elif standing[row]:
            standing[row] -= 1
    return list(standing.elements())


def _said(error: Exception) -> str:
    text = str(error)
    causes = re.findall(r"(?:Caused by: |: )([\w.$]+(?:Exception|Error): [^\n]*)", text)
    return next((one for one in reversed(causes) if _END not in one), text)[:500]


if __name__ == "__main__":
    main()
