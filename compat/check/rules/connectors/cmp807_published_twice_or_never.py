"""Sinks that publish at a checkpoint, restored from an older snapshot or without what they have prepared."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import PART_OF_SINK
from compat.check.rule import Rule
from compat.plan.facts import Program
from compat.state.model.connectors import DeliveryGuarantee, KafkaSink
from compat.state.model.operators import Operator

_WRITER, _COMMITTER = "sink_writer", "sink_committer"


def _find(check: Check) -> Iterator[Finding]:
    if check.left_behind is not None:
        yield from _dropped(check, check.left_behind)
    if check.old.snapshot is not None and check.old.snapshot.newer is not None:
        yield from _published_since(check, check.old.snapshot.newer)


def _dropped(check: Check, why: str) -> Iterator[Finding]:
    lost = {old.id for old in check.mapping.lost}
    for old in check.old.operators:
        if not _publishes(old) or not lost & {old.id, *_writers(old, check.old)}:
            continue
        kafka = isinstance(old.connector, KafkaSink)
        yield check.finding(
            RULE,
            f"records that {old.label} has written but not published are left behind, {why}",
            consequence="Records that count as written but are not published yet are lost"
            + (
                "; their transactions stay open, and readers of committed data wait until Kafka ends them."
                if kafka
                else ", and what they were written to stays there unfinished."
            ),
            reason="The sink's state names what it has prepared; no other operator can publish it. The "
            "sources do not read it again.",
            old=old,
            new=check.successor(old),
            fixes=(
                Fix(
                    text="Give the sink its uid again. Or let it publish all first: "
                    + (
                        "stop OLD with the savepoint, which commits; a savepoint before a cancel does not."
                        if kafka
                        else "stop OLD with --drain."
                    ),
                    code=None
                    if old.uid is None
                    else f".uid({code_suggestions.text_of(old.uid.removeprefix(PART_OF_SINK))})",
                ),
            ),
            silent=True,
        )


def _published_since(check: Check, newer: str) -> Iterator[Finding]:
    for pair in check.right_pairs:
        if _publishes(pair.new):
            yield check.finding(
                RULE,
                f"{pair.new.label} has published since this snapshot, and publishes that again",
                consequence=f"Flink restores this without an error. What OLD published up to {newer} is read once more and "
                "published a second time.",
                reason="A restore takes the sources back to the snapshot, but not the output that a sink has published since.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text=f"Restore from the latest snapshot: {newer}.", code=newer),),
                silent=True,
            )


def _publishes(operator: Operator) -> bool:
    """True for the part of a sink that publishes at a checkpoint what the writers prepared."""
    sink = operator.connector
    if isinstance(sink, KafkaSink) and sink.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
        return False
    return operator.kind == _COMMITTER


def _writers(committer: Operator, program: Program) -> list[str]:
    """The writers of a sink, by id."""
    before = (program.by_id.get(id) for id in committer.inputs)
    return [operator.id for operator in before if operator is not None and operator.kind == _WRITER]


RULE = Rule(
    id="CMP807",
    name="published-twice-or-never",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A sink that publishes at checkpoints loses prepared records, or publishes records twice.",
    why="Exactly-once sinks (Kafka transactions, files, tables) write first and publish when a checkpoint is complete. "
    "Without their state, the prepared rest is never published. From an older snapshot than the last one, published "
    "records are written again. After a failure, the Kubernetes operator's upgradeMode last-state starts from the "
    "last checkpoint; an earlier savepoint is older than that.",
    old='stream.sink_to(file_sink).uid("out")       # stopped, and restored with -n',
    new='stream.sink_to(file_sink).uid("output")',
    fix="Restore from the latest snapshot, and keep the sink's uid; to do without its state, stop the job with --drain (Kafka: "
    "stop it with the savepoint).",
    find=_find,
)
