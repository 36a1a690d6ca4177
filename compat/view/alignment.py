"""Pairs the boxes of two graphs: operators by their properties, vertices by the operators they share.

This is for the eye. Where state goes is decided in :mod:`compat.check.mapping` and drawn over it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from compat.check.identity import find_wrong_hands
from compat.check.mapping import map_state
from compat.check.similarity import find_successors, similarity
from compat.plan.facts import Program

Slot = tuple[int | None, int | None]
"""An index on the side OLD and one on the side NEW; None for a side without a box there."""


def match_operators(old: Program, new: Program) -> dict[int, int]:
    """For operators of OLD, by index, the operator of NEW that is the same one to a reader.

    Pairs of the restore come first, unless the operators are not alike or the state would reach wrong hands; then come similar
    operators among the rest.
    """
    mapping = map_state(old, new)
    strays = find_wrong_hands(mapping, new)
    matched = {
        pair.old.id: pair.new.id
        for pair in mapping.pairs
        if pair.old.id not in strays and similarity(pair.old, pair.new) > 0
    }
    taken = set(matched.values())
    alike = find_successors(
        [operator for operator in old.operators if operator.id not in matched],
        [operator for operator in new.operators if operator.id not in taken],
    )
    matched.update((old_id, operator.id) for old_id, operator in alike.items())
    places = {operator.id: index for index, operator in enumerate(new.operators)}
    return {
        index: places[matched[operator.id]] for index, operator in enumerate(old.operators) if operator.id in matched
    }


def match_groups(
    old: Sequence[Sequence[int]], new: Sequence[Sequence[int]], matched: Mapping[int, int]
) -> dict[int, int]:
    """For groups of OLD, by index, the group of NEW that shares the most matched members; each serves once."""
    group_of = {member: index for index, members in enumerate(new) for member in members}
    shared = Counter(
        (index, group_of[matched[member]])
        for index, members in enumerate(old)
        for member in members
        if member in matched and matched[member] in group_of
    )
    found: dict[int, int] = {}
    taken: set[int] = set()
    for (one, other), _ in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
        if one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


def slots(old: Iterable[int], new: Iterable[int], matched: Mapping[int, int]) -> list[Slot]:
    """Both sequences as one list of slots: matched ones share a slot, in the order of NEW; the rest stays in its place.

    >>> slots([0, 1, 2], [5, 6], {0: 5, 2: 6})
    [(0, 5), (1, None), (2, 6)]
    """
    olds, news = list(old), list(new)
    here = set(news)
    place = {one: index for index, one in enumerate(olds)}
    partner = {matched[one]: one for one in olds if matched.get(one) in here}
    alone = [matched.get(one) not in here for one in olds]
    ordered: list[Slot] = []
    passed = 0
    for other in news:
        one = partner.get(other)
        if one is not None:
            ordered += [(olds[index], None) for index in range(passed, place[one]) if alone[index]]
            passed = max(passed, place[one])
        ordered.append((one, other))
    return ordered + [(olds[index], None) for index in range(passed, len(olds)) if alone[index]]
