"""Sources that OLD had read to their end, and that have no end in NEW.

Flink: ``FinishedOperatorChain``: what finished before the snapshot is not run again, whatever it is now.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.connectors import Connector, FileSource, KafkaSource


def _find(check: Check) -> Iterator[Finding]:
    progress = check.finishing
    if progress is None:
        return
    for pair in check.mapping.pairs:
        if pair.new.inputs or not progress.is_over(pair.old.id) or not _endless(pair.new.connector):
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} had been read to its end, and is not run again though it has none now",
            consequence="Flink restores this without an error. NEW reads nothing from this source, neither "
            "existing records nor new ones.",
            reason="A snapshot records only that a finished operator had finished. Under the same id it stays finished.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text=f"Give {pair.new.label} a uid that no operator of OLD had: then it starts where its settings say.",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=True,
        )


def _endless(connector: Connector | None) -> bool:
    """Whether a source is known to have no end."""
    match connector:
        case KafkaSource(bounded=bounded):
            return not bounded
        case FileSource(looks_for_more=looks_for_more):
            return looks_for_more
    return False


RULE = Rule(
    id="CMP207",
    name="finished-source-without-end",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="A source that OLD had read to its end has no end in NEW, and is not run again.",
    why="Flink does not run finished operators again after a restore. So a source that has no end now, but has the id "
    "of a finished one, reads nothing. There is no error.",
    old="FileSource.for_record_stream_format(lines, folder).build()   # finished at the time of the checkpoint",
    new="FileSource.for_record_stream_format(lines, folder).monitor_continuously(Duration.of_seconds(10)).build()",
    fix="Give the source its own uid.",
    find=_find,
)
