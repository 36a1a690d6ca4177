"""Resources in the shapes that the examples of Flink's Kubernetes operator have: none is malformed, each is judged."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from compat.service.admission.judgement import Outcome, judge
from compat.service.admission.reviews import read_review
from tests.compat.service.reviews import encoded, review
from tests.compat.service.test_registry import registry  # noqa: F401 - a fixture

ALLOWED, UNDECIDED = Outcome.ALLOWED, Outcome.UNDECIDED
JAR = "jarURI: local:///opt/flink/usrlib/job.jar"
MOUNTED = """
podTemplate:
  spec:
    containers: [{name: flink-main-container, volumeMounts: [{mountPath: /flink-data, name: data}]}]
    volumes: [{name: data, hostPath: {path: /tmp/flink, type: Directory}}]
"""
SHAPES: dict[str, tuple[str, Outcome, str]] = {
    "a job that says nothing of upgrades": ("job: {$JAR, parallelism: 2}", ALLOWED, "stateless"),
    "a stateless job": ("job: {$JAR, parallelism: 2, upgradeMode: stateless}", ALLOWED, "stateless"),
    "a job with its class and arguments in quotes": (
        "job: {$JAR, entryClass: load.Pipeline, upgradeMode: stateless, args: ['--load 1;2;16 --minutes 60']}",
        ALLOWED,
        "stateless",
    ),
    "a job in Python": (
        "job: {jarURI: local:///opt/flink/opt/flink-python.jar, entryClass: "
        "org.apache.flink.client.python.PythonDriver, "
        "args: ['-pyclientexec', /usr/local/bin/python3, '-py', /opt/flink/usrlib/job.py], upgradeMode: savepoint}",
        UNDECIDED,
        "does not say which version",
    ),
    "SQL by a runner": (
        "job: {jarURI: local:///opt/flink/usrlib/sql-runner.jar, args: "
        "[/opt/flink/usrlib/scripts/simple.sql], upgradeMode: savepoint}",
        UNDECIDED,
        "does not say which version",
    ),
    "highly available, with nested options": (
        "flinkConfiguration: {state: {savepoints.dir: 'file:///s', checkpoints.dir: 'file:///c'}, "
        "high-availability: {type: kubernetes, storageDir: 'file:///ha'}, "
        "kubernetes.operator.savepoint.format.type: NATIVE}\n"
        "job: {$JAR, parallelism: 2, upgradeMode: savepoint, state: running, savepointTriggerNonce: 0}$MOUNTED",
        UNDECIDED,
        "does not say which version",
    ),
    "standalone and reactive": (
        "flinkConfiguration: {scheduler-mode: REACTIVE, taskmanager.numberOfTaskSlots: 2}\nmode: standalone\n"
        "job: {$JAR, parallelism: 2, upgradeMode: savepoint, state: running}",
        UNDECIDED,
        "does not say which version",
    ),
    "scaled by the operator": (
        "flinkConfiguration: {job.autoscaler: {enabled: true, metrics.window: 3m, utilization.target: 0.5}, "
        "pipeline.max-parallelism: 24, jobmanager.scheduler: adaptive}\njob: {$JAR, upgradeMode: "
        "last-state, args: ['10']}$MOUNTED",
        UNDECIDED,
        "does not say which version",
    ),
    "with an ingress": (
        "ingress: {template: '/{{namespace}}/{{name}}(/|$)(.*)', className: nginx, annotations: "
        "{rewrite-target: /$2}}\n"
        "job: {$JAR}",
        ALLOWED,
        "stateless",
    ),
    "with its own logging": (
        "logConfiguration: {log4j-console.properties: 'rootLogger.level = DEBUG'}\njob: {$JAR, upgradeMode: stateless}",
        ALLOWED,
        "stateless",
    ),
    "with a jar that an init container fetches, and a sidecar": (
        "jobManager: {podTemplate: {spec: {initContainers: [{name: fetch, image: 'busybox:1', "
        "command: [/bin/sh, -c, 'wget x']}]}}}\n"
        "podTemplate: {spec: {containers: [{name: flink-main-container}, {name: logs, image: "
        "'fluent-bit:1', command: [sh]}]}}\n"
        "job: {$JAR, entryClass: job.Main, upgradeMode: savepoint}",
        UNDECIDED,
        "does not say which version",
    ),
    "with secrets and TLS": (
        "flinkConfiguration: {taskmanager.numberOfTaskSlots: '2', security.ssl: {enabled: 'true', "
        "rest: {enabled: true}}, "
        "kubernetes.secrets: 'cert:/opt/flink/cert'}\njob: {$JAR, upgradeMode: stateless}",
        ALLOWED,
        "stateless",
    ),
    "from a savepoint": (
        "job: {$JAR, upgradeMode: savepoint, initialSavepointPath: 'file:///s/savepoint-1'}",
        UNDECIDED,
        "does not say which version",
    ),
    "a session": ("flinkConfiguration: {taskmanager.numberOfTaskSlots: 2}", ALLOWED, "No job"),
}
OTHER_KINDS: dict[str, tuple[str, str, Outcome, str]] = {
    "a job of a session": (
        "FlinkSessionJob",
        "deploymentName: session\njob: {jarURI: 'https://repo.example/job.jar', parallelism: 4, "
        "upgradeMode: stateless}",
        ALLOWED,
        "stateless",
    ),
    "a job of a session with a class and options": (
        "FlinkSessionJob",
        "deploymentName: session\nflinkConfiguration: {security.ssl: {internal: {enabled: true}}}\n"
        "job: {jarURI: 'https://repo.example/job.jar', entryClass: job.Main, upgradeMode: savepoint}",
        UNDECIDED,
        "does not say which version",
    ),
    "a checkpoint on demand": (
        "FlinkStateSnapshot",
        "backoffLimit: 0\njobReference: {kind: FlinkDeployment, name: d}\ncheckpoint: {}",
        ALLOWED,
        "no job",
    ),
    "a savepoint that exists": (
        "FlinkStateSnapshot",
        "savepoint: {alreadyExists: true, disposeOnDelete: false, path: 'file:///s/savepoint-1'}",
        ALLOWED,
        "no job",
    ),
    "two colours": (
        "FlinkBlueGreenDeployment",
        "configuration: {kubernetes.operator.bluegreen.deployment-deletion.delay: 1s}\n"
        "template: {spec: {image: 'flink:1.20', flinkVersion: v1_20, job: {$JAR, upgradeMode: last-state}}}",
        UNDECIDED,
        "does not say which version",
    ),
    "two colours without state": (
        "FlinkBlueGreenDeployment",
        "template: {spec: {image: 'flink:1.20', flinkVersion: v1_20, job: {$JAR, upgradeMode: stateless}}}",
        ALLOWED,
        "stateless",
    ),
}


def resource(kind: str, spec: str) -> dict[str, Any]:
    """The resource, as an API server has it from a manifest."""
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": kind,
        "metadata": {"name": "example", "namespace": "default"},
        "spec": yaml.safe_load(spec.replace("$JAR", JAR).replace("$MOUNTED", MOUNTED)),
    }


CASES = {
    name: (resource("FlinkDeployment", f"image: flink:1.20\nflinkVersion: v1_20\nserviceAccount: flink\n{spec}"), *rest)
    for name, (spec, *rest) in SHAPES.items()
} | {name: (resource(kind, spec), *rest) for name, (kind, spec, *rest) in OTHER_KINDS.items()}


@pytest.mark.parametrize("name", CASES)
def test_it_is_judged(registry: Any, name: str) -> None:  # noqa: F811
    new, outcome, told = CASES[name]
    judged = judge(registry, read_review(encoded(review(new))))
    assert judged.outcome is outcome, judged.message
    assert told in judged.message


@pytest.mark.parametrize("name", CASES)
def test_it_is_let_through_as_it_goes(registry: Any, name: str) -> None:  # noqa: F811
    new = CASES[name][0]
    assert judge(registry, read_review(encoded(review(None, new)))).outcome is ALLOWED
    labelled = {**new, "metadata": {**new["metadata"], "labels": {"team": "streams"}}}
    assert judge(registry, read_review(encoded(review(labelled, new)))).outcome is ALLOWED
