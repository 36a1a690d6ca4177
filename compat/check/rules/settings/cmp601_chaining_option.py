"""Options that move generated ids and differ between the programs."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule

_KEYS = {
    "operator_chaining": "pipeline.operator-chaining.enabled: {}",
    "chain_different_max_parallelism": "pipeline.operator-chaining.chain-operators-with-different-max-parallelism: {}",
    "python.operator-chaining.enabled": "python.operator-chaining.enabled: {}",
}
"""The settings in a plan, and the options that set them."""


def _find(check: Check) -> Iterator[Finding]:
    for option in _KEYS:
        before, after = check.old.settings.get(option), check.new.settings.get(option)
        if None not in (before, after) and before != after:
            yield check.finding(
                RULE,
                f"the option {option} was {before} and is {after}",
                consequence="Generated ids of operators can move by that.",
                subject=option,
                reason="A generated id counts the outputs that are chained to an operator.",
                fixes=(
                    Fix(
                        text=f"Set {option} to {before} again, or give every stateful operator a uid.",
                        code=_KEYS[option].format(str(before).lower()),
                    ),
                ),
            )


RULE = Rule(
    id="CMP601",
    name="chaining-option",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="An option that moves generated ids differs between OLD and NEW.",
    why="Generated ids count chained outputs, so switching chaining moves them. Switching PyFlink's own merging "
    "adds or removes whole operators. Among the options: pipeline.operator-chaining.enabled, "
    "python.operator-chaining.enabled.",
    old="python.operator-chaining.enabled: true",
    new="python.operator-chaining.enabled: false",
    fix="Use the same value as the job that wrote the state, or give every operator a uid before switching.",
    find=_find,
)
