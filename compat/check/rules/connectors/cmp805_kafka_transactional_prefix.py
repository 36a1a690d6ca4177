"""Exactly-once Kafka sinks whose transactions get other names."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.connectors import DeliveryGuarantee, KafkaSink
from compat.state.model.operators import Operator

_WRITER = "sink_writer"


def _find(check: Check) -> Iterator[Finding]:
    restored = {pair.old.id: pair.new for pair in check.right_pairs}
    for old in check.old.operators:
        if old.kind != _WRITER:
            continue
        new = restored.get(old.id) or check.successor(old)
        was, now = old.connector, None if new is None else new.connector
        if new is None or not isinstance(was, KafkaSink) or not isinstance(now, KafkaSink):
            continue
        both = was.guarantee is now.guarantee is DeliveryGuarantee.EXACTLY_ONCE
        if both and was.transactional_id_prefix != now.transactional_id_prefix:
            yield _finding(check, old, new, was, now, found=old.id in restored)


def _finding(check: Check, old: Operator, new: Operator, was: KafkaSink, now: KafkaSink, *, found: bool) -> Finding:
    before = was.transactional_id_prefix
    if found:
        consequence = (
            f"At its first start the writer commits what the savepoint holds ready, and aborts what is open under {before!r}. "
            f"When somebody goes back to OLD, nobody aborts what is open under {now.transactional_id_prefix!r}: readers of "
            "committed data wait for such a transaction until Kafka ends it (transaction.timeout.ms)."
        )
    else:
        consequence = (
            f"The writer finds no state, so nobody aborts what is open under {before!r}, nor commits what the savepoint holds "
            "ready: readers of committed data wait for it until Kafka ends it (transaction.timeout.ms)."
        )
    return check.finding(
        RULE,
        f"the transactions of {new.label} were named {before!r} and are named {now.transactional_id_prefix!r}",
        consequence=consequence,
        reason="A writer aborts the transactions under its own prefix and under the one in its state, and no others.",
        old=old,
        new=new,
        fixes=(
            Fix(
                text="Keep the prefix, or stop OLD with a savepoint, so that no transaction is open, and start NEW from it.",
                code=f".set_transactional_id_prefix({code_suggestions.text_of(before or '')})",
            ),
        ),
        silent=True,
    )


RULE = Rule(
    id="CMP805",
    name="kafka-transactional-prefix",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="An exactly-once Kafka sink has another transactional id prefix.",
    why="If a job is killed, the next one aborts its open transactions in Kafka: those with its own prefix and with the "
    "prefix in its state. Other transactions stay open until transaction.timeout.ms is over, and readers of "
    "committed data wait.",
    old='KafkaSink.builder().set_transactional_id_prefix("counts")',
    new='KafkaSink.builder().set_transactional_id_prefix("counts-2")',
    fix="Keep the prefix, or stop the job with a savepoint and start from that.",
    find=_find,
)
