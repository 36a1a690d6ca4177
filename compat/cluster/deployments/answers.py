"""Answers about deployments over HTTP: records that the cluster sends and its clients read. Times are milliseconds since
1970."""

from __future__ import annotations

from typing import Any

import msgspec


class StepTaken(msgspec.Struct, frozen=True):
    """A step that a deployment has taken; ``at`` in milliseconds since 1970."""

    step: str
    at: int
    message: str


class DeploymentSummary(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A deployment as ``/deployments/:id`` shows it. ``runs`` is the job that runs after the deployment has ended. ``checked``
    is the digest of the checked state that a recipe makes."""

    id: str
    job: str
    program: str
    fingerprint: str
    step: str
    over: bool
    message: str
    old: str | None
    new: str
    runs: str | None
    savepoint: str | None
    version: int | None
    watch: float
    by: str
    start_time: int
    end_time: int
    steps: list[StepTaken]
    checked: str | None = None


class SituationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The situation of a job that will be upgraded, and the plan of ``base``."""

    runs: str | None
    base: str | None
    state: str | None
    unclear: str
    stateless: str
    open: DeploymentSummary | None
    plan: dict[str, Any] | None
    registry: str | None


class Begun(msgspec.Struct, frozen=True):
    """The answer to the request for a deployment: the registry's answer, and the deployment."""

    deployment: DeploymentSummary | None
    sentence: str
