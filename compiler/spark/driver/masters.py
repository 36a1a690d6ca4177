"""Spark masters: which are on this machine, and the requirements of each, checked before a job is recorded."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from compat.compiler.errors import ProgramError
from compat.state.stores.name_nodes import settings_of

YARN = "yarn"
_KUBERNETES = "k8s://"
_LOCAL = re.compile(r"local(\[(\d+|\*)(,\s*\d+)?\])?")
_LOCAL_CLUSTER = "local-cluster"
_LOCAL_FAILURES = re.compile(r"local\[[^,\]]*,\s*([^\]]*)\]")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ONCE = ("spark.task.maxFailures", "spark.stage.maxConsecutiveAttempts")
_CONNECTING = 5.0
"""Seconds that a master has to answer."""
_HIGHEST_PORT = 65_535
_MANAGER_PORT = 8032
_IMAGE = "spark.kubernetes.container.image"
_CREDENTIALS = (
    "spark.kubernetes.authenticate.oauthToken",
    "spark.kubernetes.authenticate.oauthTokenFile",
    "spark.kubernetes.authenticate.clientCertFile",
    "spark.kubernetes.authenticate.submission.oauthToken",
    "spark.kubernetes.authenticate.submission.oauthTokenFile",
    "spark.kubernetes.authenticate.submission.clientCertFile",
)
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
"""The path of a pod's service account token."""


def on_loopback(master: str) -> bool:
    """True for a master at this machine's loopback address: its workers are on this machine, too."""
    hosts = re.fullmatch(r"spark://(.+)", master)
    return hosts is not None and all(place.rpartition(":")[0] in _LOOPBACK for place in hosts[1].split(","))


def is_elsewhere(master: str | None) -> bool:
    """True for a master whose tasks run on other machines, with paths of their own."""
    return master is not None and not master.startswith("local") and not on_loopback(master)


def in_containers(master: str) -> bool:
    """True for a master that starts each executor in a container of its own: YARN, Kubernetes."""
    return master == YARN or master.startswith(_KUBERNETES)


def is_standalone(master: str) -> bool:
    """True for a standalone Spark master, whose workers may be on any machine."""
    return master.startswith("spark://")


def refuse_unsafe(options: Mapping[str, str], master: str | None) -> None:
    """Raise a ProgramError if Spark is to run tasks of an epoch more than once: an epoch is tried as a whole.

    Two attempts of a task at the same time would write to the same replica and send what both wrote.
    """
    asked = [f"{name}={options[name]}" for name in _ONCE if name in options and options[name].strip() != "1"]
    if options.get("spark.speculation", "false").strip().lower() != "false":
        asked.append(f"spark.speculation={options['spark.speculation']}")
    found = _LOCAL_FAILURES.fullmatch(master or "")
    if found is not None and found[1].strip() != "1":
        asked.append(f"--master {master}")
    if asked:
        raise ProgramError(
            f"{', '.join(asked)} would have Spark run tasks of an epoch again by itself. Take it out: an epoch is tried "
            "again as a whole, as often as the job's restart strategy says (restart-strategy.type)."
        )


def refuse_incomplete(options: Mapping[str, str], master: str | None) -> None:
    """Raise a ProgramError if a master lacks settings without which it starts nothing: Kubernetes' image and credentials."""
    if master is None or not master.startswith(_KUBERNETES):
        return
    if not any(options.get(name) for name in (_IMAGE, "spark.kubernetes.executor.container.image")):
        raise ProgramError(
            f"--master {master} needs an image for its pods, with Spark of this version and Python of this one: give "
            f"-D {_IMAGE}=REGISTRY/IMAGE:TAG."
        )
    configuration = Path(os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or Path.home() / ".kube" / "config")
    if not (any(options.get(name) for name in _CREDENTIALS) or configuration.is_file() or _ACCOUNT.is_file()):
        raise ProgramError(
            f"--master {master} needs credentials, and there are none: {configuration} is not there, and this is no pod. Have "
            f"KUBECONFIG name your cluster's file, or give one of {', '.join(_CREDENTIALS[:3])}."
        )


