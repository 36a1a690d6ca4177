"""Stops programs of `programs/` with savepoints in real PyFlink, goes on from them, and keeps what the rest of each gave.

    python record.py OUT [CASE …]          # with an interpreter that has apache-flink

A case is program-mode-backend-format[-compressed][-p2]; OUT/CASE gets the savepoint, and OUT/CASE.json the lines that came after
it, sorted.
"""

import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "programs"))
COUNT, STOP, DELAY = 260, 120, 0.06
CASES = [
    "broadcast-process-hashmap-canonical",
    "broadcast-thread-rocksdb-native",
    "keys-process-hashmap-canonical",
    "keys-thread-hashmap-native",
    "kinds-process-hashmap-native",
    "sessions-process-hashmap-canonical",
    "states-process-hashmap-canonical",
    "states-process-rocksdb-native",
    "states-thread-hashmap-canonical-compressed-p2",
    "states-thread-hashmap-native",
    "windows-process-hashmap-canonical",
    "windows-thread-hashmap-native",
]


def environment(case, restore=None):
    _, mode, backend, *more = case.split("-")
    config = Configuration()
    config.set_string("python.execution-mode", mode)
    config.set_string("state.backend.type", backend)
    config.set_string("execution.checkpointing.snapshot-compression", str("compressed" in more).lower())
    config.set_string("python.fn-execution.bundle.size", "1" if restore is None else "1000")  # the source waits for it
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    config.set_string("restart-strategy.type", "none")
    if restore:
        config.set_string("execution.state-recovery.path", restore)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2 if "p2" in more else 1)
    return env


def stop(case, folder):
    program = importlib.import_module(case.split("-")[0])
    flag = os.path.join(tempfile.mkdtemp(), "reached")

    def slowly(number):
        time.sleep(DELAY)
        if number % (COUNT // 2) == STOP:
            open(flag, "w").close()
        return number

    env = environment(case)
    program.build(env, COUNT, slowly).print().uid("out")
    client = env.execute_async(case)
    parent = Path(flag).parent
    deadline = time.time() + 240
    while not list(parent.iterdir()) and time.time() < deadline:
        time.sleep(0.1)
    formats = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    format = formats.NATIVE if "native" in case else formats.CANONICAL
    path = client._j_job_client.stopWithSavepoint(False, folder, format).get()
    return path


def shortened(line):
    """A line, or its beginning and a digest of all of it."""
    return line if len(line) < 300 else f"{line[:100]}… {hashlib.sha256(line.encode()).hexdigest()[:32]}"


def resume(case, path):
    program = importlib.import_module(case.split("-")[0])
    env = environment(case, path)
    with program.build(env, COUNT, lambda number: number).execute_and_collect(case) as results:
        return sorted(shortened(str(result)) for result in results)


def main(out, *cases):
    for case in cases or CASES:
        began = time.time()
        target = Path(out, case)
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            path = stop(case, folder).removeprefix("file:")
            lines = resume(case, path)
            shutil.copytree(path, target)
        Path(out, f"{case}.json").write_text(
            json.dumps({"flink": "2.3.0", "lines": lines}, indent=0, ensure_ascii=False) + "\n"
        )
        print(case, len(lines), round(time.time() - began), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
