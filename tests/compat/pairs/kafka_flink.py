"""Runs programs in PyFlink by orders, a line of JSON each: ``python kafka_flink.py ORDERS ANSWERS``, two file descriptors.

It needs only PyFlink, in whose ``lib`` the SQL jar of the Kafka connector is. ``record_kafka_restores`` gives the orders.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

_FINISHED = "finished"


class Cluster:
    """The job that runs, if any."""

    def __init__(self) -> None:
        self._job: Any = None
        self._ended: Any = None

    def version(self) -> str:
        """The version of PyFlink."""
        from pyflink.version import __version__

        return str(__version__)

    def start(self, program: str, savepoint: str | None) -> list[str]:
        """Start a program; gives what refused it."""
        from py4j.protocol import Py4JJavaError
        from pyflink.common import Configuration
        from pyflink.datastream import StreamExecutionEnvironment

        def execute(env: Any, job_name: str | None = None) -> None:
            settings = Configuration().set_string("restart-strategy.type", "none")
            if savepoint is not None:
                settings.set_string("execution.state-recovery.path", savepoint)
            env.configure(settings)
            self._job = env.execute_async(job_name)._j_job_client
            self._ended = self._job.getJobExecutionResult()

        original = StreamExecutionEnvironment.execute
        StreamExecutionEnvironment.execute = execute
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.py")
            path.write_text(program, encoding="utf-8")
            try:
                runpy.run_path(str(path), run_name="__main__")
            except Py4JJavaError as error:
                return _causes(error.java_exception)
            finally:
                StreamExecutionEnvironment.execute = original
        return []

    def savepoint(self, folder: str) -> str:
        """Take a savepoint; the job goes on."""
        return str(self._job.triggerSavepoint(folder, _canonical()).get())

    def stop(self, folder: str) -> str:
        """Stop with a savepoint."""
        return str(self._job.stopWithSavepoint(False, folder, _canonical()).get())

    def cancel(self) -> None:
        """Cancel the job, if it still runs."""
        if not self._ended.isDone():
            self._job.cancel().get()

    def outcome(self) -> list[str] | None:
        """None while the job runs; then that it finished, or why it failed."""
        from py4j.protocol import Py4JJavaError

        if not self._ended.isDone():
            return None
        try:
            self._ended.get()
        except Py4JJavaError as error:
            return _causes(error.java_exception)
        return [_FINISHED]


def _canonical() -> Any:
    from pyflink.java_gateway import get_gateway

    return get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.CANONICAL


def _causes(error: Any) -> list[str]:
    texts: list[str] = []
    while error is not None and len(texts) < 20:
        texts.append(str(error.toString()).strip())
        error = error.getCause()
    return texts


def main(orders: int, answers: int) -> None:
    """Answer orders until there are no more."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cluster = Cluster()
    with os.fdopen(orders) as asked, os.fdopen(answers, "w") as told:
        for line in asked:
            name, *given = json.loads(line)
            print(json.dumps(getattr(cluster, name)(*given)), file=told, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
