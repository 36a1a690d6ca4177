"""What a cluster takes of its machine: memory, files, processes, threads and descriptors of all its processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from compat.cluster.layout import ClusterFolder
from compat.cluster.leadership import dispatcher_process

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Taken(Struct, frozen=True, kw_only=True):
    """What is taken at a moment. Memory is in MB; ``heap`` is what the JVM has in use when its garbage is collected."""

    dispatcher: float
    keeper: float
    jvm: float
    python: float
    heap: float
    files: int
    processes: int
    threads: int
    descriptors: int

    def __sub__(self, before: Taken) -> dict[str, float]:
        """How much more it is than before."""
        mine, others = asdict(self), asdict(before)
        return {name: round(mine[name] - others[name], 1) for name in mine}


def taken(place: ClusterFolder, temporary: Path) -> Taken:
    """What the cluster in a folder takes, whose dispatcher has a folder for temporary files."""
    found = _of_cluster(temporary)
    dispatcher = dispatcher_process(place)
    gateway = place.spark.find()
    assert dispatcher
    assert gateway is not None
    jvm = {pid for pid in found if _is_java(pid)}
    rest = set(found) - jvm - {dispatcher, gateway.pid}
    heap = _heap(place)
    return Taken(
        dispatcher=_memory([dispatcher]),
        keeper=_memory([gateway.pid]),
        jvm=_memory(jvm),
        python=_memory(rest),
        heap=heap,
        files=sum(len(files) for folder in (place.path, temporary) for _, _, files in os.walk(folder)),
        processes=len(found),
        threads=sum(_count(pid, "task") for pid in found),
        descriptors=sum(_count(pid, "fd") for pid in found),
    )


def descriptors_of_keeper(place: ClusterFolder) -> int:
    """How many files and connections the process has open that keeps Spark."""
    gateway = place.spark.find()
    assert gateway is not None
    return _count(gateway.pid, "fd")


def _of_cluster(temporary: Path) -> list[int]:
    """All processes of the cluster: they inherit the dispatcher's folder for temporary files."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"TMPDIR={temporary}\0".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _is_java(pid: int) -> bool:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "java"
    except OSError:
        return False


def _memory(pids: Iterable[int]) -> float:
    """What processes have in memory that is theirs alone, in MB."""
    total = 0
    for pid in pids:
        try:
            resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
        except OSError:
            continue
        total += (int(resident) - int(shared)) * _PAGE
    return total / 2**20


def _count(pid: int, what: str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/{what}"))
    except OSError:
        return 0


def _heap(place: ClusterFolder) -> float:
    """The JVM's heap in use behind a collection, which also has Spark remove the files of what was collected."""
    from py4j.java_gateway import GatewayParameters, JavaGateway

    found = place.spark.find()
    assert found is not None
    parameters = GatewayParameters(port=found.port, auth_token=found.secret, auto_convert=True)
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        java: Any = gateway.jvm.java.lang
        runtime = java.Runtime.getRuntime()
        for _ in range(3):
            java.System.gc()
            java.Thread.sleep(500)
        return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20
    finally:
        gateway.close()
