"""The transformations of one environment, while the program builds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from compat.compiler.transformations.kinds import Transformation
from compat.compiler.transformations.resources import SlotResources

T = TypeVar("T", bound=Transformation)


class IdCounter:
    """The counter that gives transformations and virtual nodes their ids, from 1.

    Flink has one counter for each process: ids go on over all environments and jobs of a program, and the translation of a job
    takes some, too. So the environments of one program share a counter. A job gets a :meth:`fork` of it, which starts at the
    counter's value, and :meth:`catch_up` skips the ids that the forks took.
    """

    def __init__(self, next_id: int = 1) -> None:
        self.next_id = next_id
        self._family_next = [next_id]

    def take(self) -> int:
        """The next id."""
        given = self.next_id
        self.next_id = given + 1
        if self._family_next[0] <= given:
            self._family_next[0] = given + 1
        return given

    def fork(self) -> IdCounter:
        """A counter that starts at this one's position and counts independently."""
        twin = IdCounter(self.next_id)
        twin._family_next = self._family_next
        return twin

    def catch_up(self) -> None:
        """Skip all ids that this counter, its forks and theirs have given."""
        self.next_id = self._family_next[0]


class Pipeline:
    """An arena of frozen transformations, and the list of those that Flink would translate.

    It is the only object that changes while a program runs: a stream holds an id, and a call such as ``uid(…)`` replaces the
    transformation with a changed copy. Ids come from ``counter``, by default the pipeline's own, so that a program gives the
    same ids in every process.

    ``slot_sharing_groups`` holds the resources that were registered for slot sharing groups, by name.
    """

    def __init__(self, counter: IdCounter | None = None) -> None:
        self._transformations: dict[int, Transformation] = {}
        self._registered: list[int] = []
        self._counter = counter or IdCounter()
        self.slot_sharing_groups: dict[str, SlotResources] = {}

    def new_id(self) -> int:
        """The next id of the counter that all transformations and virtual nodes share."""
        return self._counter.take()

    @property
    def next_id(self) -> int:
        """The id that :meth:`new_id` gives next."""
        return self._counter.next_id

    def catch_up(self) -> None:
        """Skip the ids that copies of this pipeline took."""
        self._counter.catch_up()

    def add(self, transformation: T, *, register: bool = True) -> T:
        """Add a transformation to the arena; ``register`` it unless it only matters to its readers."""
        self._transformations[transformation.id] = transformation
        if register:
            self._registered.append(transformation.id)
        return transformation

    def register(self, id: int) -> None:
        """Add a transformation of the arena to the list of those to translate."""
        self._registered.append(id)

    def update(self, id: int, **changes: Any) -> Transformation:
        """Put a copy with ``changes`` in place of transformation ``id``."""
        changed = replace(self._transformations[id], **changes)
        self._transformations[id] = changed
        return changed

    def replace_registered(self, ids: list[int]) -> None:
        """Set the list of transformations to translate."""
        self._registered = list(ids)

    def clear(self) -> None:
        """Clear the list of transformations to translate, as an environment does after submitting a job. Ids go on."""
        self._registered = []

    def copy(self, counter: IdCounter | None = None) -> Pipeline:
        """A pipeline with the same contents that changes independently, with a fork of the counter or another one."""
        twin = Pipeline(counter or self._counter.fork())
        twin.slot_sharing_groups = dict(self.slot_sharing_groups)
        twin._transformations = dict(self._transformations)
        twin._registered = list(self._registered)
        return twin

    @property
    def registered(self) -> tuple[int, ...]:
        """The ids to translate, in order."""
        return tuple(self._registered)

    def __getitem__(self, id: int) -> Transformation:
        return self._transformations[id]

    def __contains__(self, id: int) -> bool:
        return id in self._transformations

    def __iter__(self) -> Iterator[Transformation]:
        return iter(self._transformations.values())
