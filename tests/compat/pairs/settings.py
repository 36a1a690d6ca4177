"""CMP112 and CMP6xx: settings. ``python.execution-mode`` is in ``modes``."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, pair
from tests.compat.pairs.programs import value


def set_by(*calls: str) -> str:
    """A counter with some calls on its environment."""
    return value("L", settings="\n".join(["env.set_parallelism(1)", *(f"env.{call}" for call in calls)]))


_UNCHAINED = "disable_operator_chaining()"
_CHAINED = 'configure(Configuration().set_string("pipeline.operator-chaining.enabled", "true"))'


def run_as(mode: str) -> str:
    """A counter of few numbers in a runtime mode."""
    return set_by(f'configure(Configuration().set_string("execution.runtime-mode", "{mode}"))').replace(
        "10000000", "60"
    )


_OVER_SOON = "the job ends before a savepoint could be taken, or its restore be seen"

SETTINGS = [
    pair("batch_mode", set_by(), run_as("BATCH"), BROKEN, "CMP112"),
    pair("batch_mode_before", run_as("BATCH"), set_by(), BROKEN, "CMP112", unrecorded=_OVER_SOON),
    pair("batch_mode_by_its_sources", set_by(), run_as("AUTOMATIC"), BROKEN, "CMP112", unrecorded=_OVER_SOON),
    pair("streaming_mode", set_by(), run_as("STREAMING"), OK, unrecorded=_OVER_SOON),
    pair("chaining_disabled", set_by(), set_by(_UNCHAINED), OK, "CMP601"),
    pair("chaining_set_to_its_default", set_by(), set_by(_CHAINED), OK),
    pair("checkpoints_off", set_by("enable_checkpointing(1000)"), set_by(), OK, "CMP602"),
    pair("checkpoints_farther_apart", set_by("enable_checkpointing(1000)"), set_by("enable_checkpointing(9000)"), OK),
]
