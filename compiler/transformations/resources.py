"""The resources that an operator, or a slot, needs to run. Flink: ``ResourceSpec``, ``ResourceProfile``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf

from msgspec import Struct, field

from compat.compiler.errors import Location

_MEBI, _GIBI = 1 << 20, 1 << 30


class ResourceSpec(Struct, frozen=True, kw_only=True):
    """An amount of resources: processor cores, memory in bytes, and others by name.

    Unset needs are :data:`UNKNOWN`, which is no amount: a sum with an unknown part is unknown.
    """

    cpu_cores: float = 0.0
    task_heap_memory: int = 0
    task_off_heap_memory: int = 0
    managed_memory: int = 0
    extended: Mapping[str, float] = field(default_factory=dict)
    known: bool = True

    @property
    def memory(self) -> int:
        """The bytes of all kinds of memory together."""
        return self.task_heap_memory + self.task_off_heap_memory + self.managed_memory

    def merge(self, other: ResourceSpec) -> ResourceSpec:
        """The resources of two operators that run in one task (Flink: ``ResourceSpec.merge``)."""
        if not (self.known and other.known):
            return UNKNOWN
        return ResourceSpec(
            cpu_cores=self.cpu_cores + other.cpu_cores,
            task_heap_memory=self.task_heap_memory + other.task_heap_memory,
            task_off_heap_memory=self.task_off_heap_memory + other.task_off_heap_memory,
            managed_memory=self.managed_memory + other.managed_memory,
            extended=dict(Counter(self.extended) + Counter(other.extended)),
        )


UNKNOWN = ResourceSpec(known=False)


class SlotResources(Struct, frozen=True):
    """The resources of each slot of a slot sharing group, and the line of the program that sets them; equal if the
    resources are.
    """

    spec: ResourceSpec
    location: Location | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotResources) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)


def merged(specs: Iterable[ResourceSpec]) -> ResourceSpec:
    """The resources of all operators of a chain."""
    total = ResourceSpec()
    for spec in specs:
        total = total.merge(spec)
    return total


def amount(cores: float, memory: float, others: Mapping[str, float] | None = None) -> str:
    """An amount in words, without its unknown parts."""
    parts = [] if cores == inf else [f"{cores:g} core{'s' * (cores != 1)}"]
    if memory != inf:
        size = f"{memory / _MEBI:.0f} MB" if memory < _GIBI else f"{memory / _GIBI:.1f} GB"
        parts.append(f"{size} of memory")
    parts += [f"{count:g} {name}" for name, count in (others or {}).items()]
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
