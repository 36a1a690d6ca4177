"""How far the operators of OLD are when the snapshot is taken: some may have finished by then.

A savepoint records it. Two programs do not show what will have finished: expect it of operators that read only from
sources that end, beside others that do not, and of records written in the program. If other sources end, too, one may
end before another, and subtasks without anything to read before those that read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from compat.plan.facts import Program


class Progress(Enum):
    """How far the subtasks of an operator, or of a chain, had come when the snapshot was taken."""

    RUNNING = "running"
    PARTLY = "partly finished"
    FULLY = "finished"


class Basis(Enum):
    """The basis for knowing how far OLD is."""

    RECORDED = "the snapshot says it"
    EXPECTED = "it comes to that, and stays so"
    POSSIBLE = "it may be so for a time"


class Finishing(Struct, frozen=True, kw_only=True):
    """``progress`` is how far the operators of OLD are, by id: those that are not there are running."""

    progress: Mapping[str, Progress]
    basis: Basis

    @property
    def certain(self) -> bool:
        """Whether a snapshot says so."""
        return self.basis is Basis.RECORDED

    def of(self, id: str) -> Progress:
        """How far an operator of OLD is."""
        return self.progress.get(id, Progress.RUNNING)

    def is_over(self, id: str) -> bool:
        """Whether an operator of OLD is known to have finished: finished operators are not run again."""
        return self.certain and self.of(id) is Progress.FULLY


def find_finishing(old: Program, *, to_come: bool) -> Finishing | None:
    """How far OLD is; None if nothing has finished, and nothing ends before the rest.

    ``to_come`` is whether the snapshot is still to be taken.
    """
    told = {"fully": Progress.FULLY, "partly": Progress.PARTLY}
    recorded = {each.id: told[each.detail["finished"]] for each in old.operators if each.detail.get("finished") in told}
    if recorded:
        return Finishing(progress=recorded, basis=Basis.RECORDED)
    if not to_come or old.batch:
        return None
    sources = _Sources(old)
    over = sources.readers_of(sources.first_to_end)
    return Finishing(progress=dict.fromkeys(over, Progress.FULLY), basis=Basis.EXPECTED) if over else None


class Endings:
    """Operators that may also have finished when the future snapshot of OLD is taken."""

    def __init__(self, old: Program) -> None:
        self._sources = _Sources(old)
        self._apart = _apart(old)

    def among(self, ids: Iterable[str]) -> Iterator[Finishing]:
        """The ways in which these operators of OLD may differ in how far they are, one after the other."""
        ids = list(dict.fromkeys(ids))
        for ended in self._sources.other_ends(ids):
            over = dict.fromkeys(self._sources.readers_of(ended, ids), Progress.FULLY)
            yield Finishing(progress=over, basis=Basis.POSSIBLE)
        for vertex in dict.fromkeys(self._apart[id] for id in ids if id in self._apart):
            beside = {id: Progress.PARTLY for id in ids if self._apart.get(id) == vertex}
            yield Finishing(progress=beside, basis=Basis.POSSIBLE)


def find_endings(old: Program, *, to_come: bool) -> Endings | None:
    """Operators that may also have finished when the snapshot is taken; None if the snapshot exists already."""
    return Endings(old) if to_come and not old.batch else None


class _Sources:
    """The sources of a program, and their readers."""

    def __init__(self, program: Program) -> None:
        self._all = frozenset(each.id for each in program.operators if not each.inputs)
        self._read = {each.id: frozenset[str]() for each in program.operators}
        self._read.update((id, frozenset((id,))) for id in self._all)
        readers = _readers((each.id, each.inputs) for each in program.operators)
        pending = deque(sorted(self._all))
        while pending:
            id = pending.popleft()
            for reader in readers.get(id, ()):
                read = self._read[reader] | self._read[id]
                if read != self._read[reader]:
                    self._read[reader] = read
                    pending.append(reader)
        ending = {each.id for each in program.operators if each.id in self._all and each.detail.get("bounded")}
        written = {each.id for each in program.operators if each.id in ending and each.kind == "collection"}
        self._ending = frozenset(ending)
        self.first_to_end = self._ending if self._ending != self._all else frozenset(written)
        """The sources that end before the others: those that end at all, or those whose records are in the program."""
        if self.first_to_end == self._all:
            self.first_to_end = frozenset()

    def readers_of(self, ended: frozenset[str], ids: Iterable[str] | None = None) -> list[str]:
        """The operators, of these or of all, that read only from these sources, in order."""
        read = self._read
        return [id for id in (read if ids is None else ids) if read.get(id) and read[id] <= ended]

    def other_ends(self, ids: Iterable[str]) -> Iterator[frozenset[str]]:
        """The sources that may have ended, while others go on, where that makes a difference between some operators.

        It is enough to consider the cases in which exactly the sources of one of the operators have ended.
        """
        before = frozenset[str]() if self._ending != self._all else self.first_to_end
        reads = (self._read.get(id) for id in ids)
        found = dict.fromkeys(read | before for read in reads if read and read <= self._ending)
        return (each for each in found if each not in (self._all, self.first_to_end))


def _apart(program: Program) -> dict[str, str]:
    """The vertex of the source that an operator reads from alone, subtask by subtask, by the operator's id.

    Only for sources that end and have several subtasks, one of which may end before another.
    """
    heads = {each.vertex for each in program.operators if not each.inputs and each.detail.get("bounded")}
    vertices = {each.id: each for each in program.vertices}
    readers = _readers((each.id, [source for source, _ in each.inputs]) for each in program.vertices)
    apart = {id: id for id, each in vertices.items() if id in heads and not each.inputs and each.parallelism > 1}
    pending = list(apart)
    while pending:
        root = apart[id := pending.pop()]
        for reader in readers.get(id, ()):
            inputs = vertices[reader].inputs
            if reader not in apart and all(pointwise and apart.get(source) == root for source, pointwise in inputs):
                apart[reader] = root
                pending.append(reader)
    return {id: apart[each.id] for each in program.vertices if each.id in apart for id in each.operators}


def _readers(graph: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """The readers of each node of a graph, whatever the order of its nodes."""
    readers: dict[str, list[str]] = {}
    for id, inputs in graph:
        for source in inputs:
            readers.setdefault(source, []).append(id)
    return readers
