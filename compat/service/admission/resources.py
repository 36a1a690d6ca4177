"""What a FlinkDeployment or FlinkSessionJob asks for: which version of which job, and what state it starts from."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from compat.deployment.resources import Deployment, JobSpec, MalformedResource, Metadata, Resource, deployment_of
from compat.service.requests import IMAGE, LARGEST_NUMBER, is_job_name

JOB, VERSION = "stream-compat/job", "stream-compat/version"
"""Annotations, or labels, that say whose version a resource is, and which one: ``3``, or ``word_count@3``."""

_IMAGE = re.compile(IMAGE)
_IMAGE_SETTINGS = ("kubernetes.container.image.ref", "kubernetes.container.image")


class _Stored(Struct, frozen=True, kw_only=True):
    spec: Raw = Raw(b"null")


_RESOURCES = msgspec.json.Decoder(Resource)
_STORED = msgspec.json.Decoder(_Stored)


class Program(Struct, frozen=True, kw_only=True):
    """What a resource runs: the same program has all of them the same."""

    image: str | None
    jar: str | None
    entry_class: str | None
    args: tuple[str, ...]


class Named(Struct, frozen=True, kw_only=True):
    """The version that a resource says it is; ``job`` and ``number`` are None where it does not say."""

    job: str | None
    number: int | None


class Asked(Deployment, frozen=True, kw_only=True):
    """A deployment that is asked for.

    ``digest`` is that of the image that holds the program, None where the program is from elsewhere or a tag names the image.
    A start later than the first restores its ``savepoint`` if its ``nonce`` is another than before.
    """

    named: Named
    program: Program
    digest: str | None
    suspended: bool
    nonce: int | None
    has_job: bool
    deleted: bool


def read_resource(text: bytes) -> Asked:
    """A resource from its JSON. Raises MalformedResource."""
    try:
        found = _RESOURCES.decode(text)
    except (ValueError, RecursionError) as error:
        raise MalformedResource(f"This is no resource of Flink's operator: {error}.") from error
    deployment = deployment_of(found)
    given = found.spec.job or JobSpec()
    image = found.spec.image or _configured(deployment.settings, _IMAGE_SETTINGS)
    return Asked(
        **msgspec.structs.asdict(deployment),
        named=_named(found.metadata),
        program=Program(image=image, jar=given.jar, entry_class=given.entry_class, args=given.args or ()),
        digest=_digest(image, given.jar),
        suspended=given.state == "suspended",
        nonce=given.savepoint_redeploy_nonce,
        has_job=found.spec.job is not None,
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


def _named(metadata: Metadata) -> Named:
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


def _configured(settings: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    """The text of the first of these keys that is set."""
    return next((settings[key] for key in keys if key in settings), None)


def _digest(image: str | None, jar: str | None) -> str | None:
    """The digest of the image, if it decides which program runs: a jar from elsewhere may change there."""
    if image is None or not (jar is None or jar.startswith("local:")) or not _IMAGE.fullmatch(image):
        return None
    return image.rpartition("@")[2]
