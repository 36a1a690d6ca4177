"""One finding that lists all operators of NEW with state and a generated id."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.amounts import only_timers
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.identity import WITHOUT_CALL, WITHOUT_USER_HASH, hidden
from compat.check.pinning import OTHER_SOURCE, edit
from compat.check.rule import Rule
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    unpinned = [operator for operator in check.new.operators if _at_risk(operator)]
    if not unpinned:
        return
    out_of_reach = [operator for operator in unpinned if operator.kind in WITHOUT_CALL]
    within_reach = [operator for operator in unpinned if operator.kind not in WITHOUT_CALL]
    first = unpinned[0]
    many = len(unpinned) > 1
    yield check.finding(
        RULE,
        f"{len(unpinned)} stateful operator{'s have generated ids' if many else ' has a generated id'}, which an edit can move",
        consequence="The next edit of the program can move these ids, and their state with them.",
        reason="A generated id depends on the position in the graph, on what is chained behind and on what comes before.",
        new=first,
        fixes=(
            *([_GIVE_UIDS] if within_reach else []),
            *([_out_of_reach(out_of_reach)] if out_of_reach else []),
            *_edits(within_reach, check),
        ),
        related=tuple((operator.label, operator.source) for operator in unpinned[1:] if operator.source is not None),
    )


_GIVE_UIDS = Fix(
    text="Give each of them a uid when the job next starts without old state; on a job that has state, add the uid together "
    "with .set_uid_hash of the present id."
)


def _out_of_reach(operators: list[Operator]) -> Fix:
    labels = ", ".join(operator.label for operator in operators)
    return Fix(text=f"No call gives {labels} a uid: when the job next starts without old state, {OTHER_SOURCE}.")


def _edits(unpinned: list[Operator], check: Check) -> Iterator[Fix]:
    """A uid for each, and the id that it had as user hash: a uid alone would leave the state behind."""
    origins = {pair.new.id: pair.old.id for pair in check.mapping.pairs}
    for operator in unpinned:
        origin = origins.get(operator.id)
        if origin is not None and operator.kind in WITHOUT_USER_HASH:
            continue
        yield edit(operator, "uid", check.fresh_uid(operator))
        if origin is not None and operator.user_hash is None:
            yield edit(operator, "set_uid_hash", origin)


def _at_risk(operator: Operator) -> bool:
    return operator.has_state and operator.uid is None and not only_timers(operator) and not hidden(operator)


RULE = Rule(
    id="CMP104",
    name="stateful-without-uid",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="Stateful operators of NEW have generated ids.",
    why="The next edit of the job can move a generated id, and with it the state out of reach. An id from a uid "
    "stays through any edit.",
    old="keyed.process(Count())",
    new='keyed.process(Count()).uid("count")',
    fix="Give each stateful operator a uid, unique in the job. On a job that already has state, a uid changes the "
    "id too: add the uid for a start without old state, or pin the present id with .set_uid_hash.",
    find=_find,
)
