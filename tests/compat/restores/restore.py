"""Restores pairs of programs in PyFlink, in whose interpreter this runs: ``python restore.py < PAIRS > RECORDS``.

Each line of the standard input is a pair as JSON, ``{"old": PROGRAM, "new": PROGRAM, "told": [LABEL…], "inputs": {PATH:
[FIRST, COUNT]}, "outputs": PATH}``, and each line of the output what became of it. Files of numbers that are not there are
made; in the place of ``outputs`` the programs write into a folder of their own. OLD runs in a local cluster until all its
states were printed, and is stopped with a savepoint; NEW starts from it, and runs until the same lines came. If OLD wrote
files, NEW is drained, and the files are read. The work is done in a child: PyFlink's coders may end a process on bytes that
are not theirs.

Without ``new``, OLD is stopped and its savepoint kept in ``folder``; what is answered then is the ``left`` of a line that
another version of PyFlink is given in the place of ``old``.
"""

from __future__ import annotations

import base64
import contextlib
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

_LINE = re.compile(r"^(?:\d+> )?([a-z]\.\w+\.[^|]*)\|([^|]*)\|([^|]*)\|(-?\d+)$")
_PATIENCE = 150.0
"""Seconds until a program that prints nothing is not waited for any longer."""
_UNSEEN = 30.0
"""Seconds after which a new version is taken to run that prints nothing of the old one's."""
_HUNG = 600.0
"""Seconds after which a pair is given up."""
_MOST_THREADS = 600
"""Threads of a process above which it is ended: jobs in threads that fail leave theirs, which may never come to rest."""
_LONGEST_SAVEPOINT = 120
"""Seconds until a savepoint is given up: a job that was interrupted at the wrong moment never gives one."""
_LONGEST_DRAIN = 120
"""Seconds until a job is cancelled that does not come to its end."""
_LAST_NUMBER = 1_250_000 * 1000
"""The numbers behind it are what timers tell, which are of no source."""
_SINK = "FileSink.for_row_format("
"""What is in a program once for each sink of files."""
_SMALL = {
    "python.fn-execution.bundle.size": "10",
    "taskmanager.memory.segment-size": "4kb",
    "taskmanager.network.memory.buffers-per-channel": "1",
    "taskmanager.network.memory.floating-buffers-per-gate": "1",
}
"""Settings by which few numbers are under way, so that a savepoint need not wait for many."""
_QUIET = 12.0
"""Seconds in which nothing new was printed, after which there is nothing to wait for."""


def main() -> None:
    """Restore the pairs one by one, in a process that serves until it dies."""
    server: Server | None = None
    for line in sys.stdin:
        server = server or Server()
        record = server.asked(line)
        if "outcome" in record and server.threads() > _MOST_THREADS:
            server.end()
            server = None
        elif "outcome" not in record:
            code = server.end()
            server = None
            dead = code < 0 and code != -signal.SIGKILL and "savepoint" in record
            record |= {"outcome": "failed" if dead else "no answer", "errors": [f"the process ended with {code}"]}
        print(json.dumps(record), flush=True)
    if server is not None:
        server.end()


class Server:
    """A process that restores pairs, with one JVM for all of them."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        verbose = None if os.environ.get("VERBOSE") else subprocess.DEVNULL
        with open(Path(self._folder.name) / "out", "w") as out:
            command = [sys.executable, __file__, "--serve", self._folder.name]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=verbose, text=True, start_new_session=True
            )

    def asked(self, pair: str) -> dict[str, Any]:
        """What became of a pair; without an outcome if the process died of it or hung."""
        record = Path(self._folder.name) / "record"
        record.unlink(missing_ok=True)
        assert self._process.stdin is not None
        self._process.stdin.write(pair)
        self._process.stdin.flush()
        known: dict[str, Any] = {}
        until = time.time() + _HUNG
        while self._process.poll() is None and time.time() < until and "outcome" not in known:
            if self.threads() > 2 * _MOST_THREADS:
                break
            time.sleep(0.3)
            if record.exists():
                known = json.loads(record.read_text())
        return known

    def threads(self) -> int:
        """How many threads the process has, if that can be told."""
        try:
            return len(os.listdir(f"/proc/{self._process.pid}/task"))
        except OSError:
            return 0

    def end(self) -> int:
        """End the process and all that it started; gives what it ended with."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._folder.cleanup()
        return code


