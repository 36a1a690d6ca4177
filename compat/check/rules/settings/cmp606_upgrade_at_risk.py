"""Risks of an upgrade by a given deployment."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    new = check.options.deployment
    if new is None or not any(operator.has_state for operator in check.old.operators):
        return
    from compat.deployment.risks import risks

    for risk in risks(new, check.options.old_deployment or new, None):
        yield check.finding(
            RULE,
            f"{new.name}: {risk.says}",
            level=Level.ERROR if risk.lost else Level.WARNING,
            consequence=risk.therefore[0].upper() + risk.therefore[1:],
            reason="The deployment, not the program, decides which state an upgrade starts from.",
            fixes=(Fix(text=risk.instead),),
            subject=risk.says,
        )


RULE = Rule(
    id="CMP606",
    name="upgrade-at-risk",
    level=Level.WARNING,
    other_levels=(Level.ERROR,),
    when="error if no state is restored: stateless upgrades, and the last state with another state backend",
    fate=Fate.LOST,
    summary="The deployment given by --deployment lets an upgrade lose state, drop it silently, or repeat records.",
    why="Flink's Kubernetes operator starts an upgrade without state (upgradeMode stateless, its default), from a "
    "savepoint, or from the last checkpoint (last-state). With allowNonRestoredState, each start from a savepoint "
    "drops state that no operator takes; a start from the last checkpoint ignores this setting.",
    old="job: {upgradeMode: savepoint}",
    new="job: {upgradeMode: stateless}",
    fix="Upgrade with upgradeMode: savepoint, and remove allowNonRestoredState.",
    find=_find,
)
