"""Files for every task of a job, and resources of slots."""

from __future__ import annotations

import pytest

from compat.compiler.datastream import MemorySize, SlotSharingGroup, StreamExecutionEnvironment
from compat.compiler.datastream.program import Program, running
from compat.compiler.driver import compile_job
from compat.compiler.errors import ProgramError
from compat.compiler.jobgraph.artifacts import CACHED_FILES, cached_files
from compat.plan.encode import encode
from compat.plan.writing import plain


class _Keep:
    """Takes the job and compiles it."""

    def submit(self, job):
        self.compilation = compile_job(job)


@pytest.fixture
def keep():
    executor = _Keep()
    with running(Program(executor)):
        yield executor


def test_the_plan_tells_files_and_resources(keep):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.register_cached_file("hdfs:///it's/model", "model", True)
    env.register_cached_file("/tmp/words", "words")
    group = (
        SlotSharingGroup.builder("big")
        .set_cpu_cores(2.0)
        .set_task_heap_memory_mb(512)
        .set_managed_memory(MemorySize.of_mebi_bytes(1))
        .set_external_resource("gpu", 1.0)
        .build()
    )
    env.from_collection([1]).map(lambda x: x).slot_sharing_group(group).print()
    env.execute_async()
    job_graph = plain(encode(keep.compilation))["job_graph"]
    assert job_graph["user_artifacts"] == {"model": "hdfs:///it's/model", "words": "/tmp/words"}
    assert job_graph["slot_sharing_group_resources"] == {
        "big": {
            "cpu_cores": 2.0,
            "task_heap_memory": 512 << 20,
            "task_off_heap_memory": 0,
            "managed_memory": 1 << 20,
            "external_resources": {"gpu": 1.0},
        }
    }


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("", {}),
        ("name:a,path:/x", {"a": "/x"}),
        ("name:a,path:'/x;y,z',executable:true;name:b,path:s3://b/c", {"a": "/x;y,z", "b": "s3://b/c"}),
    ],
)
def test_the_option_is_read_as_flink_reads_it(text, files):
    assert cached_files({CACHED_FILES: text}) == files


@pytest.mark.parametrize("text", ["name:a", "path:/x", "nonsense", "name:a,path:/x;;"])
def test_entries_without_name_or_path_are_refused(text):
    with pytest.raises(ProgramError, match="cached-files"):
        cached_files({CACHED_FILES: text})
