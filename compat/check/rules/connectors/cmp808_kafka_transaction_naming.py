"""Exactly-once Kafka sinks that name their transactions in a way that does not fit the state of their writers."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.connectors import DeliveryGuarantee, KafkaSink, TransactionNaming

_STRATEGY = "TransactionNamingStrategy"


def _find(check: Check) -> Iterator[Finding]:
    for pair, old, new in restored(check, KafkaSink):
        if pair.new.kind != "sink_writer" or new.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            continue
        match old.naming, new.naming:
            case TransactionNaming.POOLING, TransactionNaming.INCREMENTING | None:
                was, now = "POOLING", "INCREMENTING"
                thrown = "Attempted to switch the transaction naming strategy back to INCREMENTING"
                reason = (
                    "With POOLING a writer knows its transactions by its state; INCREMENTING would look for others."
                )
                instead = (
                    "Keep POOLING. Or stop OLD with a savepoint, which commits all, and give the sink another uid (-n)."
                )
                call = f".setTransactionNamingStrategy({_STRATEGY}.POOLING)"
            case TransactionNaming.BEFORE_4, TransactionNaming.POOLING:
                was, now = "as a connector before 4.0 does", "POOLING"
                thrown = "Attempted to migrate from flink-connector-kafka 3.X directly"
                reason = (
                    "POOLING needs to know who owns each transaction, and connectors before 4.0 do not write that down."
                )
                instead = "Start NEW with INCREMENTING, take a savepoint, and go over to POOLING from that."
                call = f".setTransactionNamingStrategy({_STRATEGY}.INCREMENTING)"
            case _:
                continue
        yield check.finding(
            RULE,
            f"{pair.new.label} named its transactions {was} and names them {now}",
            consequence=f"The job fails when it starts: {thrown} (IllegalStateException).",
            reason=reason,
            old=pair.old,
            new=pair.new,
            fixes=(Fix(text=instead, code=call),),
        )


RULE = Rule(
    id="CMP808",
    name="kafka-transaction-naming",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="An exactly-once Kafka sink names its transactions in a way that its state does not allow.",
    why="Since version 4.0 a sink has a TransactionNamingStrategy. A change from INCREMENTING, the default, to POOLING "
    "works, however OLD ended. The sink refuses the way back, and POOLING on the state of a connector before 4.0. "
    "To find open transactions, POOLING asks the brokers for those of the sink's topics: it needs Kafka 3.0, the "
    "right to describe topics and transactions, and a sink whose topics are known before it runs.",
    old="KafkaSink.builder().setTransactionNamingStrategy(TransactionNamingStrategy.POOLING)",
    new="KafkaSink.builder()",
    fix="Keep POOLING; change to it with a savepoint that connector 4.0 or later wrote.",
    find=_find,
)
