"""The fields of a FlinkDeployment or FlinkSessionJob that decide what state a job starts from.

The fields are those of Flink's Kubernetes operator (``flink.apache.org/v1beta1``), and so are the defaults: a job runs, and its
upgrades are stateless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from compat.compiler.configuration import IGNORE_UNCLAIMED, PARALLELISM, normal_key
from compat.compiler.versions import FLINK_VERSIONS
from compat.state.model.job import STATE_BACKEND

GROUP = "flink.apache.org"
BLUE_GREEN = "FlinkBlueGreenDeployment"
KINDS = ("FlinkDeployment", "FlinkSessionJob", BLUE_GREEN)

JOB, VERSION, DIGEST = "stream-compat/job", "stream-compat/version", "stream-compat/digest"
"""Annotations, or labels, with the job and version of a resource: ``3``, or ``word_count@3``; and an annotation with
the digest of the artifact that holds its program."""

STATE = "stream-compat/savepoint-digest"
"""An annotation with the digest of the savepoint that a job is to start from, as printed by ``compat migrate`` and
``inspect``.
"""

_VERSION = re.compile(r"v(\d+)_(\d+)")


class MalformedResource(ValueError):
    """A resource with a wrong shape or an impossible value; the message says which."""


class Upgrade(StrEnum):
    """Where an upgraded job takes its state from."""

    STATELESS = "stateless"
    SAVEPOINT = "savepoint"
    LAST_STATE = "last-state"


class Owner(Struct, frozen=True, kw_only=True):
    """The resource that made another one."""

    kind: str = ""


class Metadata(Struct, frozen=True, kw_only=True, rename="camel"):
    """The metadata that Kubernetes adds to a resource."""

    name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[Owner, ...] | None = None


class JobSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """The job of a resource (Flink's operator: ``JobSpec``)."""

    jar: str | None = field(name="jarURI", default=None)
    entry_class: str | None = None
    args: tuple[str, ...] | None = None
    parallelism: int | None = None
    state: str | None = None
    upgrade_mode: str | None = None
    initial_savepoint_path: str | None = None
    allow_non_restored_state: bool | None = None
    savepoint_redeploy_nonce: int | None = None


class Pods(Struct, frozen=True, kw_only=True, rename="camel"):
    """The differences of the pods of the JobManager or of TaskManagers from the template."""

    pod_template: dict[str, object] | None = None


class Spec(Struct, frozen=True, kw_only=True, rename="camel"):
    """The spec of a resource (Flink's operator: ``FlinkDeploymentSpec``, ``FlinkSessionJobSpec``).

    Of a FlinkBlueGreenDeployment, ``template`` holds what each of its two deployments asks for.
    """

    image: str | None = None
    flink_version: str | None = None
    flink_configuration: dict[str, object] | None = None
    job: JobSpec | None = None
    pod_template: dict[str, object] | None = None
    job_manager: Pods | None = None
    task_manager: Pods | None = None
    template: Template | None = None


class Template(Struct, frozen=True, kw_only=True):
    """The template for the deployments of a FlinkBlueGreenDeployment."""

    metadata: Metadata | None = None
    spec: Spec | None = None


class Resource(Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource as written. One without a spec, such as the operator's own canaries, requests nothing."""

    metadata: Metadata
    spec: Spec | None = None
    api_version: str = ""
    kind: str = ""

    @property
    def asked(self) -> Spec:
        """The request for a deployment, also if it is in a template."""
        spec = self.spec or Spec()
        return spec if spec.template is None else spec.template.spec or Spec()


class Deployment(Struct, frozen=True, kw_only=True):
    """The parts of a deployment that a job's state depends on.

    ``upgrade`` is the way of its upgrades, None if unknown. A first start restores from ``savepoint``. ``drops_state`` says
    whether state without an operator may be dropped. ``backend`` is the state backend, None if it names none. ``settings`` are
    the options of Flink that it sets, by their present keys. ``flink`` is its version of Flink, if known here. ``job`` is the
    program that it runs.
    """

    name: str
    upgrade: Upgrade | None = None
    savepoint: str | None = None
    drops_state: bool = False
    backend: str | None = None
    settings: Mapping[str, str]
    flink: str | None = None
    job: JobSpec | None = None

    @property
    def options(self) -> dict[str, str]:
        """The options with which the job starts: with the last state, Flink never drops any."""
        options = {key: value for key, value in self.settings.items() if key != IGNORE_UNCLAIMED}
        if self.drops_state and self.upgrade is not Upgrade.LAST_STATE:
            options[IGNORE_UNCLAIMED] = "true"
        return options


def deployment_of(found: Resource) -> Deployment:
    """The facts about state in a resource. Raises MalformedResource."""
    spec = found.asked
    job = spec.job or JobSpec()
    try:
        upgrade = Upgrade(job.upgrade_mode or Upgrade.STATELESS)
        settings = flattened(spec.flink_configuration or {})
    except ValueError as error:
        raise MalformedResource(f"This is no resource of Flink's operator: {error}.") from error
    if job.parallelism is not None:
        settings[PARALLELISM] = str(job.parallelism)
    return configured(
        found.metadata.name,
        settings,
        upgrade=upgrade,
        savepoint=job.initial_savepoint_path or None,
        drops_state=job.allow_non_restored_state,
        flink=_flink(spec.flink_version),
        job=spec.job,
    )


def configured(
    name: str,
    settings: Mapping[str, str],
    *,
    upgrade: Upgrade | None = None,
    savepoint: str | None = None,
    drops_state: bool | None = None,
    flink: str | None = None,
    job: JobSpec | None = None,
) -> Deployment:
    """A deployment completed by a configuration of Flink, which has the lowest priority."""
    ignored = settings.get(IGNORE_UNCLAIMED, "").strip().lower() == "true"
    return Deployment(
        name=name,
        upgrade=upgrade,
        savepoint=savepoint,
        drops_state=ignored if drops_state is None else drops_state,
        backend=settings.get(STATE_BACKEND),
        settings=settings,
        flink=flink,
        job=job,
    )


def flattened(configuration: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Options by their present keys, from a configuration whose keys may be nested; lists are joined as Flink joins them.

    Raises ValueError for a key that is no text.
    """
    options: dict[str, str] = {}
    for key, value in configuration.items():
        if not isinstance(key, str):
            raise ValueError(f"{prefix}{key} is no key of an option")
        if isinstance(value, Mapping):
            options |= flattened(value, f"{prefix}{key}.")
        elif value is not None:
            options[normal_key(f"{prefix}{key}")] = _text(value)
    return options


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ";".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _flink(version: str | None) -> str | None:
    """``v1_20`` as ``1.20``, if that is a version whose ways are known here."""
    found = _VERSION.fullmatch(version or "")
    text = None if found is None else f"{found[1]}.{found[2]}"
    return text if text in FLINK_VERSIONS else None
