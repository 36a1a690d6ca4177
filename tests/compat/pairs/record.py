"""Restore every pair in real PyFlink, and write down what happened: ``restores.json``.

Needs an environment with ``apache-flink`` and Java, which the tests do not: ``python -m tests.compat.pairs.record [NAME…]``
from the repository's root. Each program runs in a local cluster until it printed some lines; OLD is stopped with a
canonical savepoint, NEW starts from it. Where OLD is a savepoint that Flink wrote, only NEW runs.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.compat.pairs.model import Pair, Saved, Side
from tests.compat.pairs.table import PAIRS

RECORDS = Path(__file__).with_name("restores.json")
_LINE = re.compile(r"^(?:\d+> )?([^|]+)\|(.*)\|(.*)$")
_PATIENCE = 90.0
_UNSEEN = 25.0
"""Seconds after which a job is taken to run that prints nothing to look at."""
NO_OUTPUT = "no output"
NOT_SEEN = "not seen"
"""The state of a savepoint whose program does not print it: that the job runs is all there is to see."""


class Submission(Exception):
    """Flink refused the job before it ran."""


class Output:
    """The output of the cluster: file descriptor 1 of this process and its JVM, in a file."""

    def __init__(self) -> None:
        self.path = tempfile.mktemp(prefix="printed-")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(self._file, 1)

    def mark(self) -> int:
        """Where the output ends now."""
        return os.stat(self.path).st_size

    def since(self, mark: int) -> list[tuple[str, str, str]]:
        """The lines ``key|before|after`` printed after a mark."""
        with open(self.path, "rb") as file:
            file.seek(mark)
            lines = file.read().decode("utf-8", "replace").split("\n")[:-1]
        return [match.groups() for line in lines if (match := _LINE.match(line))]  # type: ignore[misc]


def main(names: list[str]) -> None:
    """Record the pairs of these names; without any, those whose record is missing or about other programs.

    The work is done in a child, because PyFlink's coders may crash the process on bytes that are not theirs.
    """
    known = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    wanted = names or [
        pair.name for pair in PAIRS if not pair.unrecorded and known.get(pair.name, {}).get("programs") != pair.digest
    ]
    while wanted:
        reading, writing = os.pipe()
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.compat.pairs.record", "--child", str(writing), *wanted], pass_fds=[writing]
        )
        os.close(writing)
        with os.fdopen(reading) as results:
            for line in results:
                _write(wanted.pop(0), json.loads(line))
        if child.wait() != 0:
            name = wanted.pop(0)
            if child.returncode > 0 or child.returncode == -signal.SIGKILL:
                print(f"{name}: OLD did not run, or the child was killed, which is no answer", file=sys.stderr)
                continue
            _write(
                name, {"outcome": "failed", "when": "running", "errors": [f"Python died of signal {-child.returncode}"]}
            )


def _write(name: str, record: dict[str, Any]) -> None:
    if record.get("state") == NO_OUTPUT:
        print(f"{name}: NEW printed nothing in {_PATIENCE:g} s, which is no answer", file=sys.stderr)
        return
    known = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    (pair,) = (pair for pair in PAIRS if pair.name == name)
    known[name] = {"programs": pair.digest, "flink": _version(), **record}
    RECORDS.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{name}: {record['outcome']} {record.get('state')}", file=sys.stderr)


def work(results: int, names: list[str]) -> None:
    """Restore pairs one by one and write each outcome as a line to a file descriptor."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    output = Output()
    pairs = {pair.name: pair for pair in PAIRS}
    with os.fdopen(results, "w") as stream:
        for name in names:
            print(json.dumps(_restore(pairs[name], output)), file=stream, flush=True)


def _version() -> str:
    from pyflink.version import __version__

    return str(__version__)


def _restore(pair: Pair, output: Output) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        mark = output.mark()
        if isinstance(pair.old, Saved):
            path: str | None = str(pair.old.put(Path(folder)))
        else:
            path, failures = _run(pair, pair.old, folder, None, output, mark)
            assert path is not None, f"{pair.name}: OLD gave no savepoint: {failures}"
        before = output.since(mark)
        mark = output.mark()
        try:
            _, errors = _run(pair, pair.new, folder, path, output, mark)
            when = "running" if errors else None
        except Submission as refusal:
            errors, when = refusal.args[0], "submission"
        after = output.since(mark)
    last = {key: value for key, _, value in before}
    first: dict[str, str] = {}
    for key, value, _ in after:
        first.setdefault(key, value)
    fate = NOT_SEEN if isinstance(pair.old, Saved) else _fate(last, first)
    return {
        "outcome": "failed" if errors else "restored",
        "when": when,
        "state": None if errors else fate,
        "errors": [error[:300] for error in errors[-3:]],
        "last_before": last,
        "first_after": first,
    }


def _fate(last: dict[str, str], first: dict[str, str]) -> str:
    shared = [(last[key], first[key]) for key in last if key in first]
    if not shared:
        return NO_OUTPUT
    if all(was == now for was, now in shared):
        return "kept"
    return "lost" if all(now in ("None", "[]", "0", "''") for _, now in shared) else "changed"


def _run(
    pair: Pair, script: Side, folder: str, savepoint: str | None, output: Output, mark: int
) -> tuple[str | None, list[str]]:
    """Run a program until it printed enough; gives the savepoint that OLD was stopped with, and what failed."""
    from py4j.protocol import Py4JJavaError
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.java_gateway import get_gateway

    result: list[Any] = [None, []]

    def execute(env: Any, job_name: str | None = None) -> None:
        settings = Configuration().set_string("python.fn-execution.bundle.size", "10")
        for key, value in pair.definitions.items():
            settings.set_string(key, value)
        if savepoint is not None:
            settings.set_string("execution.state-recovery.path", savepoint)
        env.configure(settings)
        client = None
        try:
            client = env.execute_async(job_name)
        except Py4JJavaError as error:
            raise Submission(_causes(error.java_exception)) from None
        job = client._j_job_client
        ended = job.getJobExecutionResult()
        deadline = time.time() + (_UNSEEN if isinstance(pair.old, Saved) else _PATIENCE)
        while not ended.isDone() and time.time() < deadline and len(output.since(mark)) < 15:
            time.sleep(0.3)
        if savepoint is None and not ended.isDone():
            form = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.CANONICAL
            result[0] = job.stopWithSavepoint(False, folder, form).get()
            return
        time.sleep(1)
        if ended.isDone():
            result[1] = _failure(ended)
        else:
            job.cancel().get()

    original = StreamExecutionEnvironment.execute
    StreamExecutionEnvironment.execute = execute
    path = os.path.join(folder, "program.py")
    assert isinstance(script, str), f"{pair.name}: {script} is nothing that PyFlink runs"
    Path(path).write_text(script, encoding="utf-8")
    try:
        runpy.run_path(path, run_name="__main__")
    except Py4JJavaError as error:
        raise Submission(_causes(error.java_exception)) from None
    finally:
        StreamExecutionEnvironment.execute = original
    return result[0], result[1]


def _failure(ended: Any) -> list[str]:
    from py4j.protocol import Py4JJavaError

    try:
        ended.get()
    except Py4JJavaError as error:
        return _causes(error.java_exception)
    return ["the job ended by itself"]


def _causes(error: Any) -> list[str]:
    texts = []
    while error is not None and len(texts) < 20:
        texts.append(str(error.toString()).strip())
        error = error.getCause()
    return texts


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        work(int(sys.argv[2]), sys.argv[3:])
    else:
        main(sys.argv[1:])
