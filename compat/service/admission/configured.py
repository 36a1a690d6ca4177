"""Two versions of a job under the settings of their deployments: the effect of cluster settings on state.

A plan was pushed with the pusher's settings. Settings that affect the restore but not the build are applied over it:
parallelism, max parallelism, state backend. If another option differs between the two deployments, the plan may differ,
too.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Report
from compat.compiler.configuration import DEFAULT_PARALLELISM, MAX_PARALLELISM, PARALLELISM
from compat.deployment.resources import Deployment, MalformedResource
from compat.plan.facts import Program, facts_of
from compat.state.key_groups import default_max_parallelism
from compat.state.model.job import STATE_BACKEND, Plan
from compat.state.model.operators import Operator

_PUT_OVER = frozenset({PARALLELISM, MAX_PARALLELISM, STATE_BACKEND})
_BUILD = (
    "execution.runtime-mode",
    "execution.checkpointing.file-merging.",
    "execution.batch.",
    "pipeline.",
    "python.execution-mode",
    "python.operator-chaining.",
    "state.backend.rocksdb.timer-service.",
    "table.",
)
"""Prefixes of options that affect what is built, or its states."""

_NO_MATTER = ("pipeline.name", "pipeline.jars", "pipeline.classpaths", "pipeline.auto-watermark-interval")
"""Prefixes of options among these that do not; options that bring other code are handled elsewhere."""


def differing(new: Deployment, old: Deployment) -> tuple[str, ...]:
    """The options, by key, that differ between two deployments and may affect state."""
    keys = sorted(new.settings.keys() | old.settings.keys())
    return tuple(key for key in keys if new.settings.get(key) != old.settings.get(key) and _matters(key))


def not_put_over(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The options whose effect on the job shows only in a new build."""
    return tuple(key for key in keys if key not in _PUT_OVER)


def report(old: tuple[Plan, Deployment], new: tuple[Plan, Deployment]) -> Report:
    """The check of two plans with the settings of their deployments. Raises MalformedResource for invalid numbers."""
    before, after = (_program(*side) for side in (old, new))
    options = CheckOptions(flink=new[0].flink, deployment=new[1], old_deployment=old[1])
    return check(before, after, options)


def _matters(key: str) -> bool:
    return key in _PUT_OVER or (key.startswith(_BUILD) and key not in _NO_MATTER)


def _program(plan: Plan, given: Deployment) -> Program:
    """The facts of a plan with the settings of a deployment, which hold where the program says nothing else."""
    parallelism = _number(given, PARALLELISM)
    if plan.settings.get("parallelism") != DEFAULT_PARALLELISM:
        parallelism = None  # the program sets one for all
    chosen = plan.otherwise if plan.otherwise is not None and parallelism not in (None, DEFAULT_PARALLELISM) else plan
    program = facts_of(chosen, name=given.name, kind="plan")
    settings = {**program.settings}
    if given.backend is not None:
        settings[STATE_BACKEND] = given.backend
    operators = tuple(_operators(program, parallelism, _number(given, MAX_PARALLELISM)))
    return replace(program, operators=operators, settings=settings)


def _operators(program: Program, parallelism: int | None, most: int | None) -> Iterator[Operator]:
    for one in program.operators:
        runs = one.parallelism if parallelism is None or one.parallelism_configured else parallelism
        groups, configured = one.max_parallelism, one.max_parallelism_configured
        if not configured and most is not None:
            groups, configured = most, True
        elif not configured and runs != one.parallelism:
            groups = default_max_parallelism(runs)
        yield replace(one, parallelism=runs, max_parallelism=groups, max_parallelism_configured=configured)


def _number(given: Deployment, key: str) -> int | None:
    """An option of Java's type ``int``; None if it is not set, or -1. Raises MalformedResource for anything else."""
    text = given.settings.get(key, "").strip()
    if text in ("", "-1"):
        return None
    if text.isascii() and text.isdigit() and len(text) <= 10 and 0 < int(text) < 2**31:
        return int(text)
    raise MalformedResource(f"{key} of {given.name} says {text[:60]!r}, and is a number above 0.")
