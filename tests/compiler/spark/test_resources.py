"""What the slots of slot sharing groups ask for: told before a job starts where nobody can give it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import inf
from pathlib import Path

import pytest

from compat.compiler import control_group
from compat.compiler.datastream import SlotSharingGroup, StreamExecutionEnvironment, program
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.machines import executors, sized, yarn_nodes
from compat.compiler.spark.resources import GroupNeeds, Machine, Machines, lack
from compat.compiler.transformations.resources import ResourceSpec
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.standalone import StandaloneCluster
from tests.compiler.spark.test_masters import configure

MEBI, GIBI = 1 << 20, 1 << 30


def group(name: str, slots: int, cores: float, megabytes: int = 0, **others: float) -> GroupNeeds:
    spec = ResourceSpec(cpu_cores=cores, task_heap_memory=megabytes * MEBI, extended=others)
    return GroupNeeds(name=name, slots=slots, spec=spec, location=f"job.py:{slots}")


def machines(*each: tuple[float, float]) -> Machines:
    found = tuple(Machine(cores, memory * GIBI) for cores, memory in each)
    return Machines(name="There", each=found, advice="buy more", others=frozenset({"gpu"}))


@pytest.mark.parametrize(
    ("groups", "there"),
    [
        pytest.param([], machines(), id="nobody asks"),
        pytest.param([group("a", 4, 1.0, 1024)], machines((4, 4)), id="all of it"),
        pytest.param([group("a", 10, 0.1)], machines((1, 1)), id="tenths"),
        pytest.param([group("a", 2, 3.0), group("b", 2, 1.0)], machines((4, 1), (4, 1)), id="on two machines"),
        pytest.param([group("a", 1, 1.0, gpu=1.0)], machines((4, 1)), id="another resource"),
        pytest.param([group("a", 9, 9.0, 9 * 1024)], machines((inf, inf)), id="nobody knows"),
    ],
)
def test_there_is_enough(groups: list[GroupNeeds], there: Machines) -> None:
    assert lack(groups, there) is None


@pytest.mark.parametrize(
    ("groups", "there", "told"),
    [
        pytest.param(
            [group("a", 4, 64.0, 128), group("b", 1, 1.0)], machines((2, 8)),
            "The slot sharing group 'a' (job.py:4) asks for 64 cores and 128 MB of memory in each of its 4 slots, 256 cores "
            "and 512 MB of memory together. There has 2 cores and 8.0 GB of memory: ask for less (SlotSharingGroup.builder), "
            "lower the parallelism (-p), or buy more.",
            id="cores",
        ),
        pytest.param(
            [group("a", 1, 1.0, 9 * 1024)], machines((2, 8)), "asks for 1 core and 9.0 GB of memory in its slot, ", id="memory"
        ),
        pytest.param(
            [group("a", 1, 2.0), group("b", 2, 1.0)], machines((3, 8)),
            "The slot sharing group 'a' (job.py:1) asks for 2 cores and 0 MB of memory in its slot; the slot sharing group 'b' "
            "(job.py:2) asks for 1 core and 0 MB of memory in each of its 2 slots, 4 cores and",
            id="groups together",
        ),
        pytest.param(
            [group("a", 1, 5.0)], machines((4, 8), (3, 8)),
            "There have 7 cores and 16.0 GB of memory, at most 4 cores and 8.0 GB of memory on one of them: ",
            id="a slot is on one machine",
        ),
        pytest.param(
            [group("a", 1, 1.0, fpga=2.0)], machines((4, 8)), "asks for 1 core, 0 MB of memory and 2 fpga in", id="others"
        ),
        pytest.param([group("a", 1, 1.0, fpga=2.0)], machines((4, 8)), "8.0 GB of memory, and no fpga: ask", id="no others"),
    ],
)  # fmt: skip
def test_there_is_too_little(groups: list[GroupNeeds], there: Machines, told: str) -> None:
    assert told in (lack(groups, there) or "")


@pytest.fixture
def _four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_group, "cores", lambda: 4.0)
    monkeypatch.setattr(control_group, "memory", lambda: 8 * GIBI)


@pytest.mark.usefixtures("_four_processors")
def test_a_job_is_refused_before_it_starts(cluster: Cluster) -> None:
    env = cluster.environment(2)
    wide = SlotSharingGroup.builder("wide").set_cpu_cores(3.0).set_task_heap_memory_mb(100).build()
    env.from_collection([1]).map(lambda n: n).slot_sharing_group(wide).print()
    told = (
        rf"group 'wide' \({__file__}:\d+\) asks for 3 cores and 100 MB .* 2 slots, 6 cores .* This machine has 4 cores"
    )
    with pytest.raises(ProgramError, match=told):
        env.execute()
    assert not cluster.events
    assert cluster.executor is not None
    assert not cluster.executor.clients


@pytest.mark.usefixtures("_four_processors")
@pytest.mark.parametrize("cores", [2.0, None])
def test_a_job_that_has_its_place_runs(cluster: Cluster, cores: float | None) -> None:
    env = cluster.environment(2)
    builder = SlotSharingGroup.builder("some")
    group = builder.build() if cores is None else builder.set_cpu_cores(cores).set_task_heap_memory_mb(1).build()
    env.register_slot_sharing_group(
        SlotSharingGroup.builder("nobody's").set_cpu_cores(9.0).set_task_heap_memory_mb(1).build()
    )
    env.from_collection([1, 2]).map(lambda n: n).slot_sharing_group(group).print()
    env.execute()
    assert sorted(line.rpartition(" ")[2] for line in cluster.lines) == ["1", "2"]


SPEC = ResourceSpec(
    cpu_cores=1.5, task_heap_memory=2048 * MEBI, task_off_heap_memory=100 * MEBI, managed_memory=400 * MEBI
)
GROUPS = (GroupNeeds(name="large", slots=3, spec=SPEC), group("small", 1, 1.0, 10))
SIZED = {
    "spark.executor.cores": "2", "spark.task.cpus": "2", "spark.executor.memory": "2048m",
    "spark.executor.memoryOverhead": "884m", "spark.executor.instances": "4",
}  # fmt: skip


@pytest.mark.parametrize(
    ("master", "given", "without"),
    [
        ("yarn", {}, ()),
        ("k8s://https://host", {}, ()),
        ("yarn", {"spark.executor.memory": "4g"}, ("spark.executor.memory",)),
        ("yarn", {"spark.executor.cores": "8"}, ("spark.executor.cores", "spark.task.cpus")),
        ("yarn", {"spark.task.cpus": "1"}, ("spark.task.cpus",)),
        ("yarn", {"spark.executor.memoryOverhead": "1g"}, ("spark.executor.memoryOverhead",)),
        ("yarn", {"spark.executor.memoryOverheadFactor": "0.5"}, ("spark.executor.memoryOverhead",)),
        ("yarn", {"spark.executor.instances": "9"}, ("spark.executor.instances",)),
        ("yarn", {"spark.dynamicAllocation.enabled": "true"}, ("spark.executor.instances",)),
        ("spark://host:7077", {}, tuple(SIZED)),
        ("local[2]", {}, tuple(SIZED)),
    ],
)
def test_containers_are_as_large_as_the_largest_group(
    master: str, given: dict[str, str], without: tuple[str, ...]
) -> None:
    expected = {name: text for name, text in SIZED.items() if name not in without}
    assert sized(GROUPS, 4, master, given) == expected


def test_a_small_group_still_has_what_spark_itself_needs() -> None:
    found = sized((group("small", 1, 0.1, 10),), 1, "yarn", {})
    assert found["spark.executor.memory"] == "512m"
    assert found["spark.executor.memoryOverhead"] == "384m"
    assert found["spark.executor.cores"] == "1"


def test_without_groups_spark_has_its_own_sizes() -> None:
    assert sized((), 4, "yarn", {}) == {}


def test_executors_have_what_they_were_started_with() -> None:
    found = executors(sized(GROUPS, 4, "yarn", {}) | {"spark.executor.resource.gpu.amount": "1"})
    assert found is not None
    assert lack(GROUPS, found) is None
    assert found.others == {"gpu"}
    with pytest.raises(ProgramError, match="Could not parse the memory size 'much'"):
        executors({"spark.executor.memory": "much"})


@pytest.mark.spark
def test_what_the_workers_of_a_standalone_master_have(tmp_path: Path) -> None:
    """Two workers with a core and a gibibyte each: a slot of two cores has no place on either."""
    master = StandaloneCluster(tmp_path)
    executor = SparkExecutor(str(tmp_path / "store"), master=master.url)
    try:
        program.start(program.Program(executor))
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        wide = SlotSharingGroup.builder("wide").set_cpu_cores(2.0).set_task_heap_memory_mb(100).build()
        env.from_collection([1]).map(lambda n: n).slot_sharing_group(wide).print()
        told = (
            "The 2 workers of spark://.* have 2 cores and 2.0 GB of memory, at most 1 core and 1.0 GB of memory on one"
        )
        with pytest.raises(ProgramError, match=told):
            env.execute()
        assert not executor.clients
    finally:
        executor.close()
        master.close()
        program.start(program.Program())


NODES = {
    "nodes": {
        "node": [
            {
                "id": "a:1",
                "usedMemoryMB": 1024,
                "availMemoryMB": 3072,
                "usedVirtualCores": 1,
                "availableVirtualCores": 7,
            },
            {"id": "b:1", "usedMemoryMB": 0, "availMemoryMB": 2048, "usedVirtualCores": 0, "availableVirtualCores": 2},
        ]
    }
}


class _Manager(BaseHTTPRequestHandler):
    """A resource manager that tells of its nodes."""

    told = json.dumps(NODES)

    def do_GET(self) -> None:
        assert self.path == "/ws/v1/cluster/nodes?states=RUNNING"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.told.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


class _Standby(_Manager):
    told = "This is standby RM. The redirect url is: /ws/v1/cluster/nodes"


class _Empty(_Manager):
    told = '{"nodes": null}'


@contextmanager
def managing(*managers: type[_Manager]) -> Iterator[dict[str, str]]:
    """The options of YARN that name those managers, while they answer."""
    servers = [HTTPServer(("127.0.0.1", 0), manager) for manager in managers]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    options = {"yarn.resourcemanager.ha.rm-ids": ",".join(f"rm{n}" for n, _ in enumerate(servers))}
    for n, server in enumerate(servers):
        options[f"yarn.resourcemanager.webapp.address.rm{n}"] = f"127.0.0.1:{server.server_port}"
    try:
        yield options
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


@pytest.mark.parametrize(
    ("managers", "expected"),
    [
        pytest.param([_Manager], (Machine(8, 4 * GIBI), Machine(2, 2 * GIBI)), id="one"),
        pytest.param([_Standby, _Manager], (Machine(8, 4 * GIBI), Machine(2, 2 * GIBI)), id="the other stands by"),
        pytest.param([_Standby], None, id="none tells"),
        pytest.param([_Empty], (), id="no nodes"),
    ],
)
def test_what_the_nodes_of_yarn_have(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    managers: list[type[_Manager]],
    expected: tuple[Machine, ...] | None,
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with managing(*managers) as options:
        configure(tmp_path, options)
        found = yarn_nodes()
    assert (None if found is None else found.each) == expected


def test_a_manager_that_does_not_answer_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    configure(tmp_path, {"yarn.resourcemanager.webapp.address": "127.0.0.1:1"})
    assert yarn_nodes() is None
    configure(tmp_path, {})
    assert yarn_nodes() is None
