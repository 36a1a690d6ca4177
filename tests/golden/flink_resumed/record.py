"""Stops programs of `programs/` with savepoints in real PyFlink, goes on from them, and keeps what the rest of each gave.

    python record.py OUT [CASE …]          # with an interpreter that has apache-flink

A case is program-mode-backend-format[-compressed][-p2][-1.20]; OUT/CASE gets the savepoint, and OUT/CASE.json the lines that came
after it, sorted. Without CASE, all are recorded that are of the interpreter's version: those without one are of 2.3.
"""

import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyflink.common import Configuration, Encoder
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.java_gateway import get_gateway
from pyflink.version import __version__ as VERSION

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "programs"))
COUNT, STOP, DELAY = 260, 120, 0.06
CASES = """
    asking-process-hashmap-canonical average-thread-hashmap-canonical-1.20 between-process-hashmap-canonical
    between-process-rocksdb-canonical-1.20 branches-process-rocksdb-canonical-p2-1.20
    broadcast-process-hashmap-canonical broadcast-thread-rocksdb-native cascade-process-rocksdb-native
    cascade-thread-hashmap-canonical-1.20 clock-process-hashmap-native counting-process-rocksdb-native-1.20
    gaps-process-rocksdb-canonical joins-process-hashmap-canonical-1.20 keys-process-hashmap-canonical
    keys-thread-hashmap-native kinds-process-hashmap-native late-process-hashmap-canonical
    late-process-rocksdb-native-1.20 ledger-process-hashmap-native-1.20 ledger-process-rocksdb-canonical
    lifetimes-process-hashmap-canonical-1.20 lifetimes-thread-hashmap-canonical
    machine-process-hashmap-canonical-1.20 machine-thread-rocksdb-native rolling-process-hashmap-native
    rules-process-hashmap-native-1.20 rules-process-rocksdb-canonical sessions-process-hashmap-canonical
    sessions-process-rocksdb-canonical-1.20 shaped-process-hashmap-canonical-compressed-p2
    sides-process-rocksdb-native-1.20 states-process-hashmap-canonical states-process-rocksdb-native
    states-thread-hashmap-canonical-compressed-p2 states-thread-hashmap-native
    states-thread-rocksdb-canonical-1.20 timeouts-process-rocksdb-native triggers-process-hashmap-canonical
    unnamed-process-hashmap-canonical-1.20 wholes-process-rocksdb-native windows-process-hashmap-canonical
    windows-thread-hashmap-native
""".split()


def program_of(case):
    return importlib.import_module(case.split("-")[0])


def environment(case, restore=None, *, stopped=False):
    """A bundle is one record where the source waits for it, or the watermark follows each."""
    _, mode, backend, *more = case.split("-")
    stepwise = getattr(program_of(case), "STEPWISE", False)
    config = Configuration()
    config.set_string("python.execution-mode", mode)
    config.set_string("state.backend.type", backend)
    config.set_string("execution.checkpointing.snapshot-compression", str("compressed" in more).lower())
    config.set_string("python.fn-execution.bundle.size", "1" if stepwise or stopped else "1000")
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    config.set_string("restart-strategy.type", "none")
    if restore:
        config.set_string("execution.state-recovery.path", restore)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2 if "p2" in more else 1)
    return env


def stop(case, folder):
    program = program_of(case)
    flag = os.path.join(tempfile.mkdtemp(), "reached")

    def slowly(number):
        time.sleep(DELAY)
        if number % (COUNT // 2) == STOP:
            open(flag, "w").close()
        return number

    env = environment(case, stopped=True)
    program.build(env, COUNT, slowly).print().uid("out")
    client = env.execute_async(case)
    parent = Path(flag).parent
    deadline = time.time() + 240
    while not list(parent.iterdir()) and time.time() < deadline:
        time.sleep(0.1)
        if client._j_job_client.getJobStatus().get().isTerminalState():
            raise RuntimeError("the job ended before it could be stopped")
    formats = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    format = formats.NATIVE if "native" in case else formats.CANONICAL
    path = client._j_job_client.stopWithSavepoint(False, folder, format).get()
    return path


def shortened(line):
    """A line, or its beginning and a digest of all of it."""
    return line if len(line) < 300 else f"{line[:100]}… {hashlib.sha256(line.encode()).hexdigest()[:32]}"


def as_it_is(number):
    return number


def stepwise(number):
    """Slow enough for the watermark to follow each record."""
    time.sleep(0.02)
    return number


def resume(case, path):
    """The lines that come after a savepoint: those of a run that was never stopped where PyFlink begins anew."""
    lines = lines_of(case, path)
    if each := getattr(program_of(case), "LINES_A_NUMBER", None):
        taken = COUNT - len(lines) // each
        lines = list((Counter(lines_of(case)) - Counter(lines_of(case, count=taken))).elements())
    return sorted(map(shortened, lines))


def lines_of(case, path=None, count=COUNT):
    """What a run gives: through a file, as what is collected is built otherwise where streams are united."""
    program = program_of(case)
    env = environment(case, path)
    rest = program.build(env, count, stepwise if getattr(program, "STEPWISE", False) else as_it_is)
    with tempfile.TemporaryDirectory() as folder:
        rest.sink_to(FileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()).uid("out")
        env.execute(case)
        files = [file for file in Path(folder).rglob("part-*") if file.is_file()]
        return [line for file in files for line in file.read_text().splitlines()]


def main(out, *cases):
    of_version = [case for case in CASES if case.endswith("-1.20") == VERSION.startswith("1.20")]
    for case in cases or of_version:
        began = time.time()
        target = Path(out, case)
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            path = stop(case, folder).removeprefix("file:")
            lines = resume(case, path)
            shutil.copytree(path, target)
        Path(out, f"{case}.json").write_text(
            json.dumps({"flink": VERSION, "lines": lines}, indent=0, ensure_ascii=False) + "\n"
        )
        print(case, len(lines), round(time.time() - began), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
