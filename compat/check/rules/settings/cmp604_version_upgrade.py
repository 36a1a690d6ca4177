"""What the way from one version of Flink to another breaks."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.flink.metadata import FIRST_TO_WRITE, format_written_by
from compat.state.flink.ttl import version_of
from compat.state.model.operators import Operator

_Version = tuple[int, int]


def _find(check: Check) -> Iterator[Finding]:
    old, new = _of_old(check), version_of(check.new.flink)
    if old is None or new is None:
        return
    if old[0] < new[0] == 2:
        yield from _kryo(check)
        yield from _removed(check)
        yield from _global_windows(check)
    format = check.old.snapshot.format_version if check.old.snapshot is not None else format_written_by(old)
    if format > format_written_by(new) and any(operator.has_state for operator in check.old.operators):
        yield _unread(check, format)


def _of_old(check: Check) -> _Version | None:
    """The version that wrote OLD's state; a savepoint's format tells it roughly, where nobody says more.

    A job with sources or sinks that Flink 2 lacks has not run on it: whoever said so guessed.
    """
    told = version_of(check.old.flink)
    if told is not None and told >= (2, 0) and any(_is_removed(one) for one in check.old.operators):
        return (1, 20)
    if check.old.snapshot is None or told != version_of(check.new.flink):
        return told
    return (1, 20) if FIRST_TO_WRITE[check.old.snapshot.format_version] < (2, 0) else told


def _kryo(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        answer = check.answer(pair)
        names = _written_by_kryo(pair.old)
        if not names or (answer is not None and answer.problems):
            continue
        yield check.finding(
            RULE,
            f"Kryo wrote {', '.join(map(repr, names))} of {pair.new.label}, and Flink 2 does not read it",
            consequence="The task fails when it starts.",
            reason="Flink 2 has Kryo 5 in the place of Kryo 2: neither its serializers' snapshots nor the values are read "
            "across. Types that Flink does not know are Kryo's, in Flink 1 also the lists, sets and maps in POJOs.",
            old=pair.old,
            new=pair.new,
            fixes=(_rewrite(pair, names),),
        )


def _global_windows(check: Check) -> Iterator[Finding]:
    """PyFlink's global windows, whose serializer is another class since Flink 2."""
    for pair in check.right_pairs:
        told = {(state.namespace_type or "").rpartition(".")[2] for state in pair.new.states or ()}
        if "python" not in pair.new.detail or "GlobalWindow" not in told:
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} keeps global windows, which Flink 2 writes in another way",
            consequence="The task fails when it starts: the new serializer of its timers must not be incompatible.",
            reason="PyFlink's global windows have a serializer of another class in Flink 2.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Give the windows an operator with a uid of its own, and restore with -n if the open ones may go.",
                    code=uid_call(pair.new, check),
                ),
            ),
        )


def _rewrite(pair: Pair, names: list[str]) -> Fix:
    state = next((state for state in pair.new.states or () if state.name == names[0]), None)
    return Fix(
        text="Under Flink 1, copy the values into a state of another name whose type Flink knows (a POJO, a tuple, Avro), take "
        "a savepoint then, and go over with that one.",
        code=None if state is None else code_suggestions.under_another_name(state),
    )


def _written_by_kryo(operator: Operator) -> list[str]:
    """The states whose values, keys or namespaces Kryo wrote."""
    found = list(operator.detail.get("kryo_states", ()))
    for state in operator.states or ():
        written = state.serializers
        if written is not None and any(map(_is_kryo, (written.value, written.key, written.namespace))):
            found.append(state.name)
    return list(dict.fromkeys(found))


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


_REMOVED = {
    "FlinkKafkaConsumer": "KafkaSource, which starts at the group's committed offsets",
    "FlinkKafkaProducer": "KafkaSink",
}


def _is_removed(operator: Operator) -> bool:
    return str(operator.detail.get("class")) in _REMOVED


def _removed(check: Check) -> Iterator[Finding]:
    for new in filter(_is_removed, check.new.operators):
        name = str(new.detail["class"])
        yield check.finding(
            RULE,
            f"{new.label} is a {name}, which is not there for Flink 2",
            consequence="The program fails before it submits a job.",
            reason="flink-connector-kafka 4.0, the first one for Flink 2, left the classes of the old kind out.",
            new=new,
            fixes=(
                Fix(
                    text=f"Take {_REMOVED[name]}, under a uid of its own, and restore with -n.",
                    code=_REMOVED[name].split(",")[0],
                ),
            ),
            subject=name,
        )


def _unread(check: Check, format: int) -> Finding:
    return check.finding(
        RULE,
        f"Flink {check.new.flink} does not read savepoints of format {format}",
        consequence="The restore is refused before any state is read: the format of the metadata is a later one.",
        reason=f"Flink 1 reads formats up to 4, 2.0 up to 5, 2.1 and later up to 6; savepoints of OLD have {format}.",
        fixes=(
            Fix(
                text="Run NEW with the Flink that wrote the savepoint, or a later one.",
                code=f"--flink {check.old.flink}",
            ),
        ),
        subject="format",
    )


RULE = Rule(
    id="CMP604",
    name="version-upgrade",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="The way from OLD's version of Flink to NEW's breaks the restore.",
    why="Flink 2 took Kryo 5 for Kryo 2, so that nothing that Kryo wrote under Flink 1 can be read, the collections in POJOs "
    "included. Sources and sinks of the old kind went. And no version reads the metadata of later ones.",
    old="FlinkKafkaConsumer('orders', schema, properties)   # --old-flink 1.20",
    new="FlinkKafkaConsumer('orders', schema, properties)   # --flink 2.3",
    fix="Copy what Kryo wrote into states of types that Flink knows, under Flink 1; take sources and sinks of the new kind; "
    "go back with a savepoint of before the upgrade.",
    only_in_flink=True,
    find=_find,
)
