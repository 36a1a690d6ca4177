"""On several machines, a task goes where its state and its open functions are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.compiler.spark.standalone import StandaloneCluster

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, sys
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        with open("{notes}", "a") as notes:
            notes.write(runtime_context.get_task_name_with_subtasks() + "\\n")

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield "%d:%d" % (ctx.get_current_key(), self.count.value())

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_source(NumberSequenceSource(1, 1200), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda n: n % 6, Types.LONG()).process(Count(), Types.STRING()).print()
env.execute()
"""


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[StandaloneCluster]:
    """Two workers with addresses, and with folders for replicas and hosts, of their own."""
    (tmp_path / "own").mkdir()
    needs.hidden(tmp_path)
    made = StandaloneCluster(tmp_path, hidden=[tmp_path / "own"], hosts=("127.0.0.1", "127.0.0.2"))
    yield made
    made.close()


@pytest.mark.spark
@pytest.mark.slow
def test_functions_stay_open_and_state_is_found_where_it_was(tmp_path: Path, machines: StandaloneCluster) -> None:
    job, notes = tmp_path / "job.py", tmp_path / "notes"
    job.write_text(PROGRAM.replace("{notes}", str(notes)))
    command = ["run", str(job), "--master", machines.url, "--epoch-records", "40", "--output", "json"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from compat.cli import main; main()",
            *command,
            "--replicas",
            str(tmp_path / "own" / "r"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "own")},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(event["event"] == "checkpoint" for event in events) >= 30
    found = events[-1]["replicas"]
    assert found.get("rebuilt", 0) == 0, found
    assert found.get("behind", 0) == 0, found
    opened = [each for each in notes.read_text().splitlines() if not each.startswith("compat")]  # that is the plan's
    assert sorted(each.rpartition(" ")[2] for each in opened) == ["(1/2)", "(2/2)"]
