"""What the slots of slot sharing groups need, and whether machines have it. Flink: ``ResourceProfile``, ``SlotManager``.

A group that does not say what its slots need takes what there is, as a slot of unknown profile does in Flink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from compat.compiler.executiongraph.model import ExecutionJobVertex
from compat.compiler.transformations.resources import ResourceSpec, SlotResources

_MEBI, _GIBI = 1 << 20, 1 << 30
ROUNDING = 1e-6
"""Ten times a tenth of a core is a core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNeeds:
    """A slot sharing group of a job: what each of its ``slots`` needs, and the line of the program that says it."""

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
        """The bytes of memory that they need together."""
        return self.slots * self.spec.memory


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine has for slots; what is not known of it is infinite."""

    cores: float = inf
    memory: float = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """The machines that slots are on: ``name`` is what they are called, ``advice`` what helps where they have too little.

    ``others`` are the further resources that they have, by their names.
    """

    name: str
    each: tuple[Machine, ...]
    advice: str
    others: frozenset[str] = field(default=frozenset())

    @property
    def together(self) -> Machine:
        """What they have together."""
        return Machine(sum(each.cores for each in self.each), sum(each.memory for each in self.each))


def needs_of(vertices: Iterable[ExecutionJobVertex], resources: Mapping[str, SlotResources]) -> tuple[GroupNeeds, ...]:
    """The groups of a job that say what their slots need. The regions of a batch job that share a name share slots."""
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
    """Why machines cannot give groups their slots, with what to do; None where they can."""
    if _fit(groups, machines):
        return None
    blamed = [group for group in groups if not _fit([group], machines)] or groups
    asked = "; ".join(
        f"the slot sharing group {group.name!r}{f' ({group.location})' if group.location else ''} asks for "
        f"{amount(group.spec.cpu_cores, group.spec.memory, group.spec.extended)} in "
        f"{f'each of its {group.slots} slots' if group.slots > 1 else 'its slot'}"
        for group in blamed
    )
    together, most = (
        machines.together,
        max(machines.each, key=lambda each: (each.cores, each.memory), default=Machine()),
    )
    has = amount(together.cores, together.memory)
    has += f", at most {amount(most.cores, most.memory)} on one of them" if len(machines.each) > 1 else ""
    strange = sorted({name for group in blamed for name in group.spec.extended} - machines.others)
    has += f", and no {', no '.join(strange)}" if strange else ""
    total = amount(sum(group.cores for group in blamed), sum(group.memory for group in blamed))
    return (
        f"{asked[0].upper()}{asked[1:]}, {total} together. {machines.name} has {has}: ask for less "
        f"(SlotSharingGroup.builder), lower the parallelism (-p), or {machines.advice}."
    )


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


def amount(cores: float, memory: float, others: Mapping[str, float] | None = None) -> str:
    """An amount in words, without what is not known."""
    parts = [] if cores == inf else [f"{cores:g} core{'s' * (cores != 1)}"]
    if memory != inf:
        size = f"{memory / _MEBI:.0f} MB" if memory < _GIBI else f"{memory / _GIBI:.1f} GB"
        parts.append(f"{size} of memory")
    parts += [f"{count:g} {name}" for name, count in (others or {}).items()]
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
