"""Explains why the generated id of an operator changed: position, chained outputs, inputs, back to the first cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from compat.check.similarity import recorded
from compat.plan.facts import Program
from compat.state.model.operators import Operator


class Step(Struct, frozen=True):
    """One operator on the way to the cause: in OLD and in NEW, and its differences."""

    old: Operator
    new: Operator
    differences: tuple[str, ...]


def steps(old: Operator, new: Operator, old_program: Program, new_program: Program) -> Iterator[Step]:
    """The operator itself, then the input whose id differs, and so on, up to the first cause."""
    olds, news = old_program.by_id, new_program.by_id
    seen: set[str] = set()
    while old.id not in seen:
        seen.add(old.id)
        moved = next(
            ((before, after) for before, after in zip(old.inputs, new.inputs, strict=False) if before != after),
            None,
        )
        rewired = moved is not None and (moved[0] in news or moved[1] in olds)
        reads = _reads(moved, olds, news) if moved and rewired else None
        chained = _chained(old, new, old_program, new_program)
        yield Step(old, new, tuple(_differences(old, new, reads, chained)))
        if moved is None or rewired or old.uid != new.uid or moved[0] not in olds or moved[1] not in news:
            return
        old, new = olds[moved[0]], news[moved[1]]


def _reads(moved: tuple[str, str], olds: Mapping[str, Operator], news: Mapping[str, Operator]) -> str:
    """The input that another operator has replaced, while the former one still exists or the new one existed before."""
    before = olds.get(moved[0]) or news[moved[0]]
    after = news.get(moved[1]) or olds[moved[1]]
    if moved[0] in after.inputs:
        return f"{after.label} was put between it and {before.label}"
    if moved[1] in before.inputs:
        return f"{before.label} between it and {after.label} was taken out"
    if before.label == after.label:
        return f"it reads from a different operator named {after.label}"
    return f"it reads from {after.label} instead of {before.label}"


def why_moved(old: Operator, new: Operator, old_program: Program, new_program: Program) -> str:
    """One sentence: the cause of the id's change, and where it began if that is further up."""
    if recorded(old) and old.uid == new.uid:
        return (
            "Its id is generated on both sides and has changed; a savepoint records no graph that would show "
            "why. Name the program that wrote it with --names."
        )
    way = list(steps(old, new, old_program, new_program))
    own = "; ".join(way[0].differences) or "its id differs"
    if len(way) == 1:
        return f"{own[0].upper()}{own[1:]}."
    cause = next((step for step in reversed(way) if step.differences), way[-1])
    began = "; ".join(cause.differences)
    return f"{own[0].upper()}{own[1:]}. It began at {cause.new.label}: {began}."


def common_cause(old: Operator, new: Operator, old_program: Program, new_program: Program) -> str | None:
    """The cause that changed the ids of this operator and of others, in words for all of them; None if unknown.

    Operators share a cause if others were inserted before them, or if they are behind the same replaced operator.
    """
    if recorded(old):
        return None
    began = next((step for step in reversed(list(steps(old, new, old_program, new_program))) if step.differences), None)
    if began is None:
        return None
    moved = began.new.position - began.old.position
    if began.differences == tuple(_place(began.old, began.new)):
        places = f"{abs(moved)} place{'s' * (abs(moved) != 1)}"
        return f"have other ids, as they stand {places} {'later' if moved > 0 else 'earlier'} in the graph"
    return f"have other ids; it began at {began.new.label}: {'; '.join(began.differences)}"


def _place(old: Operator, new: Operator) -> Iterator[str]:
    if old.position != new.position:
        yield f"it moved from place {old.position} to place {new.position} of the graph"


def _chained(old: Operator, new: Operator, old_program: Program, new_program: Program) -> str | None:
    """The outputs that were chained to an operator, or are no longer; None if their number is unchanged."""
    more = new.chained_outputs - old.chained_outputs
    if not more:
        return None
    before, after = (
        [one for one in program.operators if operator.id in one.inputs]
        for operator, program in ((old, old_program), (new, new_program))
    )
    (fewer, many) = (before, after) if more > 0 else (after, before)
    changed = [one for one in many if one.label not in {other.label for other in fewer}]
    noun = "sink" if changed and all("sink" in one.kind for one in changed) else "operator"
    if more > 1:
        return f"{more} more {noun}s were chained to it"
    if more == 1:
        return f"a {_ORDINALS[min(old.chained_outputs, len(_ORDINALS) - 1)]} {noun} was chained to it"
    return f"{-more} {noun}s are no longer chained to it" if more < -1 else f"one {noun} is no longer chained to it"


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "further")


def _differences(old: Operator, new: Operator, reads: str | None, chained: str | None) -> Iterator[str]:
    if old.uid != new.uid:
        if old.uid is None:
            yield f"it got the uid {new.uid!r}, which makes its id"
        elif new.uid is None:
            yield f"its uid {old.uid!r} was removed, so that its id is generated"
        else:
            yield f"its uid was changed from {old.uid!r} to {new.uid!r}"
        return
    yield from _place(old, new)
    if chained is not None:
        yield chained
    more = len(new.inputs) - len(old.inputs)
    if more:
        inputs = f"{abs(more)} input{'s' if abs(more) > 1 else ''}"
        yield f"it got {inputs} more" if more > 0 else f"it lost {inputs}"
    elif old.inputs != new.inputs:
        yield reads or "the id of an input moved"
