"""What a FlinkDeployment or FlinkSessionJob asks for: which version of which job, and what state it starts from.

The fields are those of Flink's Kubernetes operator (``flink.apache.org/v1beta1``), and so are the defaults: a job runs, and its
upgrades are stateless.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from msgspec import Raw, Struct

from compat.compiler.configuration import IGNORE_UNCLAIMED, STATE_BACKEND, normal_key
from compat.service.requests import IMAGE, LARGEST_NUMBER, is_job_name

GROUP = "flink.apache.org"
KINDS = ("FlinkDeployment", "FlinkSessionJob")

JOB, VERSION = "stream-compat/job", "stream-compat/version"
"""Annotations, or labels, that say whose version a resource is, and which one: ``3``, or ``word_count@3``."""

_IMAGE = re.compile(IMAGE)
_IMAGE_SETTINGS = ("kubernetes.container.image.ref", "kubernetes.container.image")


class MalformedResource(ValueError):
    """A resource that is not what it should be, or says what cannot be; the message says which."""


class Upgrade(StrEnum):
    """Where an upgraded job takes its state from."""

    STATELESS = "stateless"
    SAVEPOINT = "savepoint"
    LAST_STATE = "last-state"


class _Metadata(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class _Job(Struct, frozen=True, kw_only=True, rename="camel"):
    jar: str | None = msgspec.field(name="jarURI", default=None)
    entry_class: str | None = None
    args: tuple[str, ...] | None = None
    state: str | None = None
    upgrade_mode: str | None = None
    initial_savepoint_path: str | None = None
    allow_non_restored_state: bool | None = None
    savepoint_redeploy_nonce: int | None = None


class _Spec(Struct, frozen=True, kw_only=True, rename="camel"):
    image: str | None = None
    flink_configuration: dict[str, Raw] | None = None
    job: _Job | None = None


class _Resource(Struct, frozen=True, kw_only=True):
    metadata: _Metadata
    spec: _Spec


class _Stored(Struct, frozen=True, kw_only=True):
    spec: Raw = Raw(b"null")


_RESOURCES = msgspec.json.Decoder(_Resource)
_STORED = msgspec.json.Decoder(_Stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a resource runs: the same program has all of them the same."""

    image: str | None
    jar: str | None
    entry_class: str | None
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The version that a resource says it is; ``job`` and ``number`` are None where it does not say."""

    job: str | None
    number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A resource, as far as its state depends on it.

    ``digest`` is that of the image that holds the program, None where the program is from elsewhere or a tag names the image.
    ``savepoint`` is what a first start restores from, and a later one whose ``nonce`` is another than before.
    ``drops_state`` is whether state that nothing takes may be dropped, ``backend`` the state backend; None if it names none.
    """

    name: str
    named: Named
    program: Program
    digest: str | None
    upgrade: Upgrade
    suspended: bool
    savepoint: str | None
    nonce: int | None
    drops_state: bool
    backend: str | None
    has_job: bool
    deleted: bool


def read_resource(text: bytes) -> Deployment:
    """A resource from its JSON. Raises MalformedResource."""
    try:
        found = _RESOURCES.decode(text)
        job = found.spec.job
        upgrade = Upgrade((job.upgrade_mode if job is not None else None) or Upgrade.STATELESS)
    except (ValueError, RecursionError) as error:
        raise MalformedResource(f"This is no resource of Flink's operator: {error}.") from error
    given = job or _Job()
    settings = found.spec.flink_configuration or {}
    image = found.spec.image or _configured(settings, _IMAGE_SETTINGS)
    drops_state = given.allow_non_restored_state
    if drops_state is None:
        drops_state = (_configured(settings, (IGNORE_UNCLAIMED,)) or "").lower() == "true"
    return Deployment(
        name=found.metadata.name,
        named=_named(found.metadata),
        program=Program(image=image, jar=given.jar, entry_class=given.entry_class, args=given.args or ()),
        digest=_digest(image, given.jar),
        upgrade=upgrade,
        suspended=given.state == "suspended",
        savepoint=given.initial_savepoint_path or None,
        nonce=given.savepoint_redeploy_nonce,
        drops_state=drops_state,
        backend=_configured(settings, (STATE_BACKEND,)),
        has_job=job is not None,
        deleted=found.metadata.deletion_timestamp is not None,
    )


def same_spec(one: bytes, other: bytes) -> bool:
    """True if two resources ask for the same: what differs is their status, labels, finalizers. Raises MalformedResource."""
    try:
        specs = [_STORED.decode(text).spec for text in (one, other)]
        return specs[0] == specs[1] or _value(specs[0]) == _value(specs[1])
    except (ValueError, RecursionError) as error:
        raise MalformedResource(f"This is no resource of Flink's operator: {error}.") from error


def _value(text: Raw) -> object:
    return msgspec.json.decode(text)


def _named(metadata: _Metadata) -> Named:
    """The version that annotations or labels name; labels cannot hold every name, annotations can."""

    def said(key: str) -> str | None:
        return (metadata.annotations or {}).get(key) or (metadata.labels or {}).get(key)

    job, version = said(JOB), said(VERSION)
    if version is not None and "@" in version:
        other, _, version = version.rpartition("@")
        if job not in (None, other):
            raise MalformedResource(f"{JOB} says {job!r}, and {VERSION} that it is a version of {other!r}.")
        job = other
    if job is not None and not is_job_name(job):
        raise MalformedResource(f"{JOB} says {job[:60]!r}, and no job is called so.")
    if version is None:
        return Named(job=job, number=None)
    if not (version.isascii() and version.isdigit() and len(version) <= 10 and 1 <= int(version) <= LARGEST_NUMBER):
        raise MalformedResource(
            f"{VERSION} says {version[:60]!r}; it is the number of a version, as 3 or word_count@3."
        )
    return Named(job=job, number=int(version))


def _configured(configuration: dict[str, Raw], keys: tuple[str, ...]) -> str | None:
    """The text of the first of these keys that is set, under any spelling of it that Flink knows."""
    for wanted in keys:
        for key, text in configuration.items():
            value = _value(text) if normal_key(key) == wanted else None
            if isinstance(value, bool):
                return str(value).lower()
            if isinstance(value, str):
                return value
    return None


def _digest(image: str | None, jar: str | None) -> str | None:
    """The digest of the image, if it decides which program runs: a jar from elsewhere may change there."""
    if image is None or not (jar is None or jar.startswith("local:")) or not _IMAGE.fullmatch(image):
        return None
    return image.rpartition("@")[2]
