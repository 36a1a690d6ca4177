"""Kafka sinks with another delivery guarantee."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.connectors import DeliveryGuarantee, KafkaSink

_NONE, _AT_LEAST_ONCE, _EXACTLY_ONCE = DeliveryGuarantee


def _find(check: Check) -> Iterator[Finding]:
    for pair, old, new in restored(check, KafkaSink):
        if pair.new.kind != "sink_writer" or old.guarantee is new.guarantee:
            continue
        consequence = _consequence(old.guarantee, new.guarantee, checkpoints=bool(check.new.settings.get(_INTERVAL)))
        if consequence is None:
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} wrote {old.guarantee.value} and writes {new.guarantee.value}",
            consequence=consequence,
            reason=f"Flink restores the sink with either guarantee; {_WHY[new.guarantee]}",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text=_instead(old.guarantee, new.guarantee),
                    code=f".set_delivery_guarantee(DeliveryGuarantee.{old.guarantee.name})",
                ),
            ),
            silent=True,
        )


def _consequence(old: DeliveryGuarantee, new: DeliveryGuarantee, *, checkpoints: bool) -> str | None:
    """The consequence of a change; None if it only makes a promise stronger."""
    if old is _EXACTLY_ONCE:
        return (
            "OLD's open transactions are not aborted, and readers of committed data wait for them before they see NEW's "
            "records. Connector 4.0.1 and later does not commit the prepared transactions of the savepoint: their "
            "records are lost, unless OLD committed them. It does if it is stopped with the savepoint, but not if it is "
            "cancelled after it."
            + (
                " From now on restarts write records twice."
                if new is _AT_LEAST_ONCE
                else " From now on restarts lose records."
            )
        )
    if new is _EXACTLY_ONCE:
        if not checkpoints:
            return "NEW takes no checkpoints, and nothing is ever committed: readers of committed data see no records."
        return (
            "Readers of committed data see records after the checkpoint that commits them; others see aborted ones too. What "
            "OLD wrote after the savepoint is in no transaction: NEW writes it a second time, and aborts nothing of it. NEW "
            "fails at its start where transaction.timeout.ms is more than the broker's transaction.max.timeout.ms: the "
            "connector takes an hour unless it is set, and a broker allows 15 minutes unless told otherwise."
        )
    return "From now on records that are in flight at a failure are lost." if new is _NONE else None


def _instead(old: DeliveryGuarantee, new: DeliveryGuarantee) -> str:
    """What to do about a change."""
    if old is _EXACTLY_ONCE:
        return "Keep the guarantee, or stop OLD with a savepoint, so that nothing is left to commit, and start NEW from it."
    if new is _EXACTLY_ONCE:
        return (
            "Keep the guarantee, or take checkpoints and set transaction.timeout.ms to at most what the broker allows."
        )
    return "Keep the guarantee."


_INTERVAL = "checkpoint_interval"
_WHY = {
    _NONE: "without one, a checkpoint does not wait for what Kafka has not acknowledged.",
    _AT_LEAST_ONCE: "with at-least-once it does not handle transactions.",
    _EXACTLY_ONCE: "with exactly-once it writes in transactions that a checkpoint commits.",
}

RULE = Rule(
    id="CMP806",
    name="kafka-delivery-guarantee",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A Kafka sink has another delivery guarantee.",
    why="Only an exactly-once writer aborts the transactions of the run before it, and only such a sink commits the "
    "prepared transactions of a savepoint (connector 4.0.1 and later). With another guarantee, both stay undone.",
    old="KafkaSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)",
    new="KafkaSink.builder().set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)",
    fix="Stop OLD with a savepoint, so that nothing is left to commit.",
    find=_find,
)
