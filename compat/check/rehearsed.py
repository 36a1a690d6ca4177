"""The results of restoring OLD's real state into NEW's operators: the records of a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from compat.check.findings import ReadState, RehearsedOperator
from compat.plan.facts import Program
from compat.state.model.operators import Operator

if TYPE_CHECKING:
    from compat.loader.jvm.answers import Answer, Answers
    from compat.loader.jvm.messages import Rehearsal


def rehearsed(new: Program, answers: Answers) -> tuple[RehearsedOperator, ...]:
    """The operators of NEW whose state was restored, in NEW's order; those without any real state are left out."""
    return tuple(
        one
        for operator in new.operators
        if (answer := answers.operators.get(operator.node)) is not None
        for one in _operator(operator, answer, answer.rehearsal)
    )


def not_tried(new: Program, answers: Answers) -> tuple[str, ...]:
    """Sentences on the parts of the state that were left out of the restore."""
    found = ((operator, answers.operators.get(operator.node)) for operator in new.operators)
    return tuple(f"{one.label}: {note}" for one, answer in found if answer is not None for note in answer.notes)


def _operator(operator: Operator, answer: Answer, found: Rehearsal) -> Iterator[RehearsedOperator]:
    states = (*_refused(answer), *_read(answer, found))
    if states or found.key_groups:
        yield RehearsedOperator(
            operator=operator,
            states=states,
            key_groups=found.key_groups,
            key_groups_read=found.key_groups_read,
            bytes=found.size,
            bytes_read=found.size_read,
            notes=found.notes,
        )


def _refused(answer: Answer) -> Iterator[ReadState]:
    """The states that are not restored, whatever their values."""
    for problem in answer.problems:
        for backend in problem.backends:
            named = [(change.scope, change.name) for change in problem.changes if change.name] or [("keyed", "")]
            for scope, name in named:
                yield ReadState(
                    scope=scope,
                    name=name,
                    backend=backend,
                    at="first-read" if problem.at_first_read else "restore",
                    reason=problem.failure.message,
                )


def _read(answer: Answer, found: Rehearsal) -> Iterator[ReadState]:
    migrated = {(change.scope, change.name) for change in answer.migrations}
    for one in found.states:
        failed = one.failure is not None
        yield ReadState(
            scope=one.scope,
            name=one.name,
            backend=one.backend,
            read=one.read,
            migrated=(one.scope, one.name) in migrated,
            at=one.at if failed else None,
            key_group=one.key_group,
            key=one.key,
            reason="" if one.failure is None else (one.failure.cause or one.failure.message),
        )