def serve(folder: str) -> None:
    """Restore the pairs of the standard input."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in sys.stdin:
        pair = json.loads(line)
        _put_inputs(pair.get("inputs", {}))
        restore = Restore(folder, pair)
        left = pair.get("left") or restore.leave(pair["old"])
        if pair.get("new") is None or "outcome" in left:
            restore.keep({"outcome": "left"} | left)
        else:
            restore.keep(left)
            restore.keep(restore.take_up(pair["new"], left, pair["told"]))


def _put_inputs(inputs: dict[str, tuple[int, int]]) -> None:
    """Write the files of numbers that the programs read; others may do so at the same time."""
    for path, (first, count) in inputs.items():
        if not Path(path).exists():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp()) / "made"
            made.write_text("".join(f"{n}\n" for n in range(first, first + count)))
            made.rename(path)
            made.parent.rmdir()


def _text(folder: str, name: str, otherwise: str = "") -> str:
    path = Path(folder) / name
    return path.read_text("utf-8", "replace") if path.exists() else otherwise


class Submission(Exception):
    """Flink refused the job before it ran."""


class Restore:
    """The restore of one pair, in a folder."""

    def __init__(self, folder: str, pair: dict[str, Any]) -> None:
        self.folder, self.settings, self.format = folder, pair.get("settings", {}), pair.get("format", "CANONICAL")
        self.kept = pair.get("folder", folder)
        self.named = pair.get("outputs", "")
        self.drains = self.drained = False  # whether NEW is to give all that it has to give, and whether it did
        self.outputs = pair.get("left", {}).get("outputs") or tempfile.mkdtemp(prefix="out", dir=self.kept)
        self._mark = len(_text(folder, "out"))

    def lines(self) -> list[tuple[str, str, str, int]]:
        """What was printed since the last mark."""
        text = _text(self.folder, "out")[self._mark :]
        found = (_LINE.match(each) for each in text.split("\n")[:-1])
        return [(match[1], match[2], match[3], int(match[4])) for match in found if match]

    def keep(self, record: dict[str, Any]) -> None:
        """Write down what is known, for the case that this process dies."""
        path = Path(self.folder) / "record"
        path.with_suffix(".new").write_text(json.dumps(record))
        path.with_suffix(".new").replace(path)

    def leave(self, old: str) -> dict[str, Any]:
        """What OLD leaves, which is stopped with a savepoint."""
        try:
            savepoint, errors, before = self.run(old, None, set())
        except Submission as refusal:
            savepoint, errors, before = None, refusal.args[0], []
        if savepoint is None:
            return {"outcome": "no savepoint", "errors": errors}
        metadata = Path(savepoint.removeprefix("file:")) / "_metadata"
        return {
            "savepoint": base64.b64encode(metadata.read_bytes()).decode(),
            "files": {
                path.name: base64.b64encode(path.read_bytes()).decode()
                for path in sorted(metadata.parent.iterdir())
                if path != metadata
            },
            "before": _held(before),
            "read": _read(before, max),
            "at": savepoint,
            "outputs": self.outputs,
            "labels": sorted({label for label, *_ in before}),
            "sinks": old.count(_SINK),
            "numbers": sorted({n for _, _, _, n in before if 0 < n < _LAST_NUMBER}) if self.wrote() else [],
        }

    def take_up(self, new: str, left: dict[str, Any], told: list[str]) -> dict[str, Any]:
        """What becomes of what OLD left in NEW, whose lines begin with one of ``told``."""
        self._mark, self.drains = len(_text(self.folder, "out")), bool(left["numbers"])
        record = {key: left[key] for key in ("savepoint", "files", "before", "read")}
        printed, when = [label for label in left["labels"] if label.rpartition(".")[0] in told], ""
        try:
            _, errors, after = self.run(new, left["at"], set(printed))
            when = "running" if errors else ""
        except Submission as refusal:
            errors, when, after = refusal.args[0], "submission", []
        first: dict[str, str] = {}
        for label, held, _, _ in after:
            first.setdefault(label, held)
        if not errors and not first and printed:
            return record | {"outcome": "no answer", "errors": ["nothing was printed"]}
        return record | {
            "outcome": "failed" if errors else "restored",
            "when": when,
            "errors": [each[:400] for each in errors[-3:]],
            "after": first,
            "read_after": _read(after, min),
            **(self.in_files(left["numbers"], left["sinks"], new.count(_SINK)) if self.drained else {}),
        }

    def wrote(self) -> bool:
        """Whether a program wrote files, published or not."""
        return any(files for _, _, files in os.walk(self.outputs))

    def in_files(self, numbers: list[int], before: int, now: int) -> dict[str, Any]:
        """Which numbers are in no file that is published, and which are there twice, for that many sinks of OLD and NEW."""
        found: dict[int, int] = {}
        for folder, _, files in os.walk(self.outputs):
            for name in files:
                if not name.startswith("."):
                    for line in _text(folder, name).split():
                        found[int(line)] = found.get(int(line), 0) + 1
        return {
            "unwritten": _ranges([n for n in numbers if found.get(n, 0) < before]),
            "twice": _ranges(sorted(n for n, times in found.items() if times > max(before, now))),
            "written": len(found),
        }

    def run(
        self, program: str, savepoint: str | None, awaited: set[str]
    ) -> tuple[str | None, list[str], list[tuple[str, str, str, int]]]:
        """Run a program until it printed enough, or ended; gives the savepoint that OLD was stopped with, what failed, and
        what was printed."""
        from py4j.protocol import Py4JJavaError, Py4JNetworkError
        from pyflink.common import Configuration
        from pyflink.datastream import StreamExecutionEnvironment
        from pyflink.java_gateway import get_gateway

        result: list[Any] = [None, [], None]

        def execute(env: Any, job_name: str | None = None) -> None:
            settings = Configuration()
            for key, value in {**_SMALL, **self.settings}.items():
                settings.set_string(key, value)
            if savepoint is not None:
                settings.set_string("execution.state-recovery.path", savepoint)
                settings.set_string("execution.savepoint.path", savepoint)
            env.configure(settings)
            try:
                client = env.execute_async(job_name)
            except Py4JJavaError as error:
                raise Submission(_causes(error.java_exception)) from None
            job = client._j_job_client
            ended = job.getJobExecutionResult()
            self.wait(ended, awaited, _PATIENCE if awaited or savepoint is None else _UNSEEN)
            if savepoint is None and not ended.isDone():
                try:
                    result[0] = self.stop(job, get_gateway().jvm)
                finally:
                    if result[0] is None and not ended.isDone():
                        job.cancel().get()  # what would print on, among the lines of the next job
            elif ended.isDone():
                result[1] = _failure(ended)
                self.drained = not result[1]
            else:
                result[2] = self.lines()
                self.drained = self.drains and self.drain(job, get_gateway().jvm)
                if not self.drained:
                    with contextlib.suppress(Py4JJavaError):  # it may have ended meanwhile
                        job.cancel().get()

        original = StreamExecutionEnvironment.execute
        StreamExecutionEnvironment.execute = execute
        path = os.path.join(self.folder, "program.py")
        program = program.replace(self.named, self.outputs) if self.named else program
        Path(path).write_text(program, encoding="utf-8")
        try:
            runpy.run_path(path, run_name="__main__")
        except Py4JJavaError as error:
            raise Submission(_causes(error.java_exception)) from None
        except (Submission, Py4JNetworkError):
            raise
        except Exception as error:  # what PyFlink itself refuses
            raise Submission([f"{type(error).__name__}: {error}"]) from None
        finally:
            StreamExecutionEnvironment.execute = original
        return result[0], result[1], self.lines() if result[2] is None else result[2]

    def stop(self, job: Any, jvm: Any) -> str:
        """Stop a job with a savepoint; gives where that is. Tasks that are not running yet are waited for."""
        from py4j.protocol import Py4JJavaError

        form = getattr(jvm.org.apache.flink.core.execution.SavepointFormatType, self.format)
        until = time.time() + _LONGEST_SAVEPOINT
        while True:
            stopped = job.stopWithSavepoint(False, self.kept, form)
            try:
                return str(stopped.get(_LONGEST_SAVEPOINT, jvm.java.util.concurrent.TimeUnit.SECONDS))
            except Py4JJavaError as error:
                if time.time() > until or not any(
                    "is not being executed" in cause for cause in _causes(error.java_exception)
                ):
                    raise
            time.sleep(5)

    def drain(self, job: Any, jvm: Any) -> bool:
        """End a job as if its sources had ended, so that all that it wrote is published; whether it could be."""
        from py4j.protocol import Py4JJavaError

        form = jvm.org.apache.flink.core.execution.SavepointFormatType.NATIVE  # the one that all backends have
        stopped = job.stopWithSavepoint(True, self.folder, form)
        try:
            stopped.get(_LONGEST_DRAIN, jvm.java.util.concurrent.TimeUnit.SECONDS)
        except Py4JJavaError:
            return False
        return True

    def wait(self, ended: Any, awaited: set[str], patience: float) -> None:
        """Wait until all that is awaited came and nothing new comes, or the job ended."""
        begun = changed = time.time()
        labels: set[str] = set()
        while not ended.isDone() and time.time() < begun + patience:
            time.sleep(0.3)
            now = {label for label, *_ in self.lines()}
            if now - labels:
                labels, changed = now, time.time()
            quiet = 3.0 if awaited and awaited <= labels else _QUIET if awaited else 5.0
            if labels and time.time() > changed + quiet:
                return


def _held(lines: list[tuple[str, str, str, int]]) -> dict[str, str]:
    """What states were left with, by label. Those that are not there a moment later are left out: a trigger may purge them, and
    in thread mode PyFlink does not find broadcast state by a key that is pickled, in the same run either."""
    found: dict[str, str | None] = {}
    for label, held, after, _ in lines:
        found[label] = None if held == "None" and label in found else after
    return {label: after for label, after in found.items() if after is not None}


def _read(lines: list[tuple[str, str, str, int]], which: Any) -> dict[str, int]:
    """By part of a source, the last number that was read, or the first; 0 is none of a source's."""
    found: dict[str, int] = {}
    for n in (n for _, _, _, n in lines if n):
        part = str(abs(n) // 1_250_000) if n >= 0 else "another source's"
        found[part] = which(found.get(part, n), n)
    return found


def _ranges(numbers: list[int]) -> str:
    """Numbers in their order, as ``1-20 25``."""
    ranges: list[list[int]] = []
    for n in numbers:
        if ranges and ranges[-1][1] == n - 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return " ".join(f"{first}-{last}" if first < last else str(first) for first, last in ranges)


def _failure(ended: Any) -> list[str]:
    from py4j.protocol import Py4JJavaError

    try:
        ended.get()
    except Py4JJavaError as error:
        return _causes(error.java_exception)
    return []


def _causes(error: Any) -> list[str]:
    texts = []
    while error is not None and len(texts) < 20:
        texts.append(str(error.toString()).strip())
        error = error.getCause()
    return texts


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
