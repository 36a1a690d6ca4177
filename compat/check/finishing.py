"""How far the operators of OLD are when the snapshot is taken: some may have finished by then.

A savepoint records it. Two programs do not tell what will have finished: it may be all that reads only from sources that end,
beside others that do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from enum import Enum

from compat.plan.facts import Program
from compat.state.frozen import frozen


class Progress(Enum):
    """How far the subtasks of an operator, or of a chain, had come when the snapshot was taken."""

    RUNNING = "running"
    PARTLY = "partly finished"
    FULLY = "finished"


@frozen
class Finishing:
    """``progress`` is how far the operators of OLD are, by id; not ``certain`` if that is what may be by then."""

    progress: Mapping[str, Progress]
    certain: bool

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
        return Finishing(progress=recorded, certain=True)
    if not to_come or old.batch:
        return None
    ending = _ending(old)
    return Finishing(progress=dict.fromkeys(ending, Progress.FULLY), certain=False) if ending else None


def _ending(program: Program) -> set[str]:
    """The operators that read only from sources that end before others do.

    Some sources have no end. Where all have one, those whose records are written in the program are the first to be there;
    which of the others is, cannot be told.
    """
    readers: dict[str, list[str]] = defaultdict(list)
    for operator in program.operators:
        for source in operator.inputs:
            readers[source].append(operator.id)
    sources = [each for each in program.operators if not each.inputs]
    pending = [each.id for each in sources if not each.detail.get("bounded")]
    pending = pending or [each.id for each in sources if each.kind != "collection"]
    if not pending:
        return set()
    going_on = set(pending)
    while pending:
        for reader in readers[pending.pop()]:
            if reader not in going_on:
                going_on.add(reader)
                pending.append(reader)
    return {operator.id for operator in program.operators} - going_on
