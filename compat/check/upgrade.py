"""Shared code of the rules about an upgrade from Flink 1 to Flink 2: who wrote OLD's state, and what Kryo wrote of it."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.mapping import Pair
from compat.state.flink.metadata import FIRST_TO_WRITE
from compat.state.flink.ttl import version_of
from compat.state.model.operators import Operator

REMOVED = {
    "FlinkKafkaConsumer": "KafkaSource, which starts at the group's committed offsets",
    "FlinkKafkaProducer": "KafkaSink",
}
"""The sources and sinks that Flink 2 removed, with their replacements."""


def is_removed(operator: Operator) -> bool:
    """Whether an operator is a source or a sink that Flink 2 removed."""
    return str(operator.detail.get("class")) in REMOVED


def version_of_old(check: Check) -> tuple[int, int] | None:
    """The version that wrote OLD's state; a savepoint's format gives it roughly, if it is not given.

    A job with sources or sinks that Flink 2 removed cannot have run on it, whatever version was given.
    """
    told = version_of(check.old.flink)
    if told is not None and told >= (2, 0) and any(map(is_removed, check.old.operators)):
        return (1, 20)
    if check.old.snapshot is None:
        return told
    since = FIRST_TO_WRITE[check.old.snapshot.format_version]
    if told is not None and told < since:
        return since  # the names are of the program before: a savepoint that was migrated is later than that
    if told != version_of(check.new.flink):
        return told
    return (1, 20) if since < (2, 0) else told


def to_flink_2(check: Check) -> bool:
    """Whether Flink 1 wrote OLD's state, and Flink 2 is to read it."""
    old, new = version_of_old(check), version_of(check.new.flink)
    return old is not None and new is not None and old < (2, 0) <= new


def of_other_kryo(check: Check, pair: Pair) -> tuple[str, ...]:
    """The states of an operator that Kryo 2 wrote, of which nothing else is wrong; an empty name stands for its keys."""
    if not to_flink_2(check):
        return ()
    answer = check.answer(pair)
    changes = () if answer is None else [change for problem in answer.problems for change in problem.changes]
    otherwise = {change.name for change in changes if not change.other_kryo}
    names = (*_written_by_kryo(pair.old), *(change.name for change in changes if change.other_kryo))
    return tuple(name for name in dict.fromkeys(names) if name not in otherwise)


def _written_by_kryo(operator: Operator) -> Iterator[str]:
    """The states whose values or namespaces Kryo wrote; an empty name for keys."""
    yield from operator.detail.get("kryo_states", ())
    for state in operator.states or ():
        written = state.serializers
        if written is not None and (_is_kryo(written.value) or _is_kryo(written.namespace)):
            yield state.name
        if written is not None and _is_kryo(written.key):
            yield ""


def _is_kryo(snapshot: bytes | None) -> bool:
    if snapshot is None:
        return False
    # What reads snapshots is imported where there is one: a program in Python has none.
    from compat.plan.recorded_states import has_kryo
    from compat.state.flink.binary import ByteReader
    from compat.state.flink.errors import SavepointError
    from compat.state.flink.snapshots import read_versioned

    try:
        return has_kryo(read_versioned(ByteReader(snapshot, "a plan"), 0))
    except SavepointError:
        return False
