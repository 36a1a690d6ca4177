"""CMP105 duplicate-uid: which uid each operator should have. The refusal itself is Flink's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from compat.check.findings import Fix
from compat.check.rules.pinning import edit, fresh_uid
from compat.check.similarity import find_successors, similarity
from compat.plan.facts import Operator, Program


def fixes(old: Program, apart: Program, shared: Mapping[int, str]) -> Iterator[Fix]:
    """Another uid for all but one of the operators that share one.

    ``apart`` is NEW with each uid on the first operator only, ``shared`` the uids by node. The operator that is most like
    OLD's of that uid keeps it; another one gets back the uid that it had in OLD, if it can be told, or a new one.
    """
    claimants: dict[str, list[Operator]] = {}
    for operator in sorted(apart.operators, key=lambda operator: operator.node):
        if operator.node in shared:
            claimants.setdefault(shared[operator.node], []).append(operator)
    others = [(uid, operator) for uid, those in claimants.items() for operator in _others(uid, those, old)]
    kept = apart.uids
    taken = set(old.uids | kept)
    unclaimed = [old for old in old.operators if old.uid is not None and old.uid not in kept]
    origins = {
        new.id: old_id for old_id, new in find_successors(unclaimed, [operator for _, operator in others]).items()
    }
    by_id = {operator.id: operator for operator in old.operators}
    for uid, operator in others:
        if _same_call(operator, claimants[uid]):
            yield Fix(
                text=f"One line makes {len(claimants[uid])} operators with the uid {uid!r}: give each a uid of its own.",
                code=f'.uid(f"{uid}-{{number}}")',
            )
            return
        origin = by_id[origins[operator.id]].uid if operator.id in origins else None
        wanted = origin or fresh_uid(operator, taken)
        taken.add(wanted)
        yield edit(replace(operator, uid=uid), "uid", wanted)


def _others(uid: str, claimants: list[Operator], old: Program) -> list[Operator]:
    """The operators that have to give the uid up."""
    owner = next((operator for operator in old.operators if operator.uid == uid), None)
    keeper = claimants[0] if owner is None else max(claimants, key=lambda claimant: similarity(owner, claimant))
    return [claimant for claimant in claimants if claimant is not keeper]


def _same_call(operator: Operator, claimants: list[Operator]) -> bool:
    """Whether the call that makes the operator makes another one too, so that an edit would change both."""
    ends = [None if one.source is None else (one.source.file, one.source.end) for one in claimants]
    own = None if operator.source is None else (operator.source.file, operator.source.end)
    return own is None or own[1] is None or ends.count(own) > 1
