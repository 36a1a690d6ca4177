"""The results of a restore by Flink's own classes, by operator: what failed and why, what is migrated, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from compat.loader.jvm.differences import differences, snapshots
from compat.loader.jvm.messages import (
    Node,
    OperatorRestore,
    Part,
    Rehearsal,
    RestoreAttempt,
    Restored,
    RestoreFailure,
    Sampled,
    Scope,
    StateRestore,
)
from compat.state.flink.snapshots import SerializerSnapshot

KEY = "KEY_SERIALIZER"
_MIGRATION = "StateMigrationException"
_FORBIDDEN = "Generic types have been disabled"
_PARTS = {
    "KEY_SERIALIZER": "key",
    "USER_KEY_SERIALIZER": "map key",
    "NAMESPACE_SERIALIZER": "namespace",
    "VALUE_SERIALIZER": "value",
}


class StateChange(Struct, frozen=True, kw_only=True):
    """A state whose serializers changed. ``name`` is empty for the key of all keyed states.

    ``reasons`` are sentences: the field, constant or class that differs. ``other_kind`` marks a state of another kind,
    such as a map in place of a value, ``untold`` one whose serializer snapshots do not explain the change. ``lost`` are
    fields of POJOs in OLD's classes that NEW's lack, by class and name. ``snapshots`` are the differing serializer
    snapshots of both versions, of values and of a broadcast map's keys. ``other_kryo`` marks a state of unchanged types
    that Kryo of Flink 1 wrote.
    """

    name: str
    scope: Scope
    fails: bool
    reasons: tuple[str, ...]
    other_kind: bool = False
    untold: bool = False
    other_kryo: bool = False
    lost: tuple[tuple[str, str], ...] = ()
    snapshots: tuple[tuple[SerializerSnapshot, SerializerSnapshot], ...] = ()


class RestoreProblem(Struct, frozen=True, kw_only=True):
    """A restore of an operator that fails on some backends; ``failure`` is Flink's exception on the first of them.

    ``changes`` are the states that cannot be read, according to the serializers; ``at_first_read`` says that the job
    would start, and fail when it reads a value, ``for_values`` that the operator refuses even its own state without
    values.
    """

    node: int
    operator_id: str
    backends: tuple[str, ...]
    failure: RestoreFailure
    at_first_read: bool
    changes: tuple[StateChange, ...]
    for_values: bool = False


class Answer(Struct, frozen=True, kw_only=True):
    """Flink's results for the state of one operator: the ways in which its restore fails, and what is migrated.

    ``missing`` are OLD's states that NEW does not declare, ``sampled`` made-up values that NEW read, ``rehearsal`` the
    results for real ones, ``misplaced`` how many of them are in a key group where they are not looked up, ``notes``
    what was not tried.
    """

    problems: tuple[RestoreProblem, ...] = ()
    migrations: tuple[StateChange, ...] = ()
    missing: tuple[StateRestore, ...] = ()
    sampled: tuple[Sampled, ...] = ()
    rehearsal: Rehearsal
    misplaced: int = 0
    notes: tuple[str, ...] = ()


class Answers(Struct, frozen=True, kw_only=True):
    """Flink's results for the state of a job: an answer for each operator that got state, by NEW's node.

    ``failure`` says why nothing could be tried, ``hint`` what to do about it, ``note`` what was left out.
    """

    operators: Mapping[int, Answer]
    failure: str = ""
    hint: str = ""
    note: str = ""


def answers_of(restored: Restored, nodes: Mapping[int, Node], note: str = "") -> Answers:
    """The answers in a restore into the job that has these nodes.

    A function whose ``open`` fails without any state cannot be tried: for it, only Flink's answers on serializers count.
    """
    return Answers(
        operators={one.node: _answer(one, nodes[one.node]) for one in restored.operators if one.attempts},
        failure=restored.failure,
        note=note,
    )


def _answer(restored: OperatorRestore, node: Node) -> Answer:
    found = tuple(problems((restored,)))
    if node.states.unknown:
        found = tuple(one for one in found if _is_of_flink(one.failure))
    return Answer(
        problems=found,
        migrations=tuple(
            change for _, change in migrations((restored,)) if (change.scope, change.name) not in _failing(restored)
        ),
        missing=tuple(state for _, state in missing((restored,))),
        sampled=restored.sampled,
        rehearsal=restored.rehearsal,
        misplaced=restored.rehearsal.misplaced,
        notes=restored.notes,
    )


def _is_of_flink(failure: RestoreFailure) -> bool:
    """Whether Flink itself refuses: a serializer, or a type that the job's own settings forbid (``GenericTypeInfo``)."""
    return _MIGRATION in failure.type or failure.message.startswith(_FORBIDDEN)


