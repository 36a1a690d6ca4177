"""Operators with more subtasks than their own program allows, for which Flink does not start the job."""

from __future__ import annotations

from compat.check.findings import Fate, Fix, Level
from compat.check.rule import Rule


def fix(limit: str) -> Fix:
    """What to do about a parallelism above this max parallelism."""
    text = f"Run it with at most {limit} subtasks; a higher max parallelism is possible only for a job that has no state yet."
    return Fix(text=text, code=f".set_parallelism({limit})")


RULE = Rule(
    id="CMP305",
    name="parallelism-above-own-max",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="The program runs an operator with a parallelism above the max parallelism that it sets.",
    why="Each subtask needs a key group, with state or without. Flink builds and accepts the job, but fails to start it "
    "on the cluster. The parallelism and the max parallelism of the first operator of a chain count. Reactive mode "
    "sets no parallelism; a batch job sets it only for operators with their own.",
    old="env.set_max_parallelism(4)\nenv.set_parallelism(4)",
    new="env.set_max_parallelism(4)\nenv.set_parallelism(8)",
    fix="Lower the parallelism to the max parallelism.",
)
