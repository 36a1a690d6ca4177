"""CMP301 max-parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """Operators, with state or without, whose max parallelism NEW sets to another value than the recorded one.

    One finding for each change, with the first operator; the others are related.
    """
    changed: dict[tuple[int, int], list[int]] = {}
    pairs = check.mapping.pairs
    for index, pair in enumerate(pairs):
        if pair.new.max_parallelism_configured and pair.new.max_parallelism != pair.old.max_parallelism:
            changed.setdefault((pair.old.max_parallelism, pair.new.max_parallelism), []).append(index)
    for (before, after), places in changed.items():
        first = pairs[places[0]]
        yield check.finding(
            "CMP301",
            Level.ERROR,
            f"the max parallelism of {first.new.label} is {before} in OLD and {after} in NEW",
            consequence="Flink refuses the restore; allowing non-restored state does not help.",
            reason="The max parallelism is the number of key groups that the state is divided into. It cannot change, and "
            f"NEW sets it{_for(len(places))}.",
            old=first.old,
            new=first.new,
            fixes=(Fix(text=f"Set it to {before} again: .set_max_parallelism({before}), or on the environment."),),
            related=tuple(
                (pairs[place].new.label, line) for place in places[1:] if (line := pairs[place].new.source) is not None
            ),
        )


def _for(count: int) -> str:
    return "" if count == 1 else f", for {count} operators"
