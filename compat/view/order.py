"""The order of tables about a check: problems first, the rest in the program's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compat.check.findings import Level
from compat.state.model.operators import Operator

Json = dict[str, Any]

FATES = ("refused", "lost", "dropped", "wrong-hands", "unknown", "migrated", "empty", "restored")
"""The fates of state, the worst first."""

_LEVELS = [level.value for level in Level]


def rows_in_order(rows: Sequence[Json]) -> list[Json]:
    """The rows of the mapping, or the accounts, of a report's JSON, with the worst fates first."""
    return sorted(rows, key=lambda row: FATES.index(row["fate"]))


def ranks(document: Json, side: str) -> Mapping[str, tuple[int, int]]:
    """How bad it is with the operators of a side, by id, the worst least: their worst finding, then the fate of their state."""
    found: dict[str, tuple[int, int]] = {}
    items = [(finding[side], (_LEVELS.index(finding["level"]), 0)) for finding in document["findings"]]
    items += [(row[side], (len(_LEVELS), FATES.index(row["fate"]))) for row in document["mapping"]]
    for operator, rank in items:
        if operator is not None:
            found[operator["operator_id"]] = min(rank, found.get(operator["operator_id"], rank))
    return found


def problems_first(operators: Sequence[Operator], ranks: Mapping[str, tuple[int, int]]) -> list[int]:
    """The indices of operators in the order of their ranks; those without a rank come last."""
    return sorted(range(len(operators)), key=lambda index: ranks.get(operators[index].id, _CALM))


def groups_in_order(groups: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """The indices of groups in the order of their best-ranked members; empty groups come last."""
    place = {member: index for index, member in enumerate(order)}
    return sorted(range(len(groups)), key=lambda index: min((place[one] for one in groups[index]), default=len(order)))


_CALM = (len(_LEVELS), FATES.index("restored"))
