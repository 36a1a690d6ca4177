"""Deployments in files: a resource of Flink's Kubernetes operator, ``config.yaml``, or ``flink-conf.yaml``."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from compat.compiler.configuration import normal_key
from compat.deployment.resources import (
    GROUP,
    KINDS,
    Deployment,
    MalformedResource,
    Resource,
    configured,
    deployment_of,
    flattened,
)
from compat.state.safe_open import read_regular

LARGEST = 10_000_000
"""The largest size of a file, in bytes."""

_BETWEEN_DOCUMENTS = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_LEGACY_NAME = "flink-conf.yaml"
"""Flink 1.x's file with lines ``key: value``, which are not parsed as YAML."""


class DeploymentError(ValueError):
    """A file that is not a deployment; the message names it, and says what is wrong and what is expected."""


def read_deployment(path: Path) -> Deployment:
    """The deployment in a file: its one FlinkDeployment or FlinkSessionJob, or a configuration of Flink.

    Raises DeploymentError.
    """
    try:
        text = read_regular(path, LARGEST).decode("utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DeploymentError(f"{path}: not UTF-8 text (byte {error.start})") from error
    if path.name == _LEGACY_NAME:
        return configured(path.name, _lines(text))
    documents = [found for part in _BETWEEN_DOCUMENTS.split(text) if (found := _document(path, part)) is not None]
    resources = [one for one in documents if "kind" in one or "apiVersion" in one]
    if not resources and len(documents) == 1:
        return configured(path.name, _flattened(path, documents[0]))
    jobs = [one for one in resources if _is_job(one)]
    if len(jobs) != 1:
        kinds = ", ".join(str(one.get("kind"))[:60] for one in resources) or "nothing"
        raise DeploymentError(
            f"{path}: one {' or '.join(KINDS)}, or a configuration of Flink, is expected, and it holds {kinds}"
        )
    try:
        return deployment_of(msgspec.convert(jobs[0], Resource))
    except MalformedResource as error:
        raise DeploymentError(f"{path}: {str(error).removesuffix('.')}") from error
    except ValueError as error:
        raise DeploymentError(f"{path}: this is no {jobs[0]['kind']}: {error}") from error


def _is_job(document: dict[str, object]) -> bool:
    return document.get("kind") in KINDS and str(document.get("apiVersion")).partition("/")[0] == GROUP


def _document(path: Path, text: str) -> dict[str, object] | None:
    """A document of a file; None for an empty one."""
    try:
        found = msgspec.yaml.decode(text, type=dict[str, object] | None)
    except ImportError as error:
        raise DeploymentError(f"{path}: reading YAML takes PyYAML: pip install pyyaml") from error
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise DeploymentError(
            f"{path}: not a YAML file with keys and values: {reason or 'nested too deeply'}"
        ) from error
    return found or None


def _flattened(path: Path, document: dict[str, object]) -> dict[str, str]:
    try:
        return flattened(document)
    except (ValueError, RecursionError) as error:
        raise DeploymentError(f"{path}: {error}") from error


def _lines(text: str) -> dict[str, str]:
    """Flink 1.x: ``GlobalConfiguration.loadYAMLResource``, which leaves out lines without a key and a value."""
    options = {}
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].strip().partition(": ")
        if colon and key.strip() and value.strip():
            options[normal_key(key.strip())] = value.strip()
    return options
