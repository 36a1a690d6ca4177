"""The inputs of an operator with several inputs: what feeds each, and whether they changed places."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.similarity import own_code, own_function, own_name
from compat.plan.facts import Program
from compat.state.model.operators import Operator

_MOST_WALKED = 50
Marks = frozenset[tuple[str, object]]


def exchanged(old: Operator, new: Operator, before: Program, after: Program) -> bool:
    """True if the two inputs changed places, as far as can be seen. An input is identified by uids, names and functions
    of the operators before it, except those that both inputs share.
    """
    direct, crossed = _in_common(old, new, before, after)
    return crossed > direct


def stayed(old: Operator, new: Operator, before: Program, after: Program) -> bool:
    """True if each of the two inputs is what it was, as far as can be seen."""
    direct, crossed = _in_common(old, new, before, after)
    return direct > crossed


def _in_common(old: Operator, new: Operator, before: Program, after: Program) -> tuple[int, int]:
    """How many marks the inputs share with those of the same number, and with those of the other one."""
    was, now = _marks(old, before), _marks(new, after)
    if was is None or now is None:
        return 0, 0
    return len(was[0] & now[0]) + len(was[1] & now[1]), len(was[0] & now[1]) + len(was[1] & now[0])


def moved_along(old: Operator, new: Operator) -> bool:
    """True if the code for two inputs changed places with them, so that each state is still used for the same records."""
    before, after = old.detail.get("holding"), new.detail.get("holding")
    if before is None or after is None:
        return False
    return before.by_side != after.by_side and before.by_side == after.by_side[::-1]


def _marks(operator: Operator, program: Program) -> tuple[Marks, Marks] | None:
    """The marks of what feeds the first and the second input, without those that feed both; None if it has no two inputs."""
    numbers = operator.detail.get("input_numbers") or []
    if set(numbers) != {1, 2} or len(numbers) != len(operator.inputs):
        return None
    first, second = (
        _marks_of([id for id, feeds in zip(operator.inputs, numbers, strict=True) if feeds == number], program)
        for number in (1, 2)
    )
    return first - second, second - first


def _marks_of(ids: list[str], program: Program) -> Marks:
    return frozenset(mark for operator in _upstream(ids, program) for mark in _of(operator))


def _upstream(ids: list[str], program: Program) -> Iterator[Operator]:
    """The operators of these ids and all that feed them, the nearest first."""
    todo, seen = list(ids), set(ids)
    while todo and len(seen) <= _MOST_WALKED:
        operator = program.by_id.get(todo.pop(0))
        if operator is None:
            continue
        yield operator
        todo += [id for id in operator.inputs if id not in seen]
        seen.update(operator.inputs)


def ways(operator: Operator, program: Program) -> list[tuple[str, int]]:
    """The kinds of the operators before this one, the nearest first, and how many were merged into each."""
    return [(one.kind, len(one.merged)) for one in _upstream(list(operator.inputs), program)]


def _of(operator: Operator) -> Iterator[tuple[str, object]]:
    code = own_code(operator)
    if operator.uid is not None:
        yield "uid", operator.uid
    if own_name(operator) is not None:
        yield "name", own_name(operator)
    if own_function(operator) is not None:
        yield "function", own_function(operator)
    if code is not None and code.captured:
        yield "values", (code.name, code.captured)
    for selector in operator.key_selectors:
        if selector is not None:
            yield "key", (selector.name, selector.digest, selector.captured)