def _failing(restored: OperatorRestore) -> set[tuple[str, str]]:
    """The states of which real values fail."""
    return {(one.scope, one.name) for one in restored.rehearsal.states if one.failure is not None}


def problems(restored: Iterable[OperatorRestore]) -> Iterator[RestoreProblem]:
    """The failing restores. Attempts that fail in different ways are kept apart."""
    for operator in restored:
        changes = tuple(change for change in _changes(operator.states) if change.fails)
        failed = [attempt for attempt in operator.attempts if attempt.failure is not None]
        for group in _by_way(failed):
            first = group[0]
            assert first.failure is not None
            yield RestoreProblem(
                node=operator.node,
                operator_id=operator.operator_id,
                backends=tuple(one.backend for one in group),
                failure=first.failure,
                at_first_read=first.at_first_read,
                for_values=all(one.for_values for one in group),
                changes=changes,
            )


def _by_way(failed: list[RestoreAttempt]) -> Iterator[list[RestoreAttempt]]:
    for late in (False, True):
        group = [one for one in failed if one.at_first_read is late]
        if group:
            yield group


def migrations(restored: Iterable[OperatorRestore]) -> Iterator[tuple[int, StateChange]]:
    """The states that Flink rewrites, by node, for operators that are restored on at least one state backend."""
    for operator in restored:
        if any(one.failure is None for one in operator.attempts) or not operator.attempts:
            yield from ((operator.node, change) for change in _changes(operator.states) if not change.fails)


def missing(restored: Iterable[OperatorRestore]) -> Iterator[tuple[int, StateRestore]]:
    """The states of OLD that NEW does not declare before its first record, by node."""
    for operator in restored:
        yield from ((operator.node, state) for state in operator.states if state.missing)


def _changes(states: Iterable[StateRestore]) -> Iterator[StateChange]:
    for state in states:
        changed = [part for part in state.parts if part.resolved not in ("as-is", "reconfigured")]
        reasons = [reason for part in changed for reason in _reasons(part)]
        other_kind = state.old_kind != state.new_kind
        if other_kind:
            reasons.insert(0, f"It was a {state.old_kind} state and is a {state.new_kind} state.")
        if changed or other_kind:
            yield StateChange(
                name=state.name,
                scope=state.scope,
                fails=other_kind or any(part.resolved != "after-migration" or _is_fixed(part) for part in changed),
                reasons=tuple(reasons),
                other_kind=other_kind,
                untold=any(
                    not part.why and part.resolved != "other-kryo" and not differences(part.old, part.new)
                    for part in changed
                ),
                other_kryo=not other_kind and all(part.resolved == "other-kryo" for part in changed),
                lost=tuple(field for part in changed for field in part.lost),
                snapshots=tuple(
                    read
                    for part in changed
                    if not _is_fixed(part) and (read := snapshots(part.old, part.new)) is not None
                ),
            )


def _sentence(text: str) -> str:
    """A sentence with a capital letter, unless it begins with the name of a class."""
    return text if "." in text.split()[0] else text[:1].upper() + text[1:]


def _is_fixed(part: Part) -> bool:
    """True for a part that no backend migrates: keys and namespaces place a value."""
    return part.name in (KEY, "NAMESPACE_SERIALIZER")


def _reasons(part: Part) -> Iterator[str]:
    found = differences(part.old, part.new)
    what = _PARTS.get(part.name, "value")
    for sentence in found:
        yield _sentence(sentence) if what == "value" else f"The {what}: {sentence}"
    if part.why:
        yield f"The {what}'s serializer cannot be asked: {part.why}."
    elif not found:
        yield f"The {what}'s serializer {part.new.serializer or part.new.snapshot} does not read its old bytes."
