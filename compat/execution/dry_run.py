"""A restore of real state into a program, without processing: into a table that is thrown away.

It is the restore of ``compat job run -s``, up to where the first epoch would begin. The program runs in a child process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from compat.compiler.own_code import ROOT

_START = "import sys; sys.path.append(sys.argv.pop(1)); from compat.execution.dry_run import main; main(*sys.argv[1:])"
_SPARK_STARTS = 20.0


class DryRunFailed(Exception):
    """The restore failed, or the program did; the message gives the reason."""


class RestoredOperator(Struct, frozen=True, kw_only=True):
    """The outcome for the state of one operator of the snapshot.

    ``keys`` is the number of distinct keys with state, ``entries`` the number of values, list and map elements and timers.
    ``restored`` is the number of entries under the operator's new id in the new table, None if no operator takes them;
    ``migrated`` of these were converted.
    """

    name: str
    uid: str | None
    old_id: str
    new_id: str | None
    keys: int
    entries: int
    restored: int | None
    migrated: int

    def __str__(self) -> str:
        called = repr(self.name) + (f" (uid {self.uid!r})" if self.uid else "")
        what = f"{self.keys:,} keys in {self.entries:,} entries" if self.keys else f"{self.entries:,} entries"
        if self.restored is None:
            return f"{called}: {what} dropped"
        migrated = f", {self.migrated:,} of them migrated" if self.migrated else ""
        lost = self.entries - self.restored
        return f"{called}: {what} restored{migrated}" + (f"; {lost:,} entries are MISSING" if lost else "")


class DryRun(Struct, frozen=True, kw_only=True):
    """A restore to try: a snapshot into the jobs of a program, or into the one of a number, from 0."""

    snapshot: str
    program: str
    arguments: tuple[str, ...]
    options: Mapping[str, str]
    flink: str
    allow_non_restored: bool
    job: int | None = None
    pyfiles: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def dry_run(wanted: DryRun, timeout: float) -> list[list[RestoredOperator]]:
    """Restore a snapshot into the wanted jobs; gives the result for the state in each of them, in order.

    ``timeout`` is in seconds, for the program. Raises DryRunFailed, also if entries are missing afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="compat-dry-run-") as folder:
        result = Path(folder, "result.json")
        command = [sys.executable, "-P", "-c", _START, ROOT, folder]
        try:
            subprocess.run(
                command,
                input=json.dumps(asdict(wanted)).encode(),  # options may be secrets, and everybody sees a command line
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **wanted.environment},
                timeout=timeout + _SPARK_STARTS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise DryRunFailed(f"It did not end within {error.timeout:g} seconds; give more with --timeout.") from error
        if not result.exists():
            raise DryRunFailed("The process of the dry run ended without a result.")
        answer = json.loads(result.read_text(encoding="utf-8"))
    if "error" in answer:
        raise DryRunFailed(answer["error"])
    jobs = [[RestoredOperator(**fields) for fields in job] for job in answer["jobs"]]
    for operator in (operator for job in jobs for operator in job):
        if operator.restored not in (None, operator.entries):
            raise DryRunFailed(str(operator))
    return jobs


def main(folder: str) -> None:
    """The child process: run the given program, restore each job it submits, and write the results for the state."""
    wanted = DryRun(**json.load(sys.stdin))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    result = Path(folder, "result.json")
    try:
        answer: dict[str, Any] = {"jobs": _restored(wanted, folder)}
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    unfinished = result.with_suffix(".part")
    unfinished.write_text(json.dumps(answer), encoding="utf-8")
    unfinished.replace(result)
    os._exit(0)


def _restored(wanted: DryRun, folder: str) -> list[list[dict[str, Any]]]:
    from compat.loader.main_module import layout_of, prepare, run_as_main

    restorer = _Restorer(wanted, Path(folder))
    prepare(restorer, wanted.options, flink=wanted.flink, planning=True)
    try:
        run_as_main(layout_of(os.path.abspath(wanted.program), wanted.pyfiles), wanted.arguments, called=wanted.program)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    return [[asdict(operator) for operator in job] for job in restorer.jobs]


class _Restorer:
    """Takes the jobs of a program; in place of running one, it restores the snapshot into it."""

    def __init__(self, wanted: DryRun, folder: Path) -> None:
        self.jobs: list[list[RestoredOperator]] = []
        self._submitted = 0
        self._wanted = wanted
        self._folder = folder

    def submit(self, job: Any) -> object:
        """Restore into a job, as if it were to run, unless another one is wanted."""
        from compat.compiler.datastream.common.job_client import JobClient

        if self._wanted.job in (None, self._submitted):
            self.jobs.append(self._restored(replace(job, settings=replace(job.settings, flink=self._wanted.flink))))
        self._submitted += 1
        return JobClient()

    def _restored(self, job: Any) -> list[RestoredOperator]:
        from compat.compiler.driver import compile_job
        from compat.compiler.spark.driver.options import RunOptions
        from compat.compiler.spark.driver.restore import prepare_restore, saved_operators
        from compat.compiler.spark.driver.restored import Amounts, amounts
        from compat.compiler.spark.driver.support import refuse_unsupported
        from compat.compiler.spark.plan import plan
        from compat.execution.snapshots import plan_of
        from compat.state.delta.log import SnapshotLog

        wanted = self._wanted
        options = RunOptions(savepoint=wanted.snapshot, allow_non_restored=wanted.allow_non_restored)
        compilation = compile_job(job)
        made = plan(compilation)
        refuse_unsupported(made)
        restoration = prepare_restore(made, plan_of(wanted.program)(compilation), options)
        target = SnapshotLog.create(self._folder / f"job-{len(self.jobs)}")
        restoration.into(target)
        before, after = amounts(restoration.log), amounts(SnapshotLog.open(target.path))
        states = []
        for id, saved in saved_operators(restoration.log).items():
            new_id = restoration.handed.operators.get(id)
            had = before.get(id, Amounts())
            if not had.entries:
                continue
            states.append(
                RestoredOperator(
                    name=saved.name,
                    uid=saved.uid,
                    old_id=id,
                    new_id=new_id,
                    keys=had.keys,
                    entries=had.entries,
                    restored=None if new_id is None else after.get(new_id, Amounts()).entries,
                    migrated=had.migrated(id, restoration.handed.converted),
                )
            )
        return states
