"""The groundwork of the rules about what Flink's own classes made of OLD's state, where they were asked."""

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
    "moved": "the job starts, and fields of old values silently hold what others held",
    "checkpoint": "the job starts, and its first checkpoint fails, as NEW's serializer does not write such a value",
}


def answered(check: Check) -> Iterator[tuple[Pair, Answer]]:
    """The pairs of the same operator that Flink was asked about, with what it made of their state."""
    for pair in check.right_pairs:
        answer = check.answer(pair)
        if answer is not None:
            yield pair, answer


def problems(check: Check) -> Iterator[tuple[Pair, RestoreProblem]]:
    """The restores that fail on the state backend of NEW; on any that can be tried, where NEW does not set one."""
    for pair, answer in answered(check):
        for problem in answer.problems:
            if (chosen := check.backend) not in _SHOWN or {chosen, "any"} & set(problem.backends):
                yield pair, problem


def failed_values(check: Check) -> Iterator[tuple[Pair, tuple[StateReading, ...]]]:
    """The states of which real values fail on NEW's state backend, on any where it sets none: how, on each backend."""
    for pair, answer in answered(check):
        found: dict[tuple[str, str], list[StateReading]] = {}
        for one in answer.rehearsal.states:
            if one.failure is not None and ((chosen := check.backend) not in _SHOWN or one.backend == chosen):
                found.setdefault((one.scope, one.name), []).append(one)
        yield from ((pair, tuple(readings)) for readings in found.values())


def consequence_of_values(readings: tuple[StateReading, ...]) -> str:
    """When the failure of real values shows, and on which state backends."""
    return " ".join(f"With state on {_SHOWN.get(one.backend, one.backend)} {_MOMENTS[one.at]}." for one in readings)


def unreadable(check: Check) -> Iterator[tuple[Pair, StateChange, RestoreProblem]]:
    """The states that NEW cannot read by what its serializers say, each once; keys have no name."""
    seen = set()
    for pair, problem in problems(check):
        for change in problem.changes:
            if (pair.new.node, change.scope, change.name) not in seen:
                seen.add((pair.new.node, change.scope, change.name))
                yield pair, change, problem


def consequence(check: Check, problem: RestoreProblem) -> str:
    """When the failure shows, and on which state backends."""
    when = (
        "The job starts, and fails when it reads a value" if problem.at_first_read else "The task fails when it starts"
    )
    if check.backend in _SHOWN or set(problem.backends) in ({"any"}, set(_SHOWN)):
        return f"{when}."
    return f"{when}, with state on {' and on '.join(_SHOWN[one] for one in problem.backends if one in _SHOWN)}."
