"""The boxes of two graphs that a reader has to look at: differences between the programs, and findings of the check.

Generated ids are not compared: one operator more moves those of all behind it, and where that matters the check says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compat.state.model.operators import Operator
from compat.view.layers import Side

Json = dict[str, Any]
Ends = tuple[int, int]

SERIOUS = ("error", "unknown", "migrate")
"""The levels of findings that mark an operator for a reader. A warning may be about every operator there is."""

UNCHANGED = "restored"
"""The fate of state that stays with its operator unchanged."""


def changed_boxes(document: Json, stream: Json, old: Side, new: Side) -> list[int]:
    """The boxes of the layer of operators, by their places in it, that are different or that the check has something on.

    ``document`` is the report as JSON, ``stream`` the layer (:func:`compat.view.layers.joint_layers`).
    """
    boxes: Sequence[Mapping[str, int | None]] = stream["boxes"]
    concerned = _concerned(document)
    found = set()
    for place, box in enumerate(boxes):
        one = _operator(old, box["old"])
        other = _operator(new, box["new"])
        told = (one is not None and one.id in concerned["old"]) or (other is not None and other.id in concerned["new"])
        if told or (_comparable(old) and _differs(one, other)):
            found.add(place)
    if _comparable(old):
        found |= _rewired(stream)
    return sorted(found)


def _operator(side: Side, index: int | None) -> Operator | None:
    return None if index is None else side.program.operators[index]


def _comparable(side: Side) -> bool:
    """Whether it is a program: a savepoint of Flink tells of state only, and has no graph."""
    return side.program.kind != "savepoint"


def _concerned(document: Json) -> dict[str, set[str]]:
    """The ids of the operators of each side that a serious finding is about, or whose state is not just restored."""
    items = [finding for finding in document["findings"] if finding["level"] in SERIOUS]
    items += [row for row in document["mapping"] if row["fate"] != UNCHANGED]
    return {side: {item[side]["operator_id"] for item in items if item[side] is not None} for side in ("old", "new")}


def _differs(one: Operator | None, other: Operator | None) -> bool:
    return one is None or other is None or _shape(one) != _shape(other)


def _shape(operator: Operator) -> tuple[object, ...]:
    """What a reader would call the operator the same by."""
    states = operator.states
    return (
        operator.name,
        operator.kind,
        operator.uid,
        operator.user_hash,
        operator.parallelism,
        operator.max_parallelism,
        operator.has_state,
        None
        if states is None
        else tuple(
            (state.name, state.kind, state.scope, state.type, state.key_type, state.namespace_type, state.ttl)
            for state in states
        ),
    )


def _rewired(stream: Json) -> set[int]:
    """The boxes on both sides that are fed by another one than before, or in another way.

    What is on one side only is looked through: an operator put between two others does not make those two different.
    """
    both = {place for place, box in enumerate(stream["boxes"]) if box["old"] is not None and box["new"] is not None}
    old, new = (_links(stream, side, both) for side in ("old", "new"))
    found = {end for ends in old.keys() ^ new.keys() for end in ends}
    return found | {
        ends[1] for ends in old.keys() & new.keys() if None not in (old[ends], new[ends]) and old[ends] != new[ends]
    }


def _links(stream: Json, side: str, both: set[int]) -> dict[Ends, str | None]:
    """From and to which boxes of both sides records go, directly with what is written on the edge, else with None."""
    ways: dict[int, list[tuple[int, str]]] = {}
    for edge in stream["edges"]:
        if edge[side] is not None:
            ways.setdefault(edge["from"], []).append((edge["to"], edge[side]))
    found: dict[Ends, str | None] = {}
    for start in both:
        seen: set[int] = set()
        waiting: list[tuple[int, str | None]] = [*ways.get(start, ())]
        while waiting:
            place, label = waiting.pop()
            if place in both:
                found[start, place] = label if found.get((start, place), label) == label else None
            elif place not in seen:
                seen.add(place)
                waiting += [(after, None) for after, _ in ways.get(place, ())]
    return found
