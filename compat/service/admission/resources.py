"""The request of a FlinkDeployment or FlinkSessionJob: the job, its version, and the state that it starts from."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from compat.deployment.resources import (
    BLUE_GREEN,
    DIGEST,
    JOB,
    STATE,
    VERSION,
    Deployment,
    JobSpec,
    MalformedResource,
    Resource,
    Spec,
    deployment_of,
)
from compat.service.requests import IMAGE, LARGEST_NUMBER, is_job_name

_IMAGE = re.compile(IMAGE)
_IMAGE_SETTINGS = ("kubernetes.container.image.ref", "kubernetes.container.image")


class _Stored(Struct, frozen=True, kw_only=True):
    spec: Raw = Raw(b"null")


_RESOURCES = msgspec.json.Decoder(Resource)
_STORED = msgspec.json.Decoder(_Stored)


_BRING_CODE = ("user.artifacts.", "pipeline.jars", "pipeline.classpaths", "python.", "kubernetes.pod-template-file")
"""Prefixes of options that bring other code to the job."""

_OF_PODS = ("initContainers", "volumes")
_OF_CONTAINERS = ("name", "image", "command", "args", "env", "envFrom", "volumeMounts")
"""The parts of pods and their containers that can bring other code; resource limits cannot."""


class Program(Struct, frozen=True, kw_only=True):
    """The program of a resource: equal fields mean the same program. ``brought`` has all other parts that bring code, as
    JSON."""

    image: str | None
    jar: str | None
    entry_class: str | None
    args: tuple[str, ...]
    brought: bytes


class Named(Struct, frozen=True, kw_only=True):
    """The version that a resource names; ``job`` and ``number`` are None if it names none."""

    job: str | None
    number: int | None


class Asked(Deployment, frozen=True, kw_only=True):
    """A requested deployment.

    ``image_digest`` is that of the image that holds the program, None if the program is from elsewhere or a tag names the
    image. ``digest`` is the digest of the program from the annotation, or else that of the image.
    A later start restores ``savepoint`` if ``nonce`` has changed; ``state_digest`` is the digest that the savepoint must have.
    ``of_two_colours`` marks
    the deployments that a FlinkBlueGreenDeployment made.
    """

    named: Named
    program: Program
    digest: str | None
    image_digest: str | None
    state_digest: str | None
    suspended: bool
    nonce: int | None
    has_job: bool
    deleted: bool
    of_two_colours: bool


def read_resource(text: bytes) -> Asked:
    """A resource from its JSON. Raises MalformedResource."""
    try:
        found = _RESOURCES.decode(text)
    except (ValueError, RecursionError) as error:
        raise MalformedResource(f"This is no resource of Flink's operator: {error}.") from error
    deployment = deployment_of(found)
    spec = found.asked
    given = spec.job or JobSpec()
    image = spec.image or _configured(deployment.settings, _IMAGE_SETTINGS)
    return Asked(
        **msgspec.structs.asdict(deployment),
        named=_named(found),
        program=Program(
            image=image,
            jar=given.jar,
            entry_class=given.entry_class,
            args=given.args or (),
            brought=_brought(spec, deployment.settings),
        ),
        digest=_told(found, DIGEST, "an artifact") or _digest(image, given.jar),
        image_digest=_digest(image, given.jar),
        state_digest=_told(found, STATE, "a savepoint"),
        suspended=given.state == "suspended",
        nonce=given.savepoint_redeploy_nonce,
        has_job=spec.job is not None,
        deleted=found.metadata.deletion_timestamp is not None,
        of_two_colours=any(owner.kind == BLUE_GREEN for owner in found.metadata.owner_references or ()),
    )


def _brought(spec: Spec, settings: Mapping[str, str]) -> bytes:
    """What may bring other code than the image has: parts of the pods, and options."""
    templates = [spec.pod_template, *(part.pod_template for part in (spec.job_manager, spec.task_manager) if part)]
    pods = [pod for one in templates if isinstance(pod := (one or {}).get("spec"), dict)]
    told = {
        "options": {key: value for key, value in settings.items() if key.startswith(_BRING_CODE)},
        "pods": [
            {
                **{part: pod.get(part) for part in _OF_PODS},
                "containers": [
                    {part: one.get(part) for part in _OF_CONTAINERS}
                    for one in pod.get("containers") or ()
                    if isinstance(one, dict)
                ],
            }
            for pod in pods
        ],
    }
    return msgspec.json.encode(told, order="deterministic")


def same_spec(one: bytes, other: bytes) -> bool:
    """True if two resources ask for the same: they differ only in status, labels, finalizers. Raises MalformedResource."""
    try:
        specs = [_STORED.decode(text).spec for text in (one, other)]
        return specs[0] == specs[1] or _value(specs[0]) == _value(specs[1])
    except (ValueError, RecursionError) as error:
        raise MalformedResource(f"This is no resource of Flink's operator: {error}.") from error


def _value(text: Raw) -> object:
    return msgspec.json.decode(text)


def _said(found: Resource, key: str) -> str | None:
    """What an annotation or a label says, of a template as well; labels cannot hold every name, annotations can."""
    template = None if found.spec is None or found.spec.template is None else found.spec.template.metadata
    marks = [(of.annotations, of.labels) for of in (found.metadata, template) if of is not None]
    return next((value for pair in marks for mark in pair if (value := (mark or {}).get(key))), None)


def _told(found: Resource, annotation: str, of: str) -> str | None:
    """The digest that an annotation tells. Raises MalformedResource."""
    text = _said(found, annotation)
    if text is None:
        return None
    if not _IMAGE.fullmatch(text):
        raise MalformedResource(f"{annotation} says {text[:90]!r}; it is the digest of {of}, sha256: and 64 digits.")
    return text.rpartition("@")[2]


def _named(found: Resource) -> Named:
    """The version that annotations or labels name."""
    job, version = _said(found, JOB), _said(found, VERSION)
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
