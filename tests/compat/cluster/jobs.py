"""Small jobs, one after another, on a cluster that runs."""

from __future__ import annotations

import time

from compat.cluster.submission import Submission
from tests.compat.cluster.running import RunningCluster

_PROGRAM = """
from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism({parallelism})
numbers = env.from_source(NumberSequenceSource(1, {records}), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda n: n % 5, Types.LONG()).process(Count(), Types.LONG()).print()
env.execute("{records} records")
"""


def small_program(records: int, parallelism: int = 1) -> str:
    """A job that counts so many numbers by key, and ends."""
    return _PROGRAM.format(records=records, parallelism=parallelism)


class SmallJobs:
    """Runs small jobs one after another on a cluster."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.cluster = cluster
        self.seconds: list[float] = []
        (cluster.folder / "small.py").write_text(small_program(50))
        done = cluster.run("run", "small.py", "-d")
        assert done.returncode == 0, done.stderr
        job = done.stdout.strip()
        self._submission: Submission = cluster.place.submission(job)
        cluster.wait(job, lambda found: found.over)

    def run(self, count: int) -> None:
        """Run so many."""
        for _ in range(count):
            began = time.monotonic()
            job = self.cluster.client.submit(self._submission)
            told = [event for event, _ in self.cluster.client.events(job)]
            self.seconds.append(time.monotonic() - began)
            assert told[-2]["event"] == "finished", told
            assert sum(event["event"] == "printed" for event in told) == 50
