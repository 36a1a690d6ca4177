"""Goes on from savepoints of Flink in this process: `resume.py STORE SAVEPOINT PROGRAM MODE PARALLELISM [SAVEPOINT …]`.

It prints a line of JSON for each: what the rest of a program of `tests/golden/flink_resumed` gave.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.options import RunOptions
from compat.execution.snapshots import checker, plan_of
from compat.loader.main_module import prepare

COUNT = 260


def resumed(store, savepoint, program, mode, parallelism):
    told = []
    options = RunOptions(
        savepoint=savepoint,
        replicas=f"{store}/replicas",
        epoch_records=50,
        plan_of=plan_of(program),
        check=checker(program, told.append),
    )
    prepare(InProcessExecutor(store, options=options), {"python.execution-mode": mode}, int(parallelism))
    spec = importlib.util.spec_from_file_location(Path(program).stem, program)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return lines(module)


def lines(module):
    """What a program gives, through a file."""
    from pyflink.common import Encoder
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.datastream.connectors.file_system import FileSink

    env = StreamExecutionEnvironment.get_execution_environment()
    with tempfile.TemporaryDirectory() as folder:
        sink = FileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()
        module.build(env, COUNT, lambda number: number).sink_to(sink).uid("out")
        env.execute("resumed")
        files = [file for file in Path(folder).rglob("*part-*") if file.is_file()]
        return sorted(line for file in files for line in file.read_text().splitlines())


if __name__ == "__main__":
    store, *arguments = sys.argv[1:]
    for number in range(0, len(arguments), 4):
        print(json.dumps(resumed(f"{store}/{number}", *arguments[number : number + 4])), flush=True)
