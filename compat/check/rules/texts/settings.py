"""Family 6: settings of the job that decide over ids and state."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP601",
        name="chaining-option",
        level=Level.WARNING,
        summary="An option that moves generated ids differs between OLD and NEW.",
        why="Generated ids count chained outputs, so switching chaining moves them. Switching PyFlink's own merging "
        "adds or removes whole operators. Among the options: pipeline.operator-chaining.enabled, "
        "python.operator-chaining.enabled.",
        old="python.operator-chaining.enabled: true",
        new="python.operator-chaining.enabled: false",
        fix="Use the same value as the job that wrote the state, or give every operator a uid before switching.",
    ),
    RuleInfo(
        id="CMP602",
        name="checkpointing-off",
        level=Level.WARNING,
        summary="OLD takes checkpoints, NEW does not.",
        why="The restore works, but after it no state is written any more: a failure loses everything since the start.",
        old="env.enable_checkpointing(60_000)",
        new="# no call of enable_checkpointing",
        fix="Call env.enable_checkpointing, or set execution.checkpointing.interval, in NEW too.",
    ),
    RuleInfo(
        id="CMP603",
        name="execution-mode",
        level=Level.ERROR,
        summary="The option python.execution-mode changed between process and thread.",
        why="In process mode PyFlink stores state d as python-state-d in bytes, in thread mode as d with its own "
        "type. The names differ, so all keyed state starts empty: Flink restores this without an error.",
        old="python.execution-mode: process",
        new="python.execution-mode: thread",
        fix="Keep the mode of the job that wrote the state.",
    ),
)
