"""AdmissionReviews as an API server sends them for resources of Flink's Kubernetes operator."""

from __future__ import annotations

import copy
import json
from typing import Any

IMAGE = "sha256:" + "1" * 64
OTHER_IMAGE = "sha256:" + "2" * 64


def deployment(image: str = "registry.example/word-count:7", name: str = "word-count", **job: Any) -> dict[str, Any]:
    """A FlinkDeployment of an application, with what the API server and the operator add to one that is stored."""
    marks = {f"stream-compat/{key}": job.pop(key) for key in ("job", "version", "digest") if key in job}
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkDeployment",
        "metadata": {
            "name": name,
            "namespace": "streams",
            "uid": "3d5f3a0e-6a5e-4e0b-8a0f-0c8a2f5b1c11",
            "generation": 4,
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "finalizers": ["flinkdeployments.flink.apache.org/finalizer"],
            "labels": {"app.kubernetes.io/name": name},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", **marks},
            "managedFields": [
                {
                    "manager": "kubectl-client-side-apply",
                    "operation": "Update",
                    "apiVersion": "flink.apache.org/v1beta1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {".": {}, "f:job": {".": {}, "f:jarURI": {}}}},
                }
            ],
        },
        "spec": {
            "image": image,
            "flinkVersion": "v1_20",
            "serviceAccount": "flink",
            "flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2", "kubernetes.operator": {"nested": True}},
            "jobManager": {"resource": {"memory": "2048m", "cpu": 1}, "replicas": 1},
            "taskManager": {
                "resource": {"memory": "2048m", "cpu": 1},
                "podTemplate": {"spec": {"containers": [{"name": "flink-main-container", "image": "other:1"}]}},
            },
            "job": {
                "jarURI": "local:///opt/flink/usrlib/job.jar",
                "entryClass": "example.WordCount",
                "args": ["--topic", "words"],
                "parallelism": 2,
                "state": "running",
                "upgradeMode": "savepoint",
                **job,
            },
        },
        "status": {"lifecycleState": "STABLE", "jobStatus": {"state": "RUNNING"}},
    }


def session_job(release: str = "7", **job: Any) -> dict[str, Any]:
    """A FlinkSessionJob of a release of the program."""
    made = deployment(**job)
    made["kind"] = "FlinkSessionJob"
    made["spec"] = {
        "deploymentName": "session",
        "job": made["spec"]["job"] | {"jarURI": f"https://jars.example/job-{release}.jar"},
    }
    return made


def changed(resource: dict[str, Any], *path: str, **to: Any) -> dict[str, Any]:
    """A resource with other values at a path."""
    made = copy.deepcopy(resource)
    place = made
    for step in path:
        place = place[step]
    place.update(to)
    return made


def review(new: dict[str, Any] | None, old: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The review of making ``new``, or of putting it in the place of ``old``."""
    given = new or old or {}
    operation = "DELETE" if new is None else "CREATE" if old is None else "UPDATE"
    kind = given.get("kind", "")
    group, _, version = given.get("apiVersion", "v1").rpartition("/")
    what = {"group": group, "version": version, "kind": kind}
    where = {"group": group, "version": version, "resource": kind.lower() + "s"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": what,
        "resource": where,
        "requestKind": what,
        "requestResource": where,
        "name": given.get("metadata", {}).get("name", ""),
        "namespace": "streams",
        "operation": operation,
        "userInfo": {
            "username": "system:serviceaccount:argocd:argocd-application-controller",
            "uid": "014fbff9-a2a2-4e2e-a000-b9a8d1a2e8aa",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "extra": {"authentication.kubernetes.io/pod-name": ["argocd-0"]},
        },
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "argocd-controller"},
        **more,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()
