"""The machines that a Spark master has for slots, as far as they are known before a job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http.client import HTTPException
from math import ceil, inf
from urllib.request import Request, urlopen

import msgspec

from compat.compiler import control_group
from compat.compiler.configuration import parse_bytes, parse_integer
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.masters import endings_of_managers, in_containers, yarn_configuration
from compat.compiler.spark.resources import GroupNeeds, Machine, Machines, lack

CORES, MEMORY, OVERHEAD = "spark.executor.cores", "spark.executor.memory", "spark.executor.memoryOverhead"
INSTANCES, TASK_CORES = "spark.executor.instances", "spark.task.cpus"
_DYNAMIC = "spark.dynamicAllocation.enabled"
_OVERHEAD_FACTOR = "spark.executor.memoryOverheadFactor"
_OTHERS = "spark.executor.resource."
_MEBI = 1 << 20
_ANSWERING = 5.0
"""Seconds that a resource manager of YARN has to answer."""
_SMALLEST_HEAP = 512 * _MEBI
"""Spark refuses to start an executor with less than 450 MB, of which the garbage collector keeps some to itself."""
_SMALLEST_OVERHEAD = 384 * _MEBI
"""The least memory that Spark adds for the JVM itself; otherwise a tenth of the heap."""


def this_machine(advice: str = "run the job where there is more (--master)") -> Machines:
    """This machine, within the limits of this process's control group."""
    memory = control_group.memory()
    machine = Machine(control_group.cores(), inf if memory is None else memory)
    return Machines(name="This machine", each=(machine,), advice=advice)


def executors(options: Mapping[str, str]) -> Machines | None:
    """The executors that Spark starts in containers with these options; None if their number is unknown before.

    Raises FlinkError for invalid amounts.
    """
    if options.get(_DYNAMIC, "false").strip().lower() == "true":
        return None
    heap, rest = _size(options.get(MEMORY, "1g")), _size(options.get(OVERHEAD, "0"))
    count = parse_integer(INSTANCES, options.get(INSTANCES, "2"))
    return Machines(
        name=f"Spark's {count} executor{'s' * (count != 1)}",
        each=(Machine(parse_integer(CORES, options.get(CORES, "1")), heap + rest),) * count,
        advice=f"give Spark more of them, or larger ones (-D {INSTANCES}, -D {CORES}, -D {MEMORY}, -D {OVERHEAD})",
        others=frozenset(name.split(".")[3] for name in options if name.startswith(_OTHERS)),
    )


def yarn_nodes() -> Machines | None:
    """The nodes of YARN, from a resource manager; None if none answers, or if it needs credentials that are missing.

    Raises a ProgramError if there is no configuration of YARN.
    """
    _, settings = yarn_configuration()
    secure = settings.get("yarn.http.policy", "").upper() == "HTTPS_ONLY"
    option = "webapp.https.address" if secure else "webapp.address"
    for end in endings_of_managers(settings):
        host = settings.get(f"yarn.resourcemanager.hostname{end}")
        address = settings.get(f"yarn.resourcemanager.{option}{end}") or (host and f"{host}:{8090 if secure else 8088}")
        if not address:
            continue
        try:
            url = f"http{'s' * secure}://{address}/ws/v1/cluster/nodes?states=RUNNING"
            with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=_ANSWERING) as answer:
                told = msgspec.json.decode(answer.read(), type=_Told)
        except (OSError, HTTPException, msgspec.DecodeError):  # one that stands by, or wants to know who asks
            continue
        each = tuple(
            Machine(node.cores + node.free_cores, (node.memory + node.free_memory) * _MEBI)
            for node in (told.nodes.node if told.nodes is not None else ())
        )
        return Machines(
            name=f"YARN's {len(each)} node{'s' * (len(each) != 1)}", each=each, advice="run the job where there is more"
        )
    return None


class _Node(msgspec.Struct, frozen=True):
    """YARN: ``NodeInfo``."""

    cores: int = msgspec.field(name="usedVirtualCores")
    free_cores: int = msgspec.field(name="availableVirtualCores")
    memory: int = msgspec.field(name="usedMemoryMB")
    free_memory: int = msgspec.field(name="availMemoryMB")


class _Nodes(msgspec.Struct, frozen=True):
    node: tuple[_Node, ...] = ()


class _Told(msgspec.Struct, frozen=True):
    nodes: _Nodes | None


def refuse_lacking(groups: Sequence[GroupNeeds], machines: Machines | None) -> None:
    """Raise a ProgramError for slots that the machines are known to be unable to give."""
    problem = None if machines is None else lack(groups, machines)
    if problem is not None:
        raise ProgramError(problem)


def sized(groups: Sequence[GroupNeeds], slots: int, master: str, given: Mapping[str, str]) -> dict[str, str]:
    """Spark's options for containers in which slots of a job get what their groups ask for.

    All containers have the size that the largest group needs. There is one for each of the job's ``slots``. Settings that the
    user has ``given`` stay: if the cores of a container are given, Spark decides how many tasks it runs at a time.
    """
    if not groups or not in_containers(master):
        return {}
    cores = max(ceil(group.spec.cpu_cores) for group in groups)
    heap = max(_SMALLEST_HEAP, *(group.spec.task_heap_memory for group in groups))
    beside = max(group.spec.task_off_heap_memory + group.spec.managed_memory for group in groups)
    found = {MEMORY: _mebibytes(heap)}
    if _OVERHEAD_FACTOR not in given:
        found[OVERHEAD] = _mebibytes(beside + max(_SMALLEST_OVERHEAD, heap // 10))
    if CORES not in given:
        found |= {CORES: str(cores), TASK_CORES: str(cores)}
    if given.get(_DYNAMIC, "false").strip().lower() != "true":
        found[INSTANCES] = str(slots)
    return {name: text for name, text in found.items() if name not in given}


def _size(text: str) -> int:
    """The bytes of one of Spark's sizes of executors: a bare number is of mebibytes."""
    return parse_bytes(f"{text.strip()}m" if text.strip().isdigit() else text)


def _mebibytes(size: int) -> str:
    return f"{ceil(size / _MEBI)}m"
