"""AdmissionReview documents (``admission.k8s.io/v1``): the API server's request and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from compat.service.untrusted import RefusedBody, nesting

VERSION = "admission.k8s.io/v1"

DEEPEST = 100
"""The most levels of a review; resources with pod templates have about thirty."""

LONGEST_WARNING = 250
"""The most characters of a warning; API servers cut off longer ones at 256."""


_NOTHING = Raw(b"null")


class Kind(Struct, frozen=True, kw_only=True):
    """The kind of a resource."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Request(Struct, frozen=True, kw_only=True, rename="camel"):
    """The request: to create ``new``, or to replace ``old`` by it."""

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
        """The requested resource, as JSON; None for a deletion."""
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
