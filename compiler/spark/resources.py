"""The resources that slot sharing groups request, and whether machines have them. Flink: ``ResourceProfile``, ``SlotManager``.

A group that does not say what its slots need takes what there is, as a slot of unknown profile does in Flink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from msgspec import Struct

from compat.compiler.executiongraph.graph import ExecutionJobVertex
from compat.compiler.transformations.resources import ResourceSpec, SlotResources, amount

ROUNDING = 1e-6
"""The rounding error that sums of resources may have: ten times a tenth of a core is a core."""


class GroupNeeds(Struct, frozen=True, kw_only=True):
    """A slot sharing group of a job: the needs of each of its ``slots``, and the program's line that sets them."""

    name: str
    slots: int
    spec: ResourceSpec
    location: str | None = None

    @property
    def cores(self) -> float:
        """The cores that all its slots need together."""
        return self.slots * self.spec.cpu_cores

    @property
    def memory(self) -> int:
        """The bytes of memory that all its slots need together."""
        return self.slots * self.spec.memory


class Machine(Struct, frozen=True):
    """The resources of a machine for slots; unknown ones are infinite."""

    cores: float = inf
    memory: float = inf


class Machines(Struct, frozen=True, kw_only=True):
    """Machines with slots: ``name`` is their name in messages, ``advice`` what helps if they have too little.

    ``others`` are their further resources, by name.
    """

    name: str
    each: tuple[Machine, ...]
    advice: str
    others: frozenset[str] = frozenset()

    @property
    def together(self) -> Machine:
        """The resources of all machines together."""
        return Machine(sum(each.cores for each in self.each), sum(each.memory for each in self.each))


def needs_of(vertices: Iterable[ExecutionJobVertex], resources: Mapping[str, SlotResources]) -> tuple[GroupNeeds, ...]:
    """The groups of a job that request resources. The regions of a batch job that share a name share slots."""
    slots: dict[str, int] = {}
    for vertex in vertices:
        name = vertex.job_vertex.slot_sharing_group_name
        slots[name] = max(slots.get(name, 0), vertex.parallelism)
    return tuple(
        GroupNeeds(
            name=name, slots=count, spec=found.spec, location=None if found.location is None else str(found.location)
        )
        for name, count in slots.items()
        if (found := resources.get(name)) is not None
    )


def lack(groups: Sequence[GroupNeeds], machines: Machines) -> str | None:
    """The reason why machines cannot give groups their slots, with advice; None if they can."""
    if _fit(groups, machines):
        return None
    blamed = [group for group in groups if not _fit([group], machines)] or groups
    asked = "; the slot sharing group ".join(map(_asked, blamed))
    total = amount(sum(group.cores for group in blamed), sum(group.memory for group in blamed))
    has = _had(machines)
    if strange := sorted({name for group in blamed for name in group.spec.extended} - machines.others):
        has += f", and no {', no '.join(strange)}"
    return (
        f"The slot sharing group {asked}, {total} together. {machines.name} {has}: ask for less (SlotSharingGroup.builder), "
        f"lower the parallelism (-p), or {machines.advice}."
    )


def _asked(group: GroupNeeds) -> str:
    """What a group asks for, in words, and where."""
    where = f" ({group.location})" if group.location else ""
    slots = f"each of its {group.slots} slots" if group.slots > 1 else "its slot"
    needs = amount(group.spec.cpu_cores, group.spec.memory, group.spec.extended)
    return f"{group.name!r}{where} asks for {needs} in {slots}"


def _had(machines: Machines) -> str:
    """What machines have, in words; where they are several, with what the largest of them has."""
    together = machines.together
    if len(machines.each) == 1:
        return f"has {amount(together.cores, together.memory)}"
    largest = max(machines.each, key=lambda each: (each.cores, each.memory), default=together)
    least = f", at most {amount(largest.cores, largest.memory)} on one of them"
    return f"have {amount(together.cores, together.memory)}{least}"


def _fit(groups: Sequence[GroupNeeds], machines: Machines) -> bool:
    """Whether each slot finds a machine that has what it needs, when the largest are placed first."""
    if any(name not in machines.others for group in groups for name in group.spec.extended):
        return False
    left = list(machines.each)
    for group in sorted(groups, key=lambda group: (group.spec.cpu_cores, group.spec.memory), reverse=True):
        cores, memory = group.spec.cpu_cores, group.spec.memory
        for _ in range(group.slots):
            fitting = (n for n, each in enumerate(left) if each.cores + ROUNDING >= cores and each.memory >= memory)
            place = next(fitting, None)
            if place is None:
                return False
            left[place] = Machine(left[place].cores - cores, left[place].memory - memory)
    return True
