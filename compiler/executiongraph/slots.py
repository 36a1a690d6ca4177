"""The subtasks that share a slot. Flink: ``SlotSharingGroup`` and ``AllocatorUtil.createExecutionSlotSharingGroups``.

Subtask n of each vertex of a slot sharing group runs in slot n of the group. So subtasks with the same number share a slot,
including those of a co-location group. A group needs as many slots as its widest vertex has subtasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from compat.compiler.errors import illegal_state
from compat.compiler.jobgraph.graph import JobVertex


class SlotSharingGroup(Struct, frozen=True, kw_only=True):
    """Vertices whose subtasks share slots.

    ``slots`` is the number of slots that the group needs, ``first`` the number of its first one in the job. ``name`` is unique
    in a job: groups of the same name (one for each region of a batch job) have a number after it.
    """

    name: str
    first: int
    slots: int

    def slots_of(self, parallelism: int) -> range:
        """The slots of a vertex's subtasks, by their numbers in the job."""
        if parallelism > self.slots:
            raise illegal_state(f"The slot sharing group {self.name!r} has {self.slots} slots, not {parallelism}.")
        return range(self.first, self.first + parallelism)


def slot_sharing_groups(vertices: Iterable[JobVertex], parallelism: Mapping[str, int]) -> dict[int, SlotSharingGroup]:
    """The groups of a job's vertices by their numbers, in order of appearance. ``parallelism`` is by vertex id.

    The regions of a batch job come one after the other: groups of the same name are given the same slots again.
    """
    names: dict[int, str] = {}
    wanted: dict[int, int] = {}
    for vertex in vertices:
        number = vertex.slot_sharing_group
        names[number] = vertex.slot_sharing_group_name
        wanted[number] = max(wanted.get(number, 0), parallelism[vertex.id])
    widest: dict[str, int] = {}
    for number, name in names.items():
        widest[name] = max(widest.get(name, 0), wanted[number])
    first: dict[str, int] = {}
    taken = 0
    for name, count in widest.items():
        first[name] = taken
        taken += count
    same_name = Counter(names.values())
    return {
        number: SlotSharingGroup(
            name=name if same_name[name] == 1 else f"{name} #{number}", first=first[name], slots=wanted[number]
        )
        for number, name in names.items()
    }
