"""CMP602 checkpointing-off."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """OLD takes checkpoints, NEW does not."""
    if check.old.settings.get("checkpoint_interval") and not check.new.settings.get("checkpoint_interval"):
        yield check.finding(
            "CMP602",
            Level.WARNING,
            "checkpoints are switched off",
            consequence="After a failure the job starts from the savepoint again, or from nothing.",
            reason=f"OLD takes one every {check.old.settings['checkpoint_interval']} ms, NEW none.",
            fixes=(
                Fix(
                    text="Switch them on as before.",
                    code=f"env.enable_checkpointing({check.old.settings['checkpoint_interval']})",
                ),
            ),
        )