def refuse_unreachable(master: str | None) -> None:
    """Raise a ProgramError for a Spark master that does not exist: Spark itself would keep trying for long."""
    if master is None or _LOCAL.fullmatch(master):
        return
    if master == YARN:
        _refuse_without_yarn()
        return
    if master.startswith(_LOCAL_CLUSTER):
        raise ProgramError(
            f"--master {master} is Spark's own for its tests, and keeps its workers in one process: give local[N] for this "
            "machine, or spark://HOST:PORT for workers of their own."
        )
    if master.startswith(_KUBERNETES):
        scheme, _, rest = master.removeprefix(_KUBERNETES).rpartition("://")  # https, unless it says otherwise
        _refuse_unanswered("Kubernetes", master, [_address(rest.partition("/")[0], 80 if scheme == "http" else 443)])
        return
    hosts = re.fullmatch(r"spark://(.+)", master)
    places = [re.fullmatch(r"(.+):(\d+)", place) for place in hosts[1].split(",")] if hosts else [None]
    addresses = [(place[1], int(place[2])) for place in places if place is not None]
    if len(addresses) < len(places):
        raise ProgramError(
            f"--master {master} names no Spark master: give local, local[2], local[*], spark://HOST:PORT, yarn or k8s://URL."
        )
    _refuse_unanswered("Spark master", master, addresses)


def _refuse_unanswered(what: str, master: str, addresses: Iterable[tuple[str, int]]) -> None:
    addresses = list(addresses)
    problems = []
    for host, port in addresses:
        if port > _HIGHEST_PORT:  # the system takes it modulo 65536, so that anybody might answer
            problems.append(f"{host}:{port}: ports end at {_HIGHEST_PORT}")
            continue
        try:
            socket.create_connection((host.strip("[]"), port), _CONNECTING / len(addresses)).close()
            return
        except OSError as error:
            problems.append(f"{host}:{port}: {error}")
    raise ProgramError(f"No {what} answers at {master} ({'; '.join(problems)}): start it, or give another --master.")


def yarn_configuration() -> tuple[Path, dict[str, str]]:
    """The file with the configuration of YARN, and its contents. Raises a ProgramError if there is none."""
    folder = os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")
    if not folder:
        raise ProgramError(
            "--master yarn needs the cluster's configuration: set HADOOP_CONF_DIR or YARN_CONF_DIR to its folder."
        )
    places = [os.environ[name] for name in ("YARN_CONF_DIR", "HADOOP_CONF_DIR") if os.environ.get(name)]
    found = next((path for path in (Path(place, "yarn-site.xml") for place in places) if path.is_file()), None)
    if found is None:
        raise ProgramError(
            f"--master yarn needs the cluster's configuration, and there is no yarn-site.xml in {' or '.join(places)}: set "
            "HADOOP_CONF_DIR or YARN_CONF_DIR to the folder that has it."
        )
    return found, settings_of(found)


def endings_of_managers(settings: Mapping[str, str]) -> list[str]:
    """The suffixes of option names for YARN's resource managers, if it has several."""
    names = [name.strip() for name in settings.get("yarn.resourcemanager.ha.rm-ids", "").split(",") if name.strip()]
    return [f".{name}" for name in names] or [""]


def _refuse_without_yarn() -> None:
    """Raises a ProgramError unless there is a configuration of YARN, and a resource manager of it answers."""
    found, settings = yarn_configuration()
    ends = endings_of_managers(settings)
    given = [
        settings.get(f"yarn.resourcemanager.address{end}") or settings.get(f"yarn.resourcemanager.hostname{end}")
        for end in ends
    ]
    managers = [_address(text, _MANAGER_PORT) for text in given if text]
    if not managers:
        raise ProgramError(
            f"{found} names no resource manager: it has to have yarn.resourcemanager.hostname, or .address."
        )
    _refuse_unanswered("resource manager of YARN", YARN, managers)


def _address(text: str, port: int) -> tuple[str, int]:
    found = re.fullmatch(r"(.+):(\d+)", text)
    return (found[1], int(found[2])) if found else (text, port)
