"""An operator of a savepoint whose state is written anew: the states that its subtasks have."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from functools import cached_property

from compat.state.flink.errors import NotWritten
from compat.state.flink.header_parts import Field, HeaderParts, StateKey
from compat.state.flink.keyed_transfer import KeyedSource, keyed_source
from compat.state.flink.operator_transfer import OperatorSource, operator_source
from compat.state.flink.rekeying import regrouped, spill
from compat.state.flink.savepoint import OperatorState
from compat.state.flink.snapshots import classes_in
from compat.state.flink.states import HeaderReader
from compat.state.flink.tally import Tally
from compat.state.flink.transfer import Transfer


class Owner:
    """An operator with its states, which are read when they are asked for.

    ``folder`` is for entries under other keys, before they are written in their new key groups.
    """

    def __init__(self, headers: HeaderReader, operator: OperatorState, transfer: Transfer, folder: str = "") -> None:
        self._headers = headers
        self._types = transfer.types
        self._folder = os.path.join(folder, operator.id)
        converted = [(key, one) for key, one in transfer.converted.items() if key.operator == operator.id]
        self._conversions = {
            keyed: {key.name: one for key, one in converted if key.keyed is keyed} for keyed in (True, False)
        }
        self.operator = operator
        self.keys = transfer.keys.get(operator.id)

    @cached_property
    def sources(self) -> tuple[KeyedSource, ...]:
        """The keyed state of its subtasks, under the keys that it has in the savepoint. Raises NotWritten."""
        conversion = None if self.keys is None else self.keys.conversion
        keys = None if conversion is None else conversion.serializer
        found = [
            keyed_source(self._headers, self.operator, subtask, self._types, self._conversions[True], keys)
            for subtask in self.operator.subtasks
        ]
        sources = tuple(one for one in found if one is not None)
        if sources and self.keys and any(subtask.raw_keyed is not None for subtask in self.operator.subtasks):
            raise NotWritten(
                f"the keys of operator {self.operator.id} cannot become others",
                path=self._headers.savepoint.path,
                why="it has raw keyed state, such as timers on the heap, whose keys would stay",
                advice="Drop the operator, or keep its keys.",
            )
        return sources

    @cached_property
    def managed(self) -> tuple[OperatorSource, ...]:
        """The operator state of its subtasks. Raises NotWritten."""
        found = (
            operator_source(self._headers, self.operator, subtask, self._types, self._conversions[False])
            for subtask in self.operator.subtasks
        )
        return tuple(one for one in found if one is not None)

    def spill(self, number: int) -> Tally:
        """Put the entries of a subtask aside, under the keys that they have from now on. Raises NotWritten."""
        assert self.keys is not None
        tally = Tally()
        folder = self._spilled(number)
        making = f"{folder}.{secrets.token_hex(4)}"
        os.makedirs(making)
        spill(self.sources[number], self.keys, making, tally)
        try:
            os.rename(making, folder)
        except OSError:
            if not os.path.isdir(folder):
                raise
            shutil.rmtree(making)  # an interrupted machine has done it before
        return tally

    def keyed(self, tally: Tally) -> tuple[KeyedSource, ...]:
        """The keyed state as it is written; ``tally`` counts merged entries. Those under new keys have been put aside."""
        if self.keys is None or not self.sources:
            return self.sources
        folders = [self._spilled(number) for number in range(len(self.sources))]
        return (regrouped(self.sources, self.keys, folders, tally),)

    def _spilled(self, number: int) -> str:
        return os.path.join(self._folder, str(number))

    def states(self) -> list[StateKey]:
        """All its managed states, each once."""
        id = self.operator.id
        keyed = dict.fromkeys(name for source in self.sources for name in source.names)
        managed = dict.fromkeys(name for source in self.managed for name in source.names)
        return [*(StateKey(id, name, True) for name in keyed), *(StateKey(id, name, False) for name in managed)]

    def met(self) -> frozenset[str | Field]:
        """The names of types that are in its headers and become others."""
        parts = [*(source.parts for source in self.sources), *(source.parts for source in self.managed)]
        found = frozenset[str | Field]().union(*(one.met for one in parts))
        return found | {name for one in parts for name in self._named_in_converted(one)}

    def _named_in_converted(self, parts: HeaderParts) -> Iterator[str]:
        """The classes that become others as values are read and written: the header has not their serializers any more."""
        for meta in (*parts.header.states, *parts.header.broadcast_states):
            if meta.name in self._conversions[True] or meta.name in self._conversions[False]:
                classes = {name for _, serializer in meta.serializers for name in classes_in(serializer)}
                yield from classes & self._types.classes.keys()
