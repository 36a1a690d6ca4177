"""Why the generated id of an operator is another one: position, chained outputs, inputs, up to where it began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from compat.check.similarity import recorded
from compat.plan.facts import Program
from compat.state.model.operators import Operator


class Step(Struct, frozen=True):
    """One operator on the way to the cause: OLD's, NEW's, and what is different about them."""

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
        yield Step(old, new, tuple(_differences(old, new, _reads(moved, olds, news) if moved and rewired else None)))
        if moved is None or rewired or old.uid != new.uid or moved[0] not in olds or moved[1] not in news:
            return
        old, new = olds[moved[0]], news[moved[1]]


def _reads(moved: tuple[str, str], olds: Mapping[str, Operator], news: Mapping[str, Operator]) -> str:
    """An input that is another operator now, for the one that it was still is there, or was there before."""
    before = olds.get(moved[0]) or news[moved[0]]
    after = news.get(moved[1]) or olds[moved[1]]
    return f"it reads from {after.label} now, it read from {before.label}"


def why_moved(old: Operator, new: Operator, old_program: Program, new_program: Program) -> str:
    """One sentence: what moved the id, and where it began if that is further up."""
    if recorded(old) and old.uid == new.uid:
        return (
            "Its id is a generated one on both sides and has changed; a savepoint records no graph that would tell what moved "
            "it. Name the program that wrote it with --names."
        )
    way = list(steps(old, new, old_program, new_program))
    own = "; ".join(way[0].differences) or "its id differs"
    if len(way) == 1:
        return f"{own[0].upper()}{own[1:]}."
    cause = next((step for step in reversed(way) if step.differences), way[-1])
    began = "; ".join(cause.differences)
    return f"{own[0].upper()}{own[1:]}. It began at {cause.new.label}: {began}."


def common_cause(old: Operator, new: Operator, old_program: Program, new_program: Program) -> str | None:
    """The cause that moved the ids of this operator and of others, said of all of them; None where none is known.

    Operators that moved only because others were put in before them have that in common; those behind an operator that is
    another one now have that.
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
        yield f"it is operator number {new.position} of the graph, it was number {old.position}"


def _differences(old: Operator, new: Operator, reads: str | None) -> Iterator[str]:
    if old.uid != new.uid:
        if old.uid is None:
            yield f"it has the uid {new.uid!r} now, and an id made of it"
        elif new.uid is None:
            yield f"its uid {old.uid!r} is gone, and its id is a generated one now"
        else:
            yield f"its uid was {old.uid!r} and is {new.uid!r}"
        return
    yield from _place(old, new)
    if old.chained_outputs != new.chained_outputs:
        yield f"the outputs chained to it are {new.chained_outputs}, they were {old.chained_outputs}"
    if len(old.inputs) != len(new.inputs):
        yield f"its inputs are {len(new.inputs)}, they were {len(old.inputs)}"
    elif old.inputs != new.inputs:
        yield reads or "the id of an input moved"
