"""Upgrades from one version of Flink to another that break a restore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat.check import code_suggestions, upgrade
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, KeyHeir, Level, ValueHeir
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.flink.metadata import format_written_by
from compat.state.flink.ttl import version_of


def _find(check: Check) -> Iterator[Finding]:
    old, new = upgrade.version_of_old(check), version_of(check.new.flink)
    if old is None or new is None:
        return
    if upgrade.to_flink_2(check):
        yield from _kryo(check)
        yield from _removed(check)
        yield from _global_windows(check)
    format = check.old.snapshot.format_version if check.old.snapshot is not None else format_written_by(old)
    if format > format_written_by(new) and any(operator.has_state for operator in check.old.operators):
        yield _unread(check, format)


def _kryo(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        names = upgrade.of_other_kryo(check, pair)
        if not names:
            continue
        states = [name for name in names if name]
        what = [*(["the keys"] if "" in names else []), *map(repr, states)]
        yield check.finding(
            RULE,
            f"Kryo wrote {', '.join(what)} of {pair.new.label}, and Flink 2 does not read it",
            consequence="The task fails when it starts.",
            reason="Flink 2 has Kryo 5 instead of Kryo 2, which reads neither the other's serializer "
            "snapshots nor its values. Types that Flink does not know are Kryo's, in Flink 1 also the lists, "
            "sets and maps in POJOs.",
            old=pair.old,
            new=pair.new,
            state=states[0] if len(names) == len(states) == 1 else None,
            heirs=(*map(ValueHeir, states), *([KeyHeir()] if "" in names else [])),
            fixes=(_rewrite(pair, names), *code_suggestions.migrate(check)),
        )


def _global_windows(check: Check) -> Iterator[Finding]:
    """PyFlink's global windows, whose serializer is another class since Flink 2."""
    for pair in check.right_pairs:
        told = {(state.namespace_type or "").rpartition(".")[2] for state in pair.new.states or ()}
        if "python" not in pair.new.detail or "GlobalWindow" not in told:
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} keeps global windows, which Flink 2 writes differently",
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


def _rewrite(pair: Pair, names: Sequence[str]) -> Fix:
    state = next((state for state in pair.new.states or () if state.name in names), None)
    return Fix(
        text="Under Flink 1, copy the values into a state of another name whose type Flink knows (a POJO, a tuple, "
        "Avro), take a savepoint, and start NEW from it.",
        code=None if state is None else code_suggestions.under_another_name(state),
    )


def _removed(check: Check) -> Iterator[Finding]:
    for new in filter(upgrade.is_removed, check.new.operators):
        name = str(new.detail["class"])
        yield check.finding(
            RULE,
            f"{new.label} is a {name}, which does not exist for Flink 2",
            consequence="The program fails before it submits a job.",
            reason="flink-connector-kafka 4.0, the first one for Flink 2, left the classes of the old kind out.",
            new=new,
            fixes=(
                Fix(
                    text=f"Take {upgrade.REMOVED[name]}, under a uid of its own, and restore with -n.",
                    code=upgrade.REMOVED[name].split(",")[0],
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
    summary="The upgrade from OLD's version of Flink to NEW's breaks the restore.",
    why="Flink 2 replaced Kryo 2 with Kryo 5, which reads nothing that Kryo wrote under Flink 1, including the "
    "collections in POJOs. Flink 2 has no sources and sinks of the old kind. And no version reads the metadata of "
    "later ones.",
    old="FlinkKafkaConsumer('orders', schema, properties)   # --old-flink 1.20",
    new="FlinkKafkaConsumer('orders', schema, properties)   # --flink 2.3",
    fix="Rewrite Kryo's values with compat migrate, or copy them under Flink 1 into states of types that Flink knows. "
    "Use sources and sinks of the new kind. To go back, use a savepoint from before the upgrade.",
    only_in_flink=True,
    find=_find,
)
