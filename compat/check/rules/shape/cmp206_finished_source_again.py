"""Sources that OLD had read to their end, and that NEW reads again, as their id moved."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.explain import why_moved
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.finishing import Finishing, Progress
from compat.check.identity import hidden
from compat.check.pinning import edit, pin
from compat.check.rule import Rule
from compat.check.similarity import find_successors, kept_names, own_name
from compat.plan.facts import Program
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    progress = check.finishing
    if progress is None:
        return
    taken = {pair.old.id for pair in check.mapping.pairs}
    served = {pair.new.id: progress.of(pair.old.id) for pair in check.mapping.pairs}
    gone = [
        old
        for old in check.old.operators
        if old.id not in taken and not old.has_state and progress.of(old.id) is Progress.FULLY
    ]
    again = find_successors(gone, check.mapping.fresh, kept_names(check.old, check.new))
    refused = _chains_before_finished(check.new, {id for id, now in served.items() if now is not Progress.RUNNING})
    moved = [(old, again[old.id]) for old in gone if old.id in again]
    moved.sort(key=lambda pair: pair[1].position)
    sources = [(old, new) for old, new in moved if not new.inputs and new.vertex not in refused]
    if sources:
        edits = tuple(fix for old, new in moved if not hidden(new) for fix in _identified(old, new, check))
        yield _finding(check, progress, sources, edits)


def _chains_before_finished(new: Program, finished: set[str]) -> set[str]:
    """Chains of NEW, by id, that have operators which finished, or feed a chain that does: CMP204 refuses them."""
    before = [vertex for vertex in new.vertices if not finished.isdisjoint(vertex.operators)]
    return {id for vertex in before for id in (vertex.id, *(feeding for feeding, _ in vertex.inputs))}


def _identified(old: Operator, new: Operator, check: Check) -> tuple[Fix, ...]:
    """How to give an operator its id again: by the uid that it had, so that those behind it have theirs again, too."""
    if old.uid is not None and old.uid not in check.new.uids:
        return (edit(new, "uid", old.uid),)
    return pin(old, new)


def _finding(
    check: Check, progress: Finishing, sources: list[tuple[Operator, Operator]], edits: tuple[Fix, ...]
) -> Finding:
    old, new = sources[0]
    more = f", and {len(sources) - 1} more that OLD had read," if len(sources) > 1 else ""
    sure = progress.certain and own_name(old) is not None
    return check.finding(
        RULE,
        f"{new.label}{more} is read again from the beginning"
        if progress.certain
        else f"once {old.label} has been read to its end, NEW reads it again",
        level=Level.ERROR if sure else Level.UNKNOWN,
        consequence="Flink restores this without an error; all records read before are counted a second time.",
        reason=f"{'OLD had read it to its end' if progress.certain else 'It ends, beside others that do not'}: finished "
        f"operators do not run again, but those with another id do. {why_moved(old, new, check.old, check.new)}",
        old=old,
        new=new,
        fixes=edits,
        silent=True,
    )


RULE = Rule(
    id="CMP206",
    name="finished-source-again",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN,),
    when="unknown for two programs, as they do not show which sources will have ended at the snapshot, and for sources "
    "without their own names, as others may have replaced them",
    fate=Fate.LOST,
    summary="A source that OLD had read to its end has another id in NEW, which reads it again.",
    why="A snapshot records a finished source only as finished, under its id, and Flink does not run it again. Under "
    "another id it is a new source, which starts at its beginning. Flink does not refuse this, as no state is left "
    "behind.",
    old='env.from_source(history, none, "history").uid("history")   # finished at the time of the checkpoint',
    new='env.from_source(history, none, "history").uid("past")',
    fix="Keep the uid, or pin the old id with .set_uid_hash.",
    find=_find,
)
