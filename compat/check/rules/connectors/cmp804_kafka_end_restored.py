"""Another end of reading, which restored Kafka partitions do not take over."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import kafka
from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.connectors import KafkaSource


def _find(check: Check) -> Iterator[Finding]:
    for pair, old, new in restored(check, KafkaSource):
        if old.stopping == new.stopping:
            continue
        if new.stopping is None:
            title = f"{pair.new.label} has no end any more, but still stops at {old.stopping}"
            consequence = "The partitions of the savepoint end where OLD was to end: later records are not read."
        elif old.stopping is None:
            title = f"{pair.new.label} is to end at {new.stopping}, but does not"
            consequence = "The partitions of the savepoint have no end: the job does not finish by itself."
        else:
            title = f"{pair.new.label} was to end at {old.stopping} and is to end at {new.stopping}"
            consequence = "The partitions of the savepoint end where OLD was to end."
        yield check.finding(
            RULE,
            title,
            level=Level.ERROR if new.stopping is None else Level.WARNING,
            consequence=f"Flink restores this without an error. {consequence}",
            reason="Each partition is restored with its old end, which is a part of its split.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Give the source a uid of its own and restore with -n, so that the partitions are taken up anew; "
                    f"it starts at {new.starting}. {kafka.ON_FROM_THE_GROUP}",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=True,
        )


RULE = Rule(
    id="CMP804",
    name="kafka-end-restored",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if NEW has an end, and OLD had another one or none",
    fate=Fate.UNKNOWN,
    summary="The partitions of a restored Kafka source end where OLD was to end.",
    why="A split has its stopping offset, and is restored with it. New stopping offsets apply only to partitions that "
    "are not in the state.",
    old="KafkaSource.builder().set_bounded(KafkaOffsetsInitializer.latest())",
    new="KafkaSource.builder()    # reads for ever",
    fix="Start the source under another uid, from the offsets that its group committed last, and restore with -n.",
    find=_find,
)
