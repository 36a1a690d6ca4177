"""The findings of the rules about SQL: one for each operator and each aspect of its query that changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

from compat.check import code_suggestions, restores
from compat.check.context import Check
from compat.check.findings import CountHeir, Fate, Finding, Fix, Level, RowHeir
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.contents import COUNTED, Start, Uncounted
from compat.plan.queries import has_queries, of_query
from compat.state.model.operators import Operator

if TYPE_CHECKING:
    from compat.check.sql.changes import MeaningChange, SqlChanges
    from compat.check.sql.contents import Part

REBUILD = Fix(
    text="If NEW is what you want, nothing converts the state: start NEW without the savepoint, let it read its sources from "
    "their beginning (scan.startup.mode), and switch over when it has caught up."
)
"""What to do where a query is meant to mean something else."""
_REBUILD_AS_WELL = Fix(
    text="Or start NEW without the savepoint, let it read its sources from their beginning (scan.startup.mode), and switch "
    "over when it has caught up."
)


_latest: tuple[ReferenceType[Check], SqlChanges | None] | None = None

KEEP_THE_QUERY = Fix(
    text="Flink names the states of a query, by what it computes and by the planner's options: keep both as they were."
)
"""What to do where states of a query have other names."""


def explained(pair: Pair, check: Check) -> bool:
    """True if a rule about SQL says already that what the pair keeps is wrong: states that come and go are part of that."""
    found = changes_of(check) if of_query(pair.new) else None
    return found is not None and any(
        change.pair.old.id == pair.old.id and any(one.holds for one in change.differences) for change in found.changes
    )


def findings(check: Check, rule: Rule, aspect: Aspect, keep: str) -> Iterator[Finding]:
    """The findings about an aspect; ``keep`` says how to keep the state."""
    found = changes_of(check)
    for change in () if found is None else found.changes:
        differences = [one for one in change.differences if one.aspect is aspect]
        if differences:
            yield _finding(check, rule, change, aspect, keep)


def changes_of(check: Check) -> SqlChanges | None:
    """What changed its meaning; None for jobs without queries, for which what compares queries is not imported.

    All rules of a check share one answer.
    """
    global _latest
    if _latest is not None and _latest[0]() is check:
        return _latest[1]
    found = None
    if has_queries(check.old) and has_queries(check.new):
        from compat.check.sql.changes import sql_changes

        found = sql_changes(check)
    _latest = (ref(check), found)
    return found


def _finding(check: Check, rule: Rule, change: MeaningChange, aspect: Aspect, keep: str) -> Finding:
    differences = [one for one in change.differences if one.aspect is aspect]
    wrong = [one.holds for one in differences if one.holds]
    unknown, refused = aspect is Aspect.UNKNOWN, is_refused(change.pair, check)
    moved = _is_moved(change.pair, check)
    if unknown:
        consequence = f"{differences[0].holds}."
    elif wrong and moved:
        consequence = f"With its state under its new id: {wrong[0]}, and its results are wrong."
    elif wrong and refused:
        consequence = "The operator fails when it starts: its state is of another type now."
    elif wrong:
        consequence = f"Flink restores this without an error. {wrong[0]}, and its results are wrong."
    else:
        consequence = f"{differences[0].since}."
    return check.finding(
        rule,
        f"{called(change.pair.new)}: {'; '.join(dict.fromkeys(one.title for one in differences))}",
        level=None if wrong else Level.WARNING,
        consequence=consequence,
        reason=_reason(change.pair, check, refused=bool(wrong) and refused),
        old=change.pair.old,
        new=change.pair.new,
        fixes=_fixes(check, change, keep) if wrong else (Fix(text="Nothing, if that is what you want."),),
        silent=bool(wrong) and not unknown and not refused and not moved,
        fate=Fate.REFUSED if wrong and refused and not unknown else None,
        heirs=_heirs(change),
    )


def _fixes(check: Check, change: MeaningChange, keep: str) -> tuple[Fix, ...]:
    moved = code_suggestions.migrate(check) if _heirs(change) else ()
    return (Fix(text=keep), *moved, _REBUILD_AS_WELL if moved else REBUILD)


def _heirs(change: MeaningChange) -> tuple[RowHeir | CountHeir, ...]:
    """Where NEW's parts of what is kept are in OLD, here and behind it, if all of it is told."""
    changes = (change, *change.behind)
    if any(one.parts is None or not all(part.can_move for part in one.parts) for one in changes):
        return ()
    return tuple(_heir(one.pair, part) for one in changes for part in one.parts or ())


def _heir(pair: Pair, part: Part | Uncounted) -> RowHeir | CountHeir:
    if isinstance(part, Uncounted):
        return CountHeir(pair.old, pair.new, part.state, COUNTED)
    begins = {now: name for now, (place, name) in enumerate(zip(part.places, part.now, strict=True)) if place is None}
    return RowHeir(
        old=pair.old,
        new=pair.new,
        state=part.state,
        places=part.places,
        begins=begins,
        zero=frozenset(now for now in begins if part.start[now] is Start.ZERO),
        gone={place: name for place, name in enumerate(part.was) if place not in part.places},
        renamed=part.renamed,
        of_rows=part.of_rows,
        along=frozenset(now for now in begins if part.same[now]),
        filled=part.filled - begins.keys(),
        counted=COUNTED if part.uncounted else None,
    )


def _reason(pair: Pair, check: Check, *, refused: bool) -> str:
    changed = [change for one, change, _ in restores.unreadable(check) if one is pair] if refused else []
    of_key = [change for change in changed if not change.name]  # its timers are of the same types
    types = dict.fromkeys(reason for change in of_key or changed for reason in change.reasons)
    if _is_moved(pair, check):
        return "Its id has moved, and its part of the query changed, too."
    if types:
        return f"Flink finds state by the operator's id, and compares its types: {' '.join(types)}"
    return (
        "Flink finds state by the operator's id alone, which is the same in both versions; it does not know what the query "
        "means."
    )


def _is_moved(pair: Pair, check: Check) -> bool:
    """True if OLD's operator does not have the id of NEW's."""
    return all((one.old.id, one.new.id) != (pair.old.id, pair.new.id) for one in check.mapping.pairs)


def is_refused(pair: Pair, check: Check) -> bool:
    """True if the types of the states changed, so that the operator does not start at all."""
    answer = check.answer(pair)
    if answer is not None:
        return bool(answer.problems)
    news = {state.name: state for state in pair.new.states or ()}
    return any(
        (new := news.get(state.name)) is not None
        and (state.type, state.key_type, state.namespace_type) != (new.type, new.key_type, new.namespace_type)
        for state in pair.old.states or ()
    )


def called(operator: Operator) -> str:
    """The name of an operator of a query for people: Flink's name; the line of the finding shows the table of its statement."""
    return operator.name
