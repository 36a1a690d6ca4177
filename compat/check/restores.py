"""Shared code of the rules about the results of Flink's own classes for OLD's state, if they were asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from compat.check.context import Check
from compat.check.mapping import Pair

if TYPE_CHECKING:
    from compat.loader.jvm.answers import Answer, RestoreProblem, StateChange
    from compat.loader.jvm.messages import StateReading

_SHOWN = {"hashmap": "the heap", "rocksdb": "RocksDB"}
_MOMENTS = {
    "restore": "the task fails when it starts",
    "first-read": "the job starts, and fails when it reads such a value",
    "moved": "the job starts, and fields of old values silently hold something else",
    "unfit": "the job starts, and fails when it takes such a part out of a value",
    "checkpoint": "the job starts, and its first checkpoint fails, as NEW's serializer does not write such a value",
}


def answered(check: Check) -> Iterator[tuple[Pair, Answer]]:
    """The pairs of the same operator for which Flink was asked, with its result for their state."""
    for pair in check.right_pairs:
        answer = check.answer(pair)
        if answer is not None:
            yield pair, answer


def problems(check: Check) -> Iterator[tuple[Pair, RestoreProblem]]:
    """The restores that fail on NEW's state backend, or on any tried backend if NEW sets none."""
    for pair, answer in answered(check):
        for problem in answer.problems:
            if (chosen := check.backend) not in _SHOWN or {chosen, "any"} & set(problem.backends):
                yield pair, problem


def failed_values(check: Check) -> Iterator[tuple[Pair, tuple[StateReading, ...]]]:
    """The states with values that fail on NEW's state backend, or on any if it sets none: how, on each backend."""
    for pair, answer in answered(check):
        found: dict[tuple[str, str], list[StateReading]] = {}
        for one in _failed(answer, check.backend):
            found.setdefault((one.scope, one.name), []).append(one)
        yield from ((pair, tuple(readings)) for readings in found.values())


def reads_samples(check: Check, pair: Pair, scope: str, name: str) -> bool:
    """Whether made-up values of a state, with all of their fields filled, went through NEW's serializers unchanged.

    On the state backend of NEW, or on all that were tried if it sets none.
    """
    answer, chosen = check.answer(pair), check.backend
    if answer is None or any((one.scope, one.name) == (scope, name) and one.failure for one in _failed(answer, chosen)):
        return False
    return any(
        (one.scope, one.name) == (scope, name) and one.whole and not one.unlike and _concerns(one.backends, chosen)
        for one in answer.sampled
    )


def _failed(answer: Answer, chosen: object) -> Iterator[StateReading]:
    return (one for one in answer.rehearsal.states if one.failure is not None and _concerns((one.backend,), chosen))


def _concerns(backends: tuple[str, ...], chosen: object) -> bool:
    """Whether a trial on these state backends holds for the backend that NEW sets; if it sets none, each counts."""
    return chosen not in _SHOWN or bool({"any", chosen} & set(backends))


def consequence_of_values(readings: tuple[StateReading, ...]) -> str:
    """The consequence of failing values: when it shows, and on which state backends."""
    said = dict.fromkeys(
        f"{_MOMENTS[one.at]}." if one.backend == "any" else f"With state on {_SHOWN[one.backend]} {_MOMENTS[one.at]}."
        for one in readings
    )
    return " ".join(one[:1].upper() + one[1:] for one in said)


def unreadable(check: Check) -> Iterator[tuple[Pair, StateChange, RestoreProblem]]:
    """The states that NEW cannot read according to its serializers, each once; keys have no name."""
    seen = set()
    for pair, problem in problems(check):
        for change in problem.changes:
            if (pair.new.node, change.scope, change.name) not in seen:
                seen.add((pair.new.node, change.scope, change.name))
                yield pair, change, problem


def consequence(check: Check, problem: RestoreProblem) -> str:
    """The consequence of a failed restore: when it shows, and on which state backends."""
    when = (
        "The job starts, and fails when it reads a value" if problem.at_first_read else "The task fails when it starts"
    )
    if check.backend in _SHOWN or set(problem.backends) in ({"any"}, set(_SHOWN)):
        return f"{when}."
    return f"{when}, with state on {' and on '.join(_SHOWN[one] for one in problem.backends if one in _SHOWN)}."
