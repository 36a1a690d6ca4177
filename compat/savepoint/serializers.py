"""Compares the serializers of two savepoints, as far as their snapshots show."""

from __future__ import annotations

from collections.abc import Iterator

from compat.loader.jvm.differences import between
from compat.savepoint.recorded import Recorded
from compat.state.flink import HeaderReader, OperatorStates, SavepointError, SerializerSnapshot, read_states
from compat.state.flink.headers import StateMeta
from compat.state.flink.remote import read_savepoint

_PARTS = {"USER_KEY_SERIALIZER": "map key", "NAMESPACE_SERIALIZER": "namespace", "KEY_SERIALIZER": "key"}


def unlike(old: Recorded, new: Recorded) -> tuple[str, ...]:
    """Sentences on the keys and states that both have, under the same operator ids and names, with other serializers.

    Only its classes can say whether the later one reads what the earlier wrote. Unreadable serializers are named too.
    """
    try:
        before, after = read_savepoint(old.metadata), read_savepoint(new.metadata)
    except SavepointError as error:
        return (str(error),)
    olds, news = HeaderReader(before), HeaderReader(after)
    later = {operator.id: operator for operator in after.operators}
    names = {operator.id: operator.name or operator.uid or operator.id[:8] for operator in before.operators}
    return tuple(
        sentence
        for operator in before.operators
        if operator.id in later
        for sentence in _of_operator(
            names[operator.id], read_states(before, operator, olds), read_states(after, later[operator.id], news)
        )
    )


def _of_operator(name: str, old: OperatorStates, new: OperatorStates) -> Iterator[str]:
    if old.key_serializer is not None and new.key_serializer is not None:
        yield from _of_part(f"The keys of {name!r}", old.key_serializer, new.key_serializer)
    for before, after in ((old.keyed, new.keyed), (old.lists, new.lists), (old.broadcast, new.broadcast)):
        others = {state.name: state for state in after}
        for state in before:
            if state.name in others:
                yield from _of_state(f"The state {state.name!r} of {name!r}", state, others[state.name])


def _of_state(what: str, old: StateMeta, new: StateMeta) -> Iterator[str]:
    if (old.type, old.options) != (new.type, new.options):
        kinds = [" ".join(value for _, value in state.options) or state.type for state in (old, new)]
        yield f"{what} is of another kind: {kinds[0]} became {kinds[1]}."
    for part, snapshot in old.serializers:
        other = new.serializer(part)
        if other is not None:
            yield from _of_part(f"{what}{f', its {_PARTS[part]}' if part in _PARTS else ''}", snapshot, other)


def _of_part(what: str, old: SerializerSnapshot, new: SerializerSnapshot) -> Iterator[str]:
    if old == new and old.complete:
        return
    found = tuple(between(old, new)) if old != new else ()
    said = " ".join(one[:1].upper() + one[1:] for one in found)
    if old == new:
        said = f"Its serializer {old.serializer or old.class_name} is written in a form that only its class reads."
    yield f"{what} has another serializer. {said}".strip() if old != new else f"{what}: {said}"
