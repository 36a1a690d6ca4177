"""How far the operators of OLD are when the snapshot is taken: some may have finished by then.

A savepoint records it. Two programs do not tell what will have finished: it is to be expected of all that reads only from
sources that end, beside others that do not, and of records that are written in the program. Where other sources end, too, one
of them may do so before another one does, and subtasks of one that find nothing to read before those that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from compat.plan.facts import Program
from compat.state.frozen import frozen


class Progress(Enum):
    """How far the subtasks of an operator, or of a chain, had come when the snapshot was taken."""

    RUNNING = "running"
    PARTLY = "partly finished"
    FULLY = "finished"


class Basis(Enum):
    """What it is known from how far OLD is."""

    RECORDED = "the snapshot says it"
    EXPECTED = "it comes to that, and stays so"
    POSSIBLE = "it may be so for a time"


@frozen
class Finishing:
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
        """Whether an operator of OLD is known to have finished: then it is not run again."""
        return self.certain and self.of(id) is Progress.FULLY


def find_finishing(old: Program, *, to_come: bool) -> Finishing | None:
    """How far OLD is; None where nothing has finished, and nothing ends before the rest.

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


def find_endings(old: Program, *, to_come: bool) -> tuple[Finishing, ...]:
    """What may have finished besides when the snapshot is taken, one way after the other."""
    if not to_come or old.batch:
        return ()
    sources = _Sources(old)
    fully = [dict.fromkeys(sources.readers_of(ended), Progress.FULLY) for ended in sources.other_ends()]
    partly = [dict.fromkeys(beside, Progress.PARTLY) for beside in _apart(old)]
    return tuple(Finishing(progress=progress, basis=Basis.POSSIBLE) for progress in (*fully, *partly))


class _Sources:
    """The sources of a program, and who reads from which."""

    def __init__(self, program: Program) -> None:
        self._read: dict[str, frozenset[str]] = {}
        pending = {operator.id: operator.inputs for operator in program.operators}
        self._all = frozenset(id for id, inputs in pending.items() if not inputs)
        self._read = {id: frozenset((id,)) if id in self._all else frozenset() for id in pending}
        changed = True
        while changed:  # inputs may come in a circle
            changed = False
            for id, inputs in pending.items():
                read = self._read[id].union(*(self._read.get(each, frozenset()) for each in inputs))
                changed = changed or read != self._read[id]
                self._read[id] = read
        ending = {each.id for each in program.operators if each.id in self._all and each.detail.get("bounded")}
        written = {each.id for each in program.operators if each.id in ending and each.kind == "collection"}
        self._ending = frozenset(ending)
        self.first_to_end = self._ending if self._ending != self._all else frozenset(written)
        """The sources that end before the others: those that do at all, or those whose records are in the program."""
        if self.first_to_end == self._all:
            self.first_to_end = frozenset()

    def readers_of(self, ended: frozenset[str]) -> list[str]:
        """The operators that read from these sources only, in order."""
        return [id for id, read in self._read.items() if read and read <= ended]

    def other_ends(self) -> Iterator[frozenset[str]]:
        """The sources that may have ended, while others go on.

        Whether operators differ in how far they are shows in one of the sets of sources that one of them reads from.
        """
        before = frozenset() if self._ending != self._all else self.first_to_end
        found = dict.fromkeys(read | before for read in self._read.values() if read and read <= self._ending)
        return (each for each in found if each not in (self._all, self.first_to_end))


def _apart(program: Program) -> Iterator[list[str]]:
    """The operators whose subtasks may end one by one, by source that ends: those of which a subtask reads from one only."""
    ending = {each.vertex for each in program.operators if not each.inputs and each.detail.get("bounded")}
    for vertex in program.vertices:
        if vertex.id not in ending or vertex.parallelism == 1:
            continue
        apart = {vertex.id}
        for other in program.vertices:  # a vertex stands behind those that it reads from
            if other.inputs and all(id in apart and pointwise for id, pointwise in other.inputs):
                apart.add(other.id)
        yield [id for each in program.vertices if each.id in apart for id in each.operators]
