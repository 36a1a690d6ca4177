"""Groups of operators that share slots, and their resources. Flink: ``SlotSharingGroup``, ``MemorySize``."""

from __future__ import annotations

from functools import total_ordering

from compat.compiler.errors import Location, illegal_argument
from compat.compiler.transformations.resources import ResourceSpec, SlotResources

__all__ = ["MemorySize", "SlotSharingGroup"]

_MEBI = 20


@total_ordering
class MemorySize:
    """A number of bytes."""

    def __init__(self, j_memory_size: MemorySize | None = None, bytes_size: int | None = None) -> None:
        size = j_memory_size.get_bytes() if j_memory_size is not None else bytes_size
        if size is None:
            raise TypeError("A MemorySize needs a number of bytes.")
        if size < 0:
            raise illegal_argument("bytes must be >= 0")
        self._bytes = size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        return MemorySize(bytes_size=mebi_bytes << _MEBI)

    def get_bytes(self) -> int:
        return self._bytes

    def get_kibi_bytes(self) -> int:
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        return self._bytes >> _MEBI

    def get_gibi_bytes(self) -> int:
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        return self._bytes >> 40

    def get_java_memory_size(self) -> MemorySize:
        """The size itself: there is no Java object behind it."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, MemorySize):
            raise TypeError(f"A MemorySize compares with another one only, not with {other!r}.")
        return self._bytes < other._bytes

    def __str__(self) -> str:
        return f"{self._bytes} bytes"


class SlotSharingGroup:
    """A named group, perhaps with the resources that a slot for it needs. Made by :meth:`builder`."""

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})

    def get_name(self) -> str:
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        return self._managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        return self._task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        return self._cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        return dict(self._external_resources)

    def has_resources(self) -> bool:
        """True when the group says what its slots need."""
        return self._cpu_cores is not None and self._task_heap_memory is not None

    def resources(self, location: Location | None = None) -> SlotResources | None:
        """The resources of a slot, set by the program at ``location``; None if the group sets none."""
        if self._cpu_cores is None or self._task_heap_memory is None:
            return None
        off_heap, managed = self._task_off_heap_memory, self._managed_memory
        spec = ResourceSpec(
            cpu_cores=self._cpu_cores,
            task_heap_memory=self._task_heap_memory.get_bytes(),
            task_off_heap_memory=0 if off_heap is None else off_heap.get_bytes(),
            managed_memory=0 if managed is None else managed.get_bytes(),
            extended=dict(self._external_resources),
        )
        return SlotResources(spec, location)

    def get_java_slot_sharing_group(self) -> SlotSharingGroup:
        """The group itself: there is no Java object behind it."""
        return self

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Start a group of that name."""
        return SlotSharingGroup.Builder(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSharingGroup) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self._name, self._cpu_cores, self._task_heap_memory, self._managed_memory))

    class Builder:
        """Collects what a group's slots need; processors and heap are needed if anything is given."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._heap: MemorySize | None = None
            self._off_heap: MemorySize | None = None
            self._managed: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            if cpu_cores <= 0:
                raise illegal_argument("The cpu cores should be positive.")
            self._cpu_cores = cpu_cores
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            if task_heap_memory.get_bytes() == 0:
                raise illegal_argument("The task heap memory should be positive.")
            self._heap = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._off_heap = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._managed = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """The group; raises if only some of its resources are given."""
            if self._cpu_cores is not None and self._heap is not None:
                zero = MemorySize(bytes_size=0)
                return SlotSharingGroup(
                    self._name,
                    self._cpu_cores,
                    self._heap,
                    self._off_heap or zero,
                    self._managed,
                    self._external,
                )
            if self._cpu_cores or self._heap or self._off_heap or self._managed or self._external:
                raise illegal_argument(
                    "The cpu cores and task heap memory are required when specifying the resource of a slot "
                    "sharing group. You need to explicitly configure them with positive value."
                )
            return SlotSharingGroup(self._name)
