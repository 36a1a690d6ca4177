"""The transformations of one environment, while the program builds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

from compiler.transformations.model import Transformation

T = TypeVar("T", bound=Transformation)


class Pipeline:
    """An arena of frozen transformations, and the list of those that Flink would translate.

    It is the only thing that changes while a program runs: a stream holds an id, and a call such as ``uid(…)`` puts a
    changed copy in the transformation's place. Ids come from the pipeline's own counter, from 1, so that a program gives
    the same ids in every process.
    """

    def __init__(self) -> None:
        self._transformations: dict[int, Transformation] = {}
        self._registered: list[int] = []
        self._next_id = 1

    def new_id(self) -> int:
        """The next id of the counter that all transformations and virtual nodes share."""
        given = self._next_id
        self._next_id += 1
        return given

    def add(self, transformation: T, *, register: bool = True) -> T:
        """Put a transformation into the arena; ``register`` it unless it only matters to those that read it."""
        self._transformations[transformation.id] = transformation
        if register:
            self._registered.append(transformation.id)
        return transformation

    def register(self, id: int) -> None:
        """Add a transformation of the arena to the list of those to translate."""
        self._registered.append(id)

    def update(self, id: int, **changes: Any) -> Transformation:
        """Put a copy with ``changes`` in the place of transformation ``id``."""
        changed = replace(self._transformations[id], **changes)
        self._transformations[id] = changed
        return changed

    def replace_registered(self, ids: list[int]) -> None:
        """Set the list of transformations to translate."""
        self._registered = list(ids)

    def clear(self) -> None:
        """Forget what is registered, as an environment does after it submitted a job. Ids go on."""
        self._registered = []

    def copy(self) -> Pipeline:
        """A pipeline that starts as this one and changes on its own."""
        twin = Pipeline()
        twin._transformations = dict(self._transformations)
        twin._registered = list(self._registered)
        twin._next_id = self._next_id
        return twin

    @property
    def registered(self) -> tuple[int, ...]:
        """Ids to translate, in order."""
        return tuple(self._registered)

    def __getitem__(self, id: int) -> Transformation:
        return self._transformations[id]

    def __contains__(self, id: int) -> bool:
        return id in self._transformations

    def __iter__(self) -> Iterator[Transformation]:
        return iter(self._transformations.values())
