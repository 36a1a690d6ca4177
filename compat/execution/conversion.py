"""Converts a savepoint of Flink to one of jobs on Spark, by the program that continues from it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from compat.compiler.versions import LATEST_FLINK
from compat.execution.failures import NO_JOB, Refused

if TYPE_CHECKING:
    from compat.compiler.spark.driver.restored import Restored


class Conversion(Struct, frozen=True, kw_only=True):
    """A savepoint of Flink's, the folder for the new one, and the program whose job of a number, from 0, continues from it."""

    savepoint: str
    out: str
    program: str
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    flink: str | None = None
    allow_non_restored: bool = False
    job: int = 0
    pyfiles: tuple[str, ...] = ()


def convert(wanted: Conversion, note: Callable[[str], None]) -> Restored:
    """Write the new savepoint; gives how much state it has. ``note`` gets what the check before it cannot tell.

    The program runs in this process, up to the place where its job would start. Raises Refused, RestoreRefused, StoreError, and
    the program's own exceptions.
    """
    from compat.loader.main_module import layout_of, prepare, run_as_main
    from compat.state.stores.paths import place_of

    if place_of(wanted.out, "The savepoint").exists():
        raise Refused(f"{wanted.out} is there already. Name a folder that does not exist yet.")
    converter = _Converter(wanted, note)
    prepare(converter, wanted.options, flink=wanted.flink or LATEST_FLINK, planning=True)
    layout = layout_of(os.path.abspath(wanted.program), wanted.pyfiles)
    try:
        run_as_main(layout, wanted.arguments, called=wanted.program)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise Refused(f"The program called sys.exit({error.code!r}).") from error
    if converter.made is None:
        if not converter.submitted:
            raise Refused(NO_JOB)
        raise Refused(f"The program submits {converter.submitted} jobs, and none of number {wanted.job}.")
    return converter.made


class _Converter:
    """Takes the jobs of a program; in place of running the wanted one, it restores into it and keeps what is restored."""

    def __init__(self, wanted: Conversion, note: Callable[[str], None]) -> None:
        self._wanted, self._note = wanted, note
        self.submitted = 0
        self.made: Restored | None = None

    def submit(self, job: Any) -> object:
        """Convert for a job, unless another one is wanted."""
        from compat.compiler.datastream.common.job_client import JobClient

        if self.submitted == self._wanted.job:
            self.made = self._convert(job)
        self.submitted += 1
        return JobClient()

    def _convert(self, job: Any) -> Restored:
        from compat.compiler.driver import compile_job
        from compat.compiler.spark.driver.options import RunOptions
        from compat.compiler.spark.driver.restore import is_of_flink, prepare_restore
        from compat.compiler.spark.driver.savepoints import with_adopted
        from compat.compiler.spark.driver.support import refuse_unsupported
        from compat.compiler.spark.plan import plan
        from compat.execution.snapshots import checker, plan_of
        from compat.state.delta.log import SnapshotLog
        from compat.state.delta.savepoint import LogState, write_savepoint

        wanted = self._wanted
        if not is_of_flink(wanted.savepoint):
            raise Refused(
                f"{wanted.savepoint} is no savepoint or checkpoint of Flink: there is no file _metadata in it."
            )
        options = RunOptions(
            savepoint=wanted.savepoint,
            allow_non_restored=wanted.allow_non_restored,
            check=checker(wanted.program, self._note),
        )
        compilation = compile_job(job)
        made = plan(compilation)
        refuse_unsupported(made)
        as_json = plan_of(wanted.program)(compilation)
        restoration = prepare_restore(made, as_json, options)
        with tempfile.TemporaryDirectory(prefix="compat-convert-") as folder:
            log = SnapshotLog.create(Path(folder, "state"))
            restored = restoration.into(log)
            description = {
                "job_id": Path(wanted.savepoint).name,
                "job_name": restoration.plan.job_name,
                "epoch": log.epoch,
                "time": time.time(),
                "of_flink": wanted.savepoint,
            }
            write_savepoint(
                LogState.of(SnapshotLog.open(log.path)),
                wanted.out,
                description,
                with_adopted(as_json, restoration.plan),
            )
        return restored
