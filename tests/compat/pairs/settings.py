"""CMP6xx: settings. ``python.execution-mode`` is in ``modes``."""

from __future__ import annotations

from tests.compat.pairs.model import OK, pair
from tests.compat.pairs.programs import value


def set_by(*calls: str) -> str:
    """A counter with some calls on its environment."""
    return value("L", settings="\n".join(["env.set_parallelism(1)", *(f"env.{call}" for call in calls)]))


_UNCHAINED = "disable_operator_chaining()"
_CHAINED = 'configure(Configuration().set_string("pipeline.operator-chaining.enabled", "true"))'

SETTINGS = [
    pair("chaining_disabled", set_by(), set_by(_UNCHAINED), OK, "CMP601"),
    pair("chaining_set_to_its_default", set_by(), set_by(_CHAINED), OK),
    pair("checkpoints_off", set_by("enable_checkpointing(1000)"), set_by(), OK, "CMP602"),
    pair("checkpoints_farther_apart", set_by("enable_checkpointing(1000)"), set_by("enable_checkpointing(9000)"), OK),
]
