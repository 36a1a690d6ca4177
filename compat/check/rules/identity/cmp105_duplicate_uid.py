"""Uids that several operators have: Flink refuses the program, and this is the uid that each should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from compat.check import code_suggestions
from compat.check.findings import Fate, Fix, Level
from compat.check.identity import hidden
from compat.check.pinning import edit
from compat.check.rule import Rule
from compat.check.similarity import find_successors, similarity
from compat.plan.facts import Program
from compat.state.model.operators import Operator

_Place = tuple[str, tuple[int, int]]

_WRITER = "sink_writer"


def fixes(old: Program, apart: Program, shared: Mapping[int, str]) -> Iterator[Fix]:
    """Another uid for all but one of the operators that share one.

    ``apart`` is NEW with each uid on the first operator only, ``shared`` the uids by node. The operator most similar to OLD's
    operator with that uid keeps it. The others get back the uids that they had in OLD, if these are known, or new ones. The
    uids of a sink's parts are made from the sink's uid, which the writer has.
    """
    claimants: dict[str, list[Operator]] = {}
    for operator in sorted(apart.operators, key=lambda operator: operator.node):
        if operator.node in shared:
            claimants.setdefault(shared[operator.node], []).append(operator)
    sinks = {_place(operator) for those in claimants.values() for operator in those if operator.kind == _WRITER}
    sinks.discard(None)
    others = [
        (uid, operator)
        for uid, those in claimants.items()
        if not all(operator.kind != _WRITER and _place(operator) in sinks for operator in those)
        for operator in _others(uid, those, old)
    ]
    kept = apart.uids
    taken = set(old.uids | kept)
    unclaimed = [old for old in old.operators if old.uid is not None and old.uid not in kept]
    origins = {
        new.id: old_id for old_id, new in find_successors(unclaimed, [operator for _, operator in others]).items()
    }
    runs = Counter((_place(operator), operator.kind) for operator in apart.operators if not hidden(operator))
    told: set[tuple[str, _Place | None]] = set()
    for uid, operator in others:
        place = _place(operator)
        times = runs[place, operator.kind]
        if place is not None and times > 1:
            if (uid, place) not in told:
                told.add((uid, place))
                yield _fix_of_a_loop(uid, times)
            continue
        origin = old.by_id[origins[operator.id]].uid if operator.id in origins else None
        wanted = origin or code_suggestions.fresh_uid(operator, taken)
        taken.add(wanted)
        yield edit(replace(operator, uid=uid), "uid", wanted)


def _others(uid: str, claimants: list[Operator], old: Program) -> list[Operator]:
    """The operators that have to give the uid up."""
    owner = next((operator for operator in old.operators if operator.uid == uid), None)
    keeper = claimants[0] if owner is None else max(claimants, key=lambda claimant: similarity(owner, claimant))
    return [claimant for claimant in claimants if claimant is not keeper]


def _place(operator: Operator) -> _Place | None:
    """Where the call that makes the operator ends. Several operators of one kind come of several runs of that call."""
    if operator.source is None or operator.source.end is None:
        return None
    return operator.source.file, operator.source.end


def _fix_of_a_loop(uid: str, times: int) -> Fix:
    """The fix where an edit of the call would give all operators that it makes the same uid again."""
    pattern = uid.replace("{", "{{").replace("}", "}}") + "-{number}"
    return Fix(
        text=f"One line makes {times} operators, of which one should not have the uid {uid!r}: give each a uid of its own.",
        code=f".uid(f{code_suggestions.text_of(pattern)})",
    )


RULE = Rule(
    id="CMP105",
    name="duplicate-uid",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="Two operators of a job have the same uid.",
    why="The id is the hash of the uid, so both would have the same id. Flink refuses the job: hash collision on "
    "a user-specified ID.",
    old='a.map(f).uid("clean")\nb.map(g).uid("tidy")',
    new='a.map(f).uid("clean")\nb.map(g).uid("clean")',
    fix="Give one of the two another uid: the one whose state is not needed, or that has none.",
)
