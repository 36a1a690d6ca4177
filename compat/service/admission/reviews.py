"""AdmissionReview documents (``admission.k8s.io/v1``): what the API server asks, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from compat.service.untrusted import RefusedBody, nesting

VERSION = "admission.k8s.io/v1"

DEEPEST = 100
"""Levels of a review; resources with pod templates have about thirty."""

LONGEST_WARNING = 250
"""Characters of a warning; API servers cut off what is longer than 256."""


_NOTHING = Raw(b"null")


class Kind(Struct, frozen=True, kw_only=True):
    """What a resource is."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Request(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is asked: to make ``new``, or to put it in place of ``old``."""

    uid: str
    kind: Kind
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    object: Raw = _NOTHING
    old_object: Raw = _NOTHING
    dry_run: bool | None = None

    @property
    def new(self) -> bytes | None:
        """The resource as it is to be, as JSON; None if it is to go."""
        return _given(self.object)

    @property
    def old(self) -> bytes | None:
        """The resource as it was stored, as JSON; None if there is none."""
        return _given(self.old_object)


class _Review(Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str
    kind: str
    request: Request | None = None


_REVIEWS = msgspec.json.Decoder(_Review)


def read_review(body: bytes) -> Request:
    """The request of a review. Raises RefusedBody for anything else of this version."""
    if nesting(body) > DEEPEST:
        raise RefusedBody(f"The review is nested deeper than {DEEPEST} levels.")
    try:
        review = _REVIEWS.decode(body)
    except (ValueError, RecursionError) as error:
        raise RefusedBody(f"This is no AdmissionReview: {error}.") from error
    if (review.api_version, review.kind) != (VERSION, "AdmissionReview"):
        told = f"{review.kind} of {review.api_version}"[:100]
        raise RefusedBody(
            f"AdmissionReviews of {VERSION} are answered, and this is {told}: see admissionReviewVersions."
        )
    if review.request is None or not review.request.uid:
        raise RefusedBody("The AdmissionReview holds no request.")
    return review.request


def answer(
    uid: str, allowed: bool, message: str, warnings: tuple[str, ...] = (), annotations: Mapping[str, str] | None = None
) -> bytes:
    """The review that answers the request ``uid``. ``annotations`` go to the cluster's audit log."""
    response: dict[str, object] = {"uid": uid, "allowed": allowed}
    if not allowed:
        response["status"] = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": message}
    if warnings:
        response["warnings"] = [_cut(warning) for warning in warnings]
    if annotations:
        response["auditAnnotations"] = dict(annotations)
    return msgspec.json.encode({"apiVersion": VERSION, "kind": "AdmissionReview", "response": response})


def _given(text: Raw) -> bytes | None:
    return None if text == _NOTHING else bytes(text)


def _cut(warning: str) -> str:
    return warning if len(warning) <= LONGEST_WARNING else warning[: LONGEST_WARNING - 1] + "…"
