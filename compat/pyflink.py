"""``import compat.pyflink`` before a program's ``import pyflink``: ``python job.py`` then runs it on Spark.

The environment variables COMPAT_STORE and COMPAT_MASTER say where jobs keep their state and which Spark runs them. Under
``compat job run`` this import changes nothing; under ``compat check`` the program may use what PyFlink lacks (CMP907).
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from compat.compiler.datastream.program import Program, current_program, start
from compat.loader.imports import prepare_for_programs


class _Plain:
    """Starts the runtime for jobs when the first one is submitted."""

    def __init__(self) -> None:
        self._executor: Any = None

    def submit(self, job: Any) -> Any:
        """Run a job on Spark."""
        if self._executor is None:
            from compat.execution.narration import Narrator
            from compat.execution.program import DEFAULT_STORE, Run, make_executor

            store, master = os.environ.get("COMPAT_STORE", DEFAULT_STORE), os.environ.get("COMPAT_MASTER")
            run = Run(program=sys.argv[0], arguments=tuple(sys.argv[1:]), store=store, master=master)
            self._executor = make_executor(run, Narrator())
            atexit.register(self._executor.close)
        return self._executor.submit(job)


if current_program().executor is None:
    prepare_for_programs()
    start(Program(_Plain()))
current_program().on_spark = True
