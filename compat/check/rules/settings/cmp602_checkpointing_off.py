"""OLD takes checkpoints, NEW does not."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    if check.old.settings.get("checkpoint_interval") and not check.new.settings.get("checkpoint_interval"):
        yield check.finding(
            RULE,
            "checkpoints are switched off",
            consequence="After a failure the job starts from the savepoint again, or from nothing.",
            reason=f"OLD takes one every {check.old.settings['checkpoint_interval']} ms, NEW none.",
            fixes=(
                Fix(
                    text="Switch checkpoints on as before.",
                    code=f"env.enable_checkpointing({check.old.settings['checkpoint_interval']})",
                ),
            ),
        )


RULE = Rule(
    id="CMP602",
    name="checkpointing-off",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="OLD takes checkpoints, NEW does not.",
    why="The restore works, but after it no state is written any more: a failure loses everything since the start.",
    old="env.enable_checkpointing(60_000)",
    new="# no call of enable_checkpointing",
    fix="Call env.enable_checkpointing, or set execution.checkpointing.interval, in NEW too.",
    find=_find,
)
