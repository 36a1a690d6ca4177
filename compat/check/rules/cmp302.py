"""CMP302 parallelism-above-max."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """Operators that NEW runs with more subtasks than OLD's state has key groups."""
    for pair in check.mapping.pairs:
        if pair.new.max_parallelism_configured or pair.new.parallelism <= pair.old.max_parallelism:
            continue
        limit = pair.old.max_parallelism
        yield check.finding(
            "CMP302",
            Level.ERROR,
            f"{pair.new.label} runs with parallelism {pair.new.parallelism}, above the recorded max parallelism {limit}",
            consequence="Flink refuses the restore.",
            reason=f"OLD's state is divided into {limit} key groups: more subtasks than that would have none.",
            old=pair.old,
            new=pair.new,
            fixes=(Fix(text=f"Set a parallelism of at most {limit}: .set_parallelism({limit})."),),
        )
