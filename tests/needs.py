"""What some tests need and not every machine has. Tests are skipped by these functions only: each reason says what to do.

At the end of a run ``summary`` tells each reason once.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest


class Need(Enum):
    """What is needed, and how a machine gets it."""

    ACCOUNTS = "accounts of threads: Linux, whose kernel writes /proc/PID/task/TID/schedstat"
    AZURITE = "Azurite: npm install azurite, and name its azurite-blob with COMPAT_AZURITE"
    BROWSER = "chromium: .ci/browser installs it, from Debian's packages"
    CONFINEMENT = "Landlock and namespaces for users: Linux 5.13 or newer, which lets everybody make them"
    GIT = "git: apt-get install git"
    JAVA = "Java: pip install 'stream-compat[java]', or apt-get install default-jre-headless"
    JAVAC = "a Java compiler: apt-get install default-jdk-headless"
    KUBECTL = "kubectl: apt-get install kubernetes-client"
    KUBERNETES = (
        "an API server: go build k8s.io/kubernetes/cmd/kube-apiserver and go.etcd.io/etcd/server/v3, and name them with "
        "COMPAT_KUBE_APISERVER and COMPAT_ETCD"
    )
    MAVEN = "jars of Maven Central: connect, or name a repository that has them with COMPAT_MAVEN_REPOSITORY"
    MVN = "Maven: apt-get install maven"
    MOUNTS = "file systems of its own: run as root, where unshare and mount are allowed"
    OPENSSL = "openssl: apt-get install openssl"
    PACKAGES = "packages of the Python index: connect"
    POSTGRESQL = "PostgreSQL: apt-get install postgresql"
    PYFLINK = "PyFlink: name a Python that has apache-flink with COMPAT_PYFLINK"
    PYTHON = "another Python that the package is for: pyenv install 3.12"


_NEEDS = "needs "


def without(need: Need, why: object = "") -> NoReturn:
    """Skip the test that runs, or the module that is imported, for the lack of what it needs."""
    pytest.skip(reason(need, why), allow_module_level=True)


def reason(need: Need, why: object = "") -> str:
    """Why a test is skipped. ``why`` is what this machine said."""
    return f"{_NEEDS}{need.value}{f' ({why})' if str(why) else ''}"


def unless(there: object, need: Need) -> pytest.MarkDecorator:
    """A mark that skips a test unless what it needs is there."""
    return pytest.mark.skipif(not there, reason=reason(need))


def module(name: str, extra: str) -> ModuleType:
    """A module of an extra of the package. Skips where the extra is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        pytest.skip(f"{_NEEDS}the module {name}: pip install 'stream-compat[{extra}]'", allow_module_level=True)


def mounts(command: Sequence[str]) -> None:
    """Skip unless a command that mounts file systems of its own runs here."""
    done = subprocess.run([*command], capture_output=True, text=True, check=False)
    if done.returncode:
        without(Need.MOUNTS, done.stderr.strip())


def hidden(folder: Path) -> None:
    """Skip unless a folder of this machine can be hidden from some of its processes."""
    mounts(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", str(folder)])


def offline() -> list[str]:
    """What begins a command that has no network but this machine's own. Skips where none can be made."""
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    mounts([*alone, "true"])
    return alone


def summary(skipped: Iterable[pytest.TestReport | pytest.CollectReport]) -> Iterator[str]:
    """The lines that tell of reports of skipped tests: each reason once, with the number of tests, the most frequent first."""
    counted = Counter(_short(report.longrepr[2] if isinstance(report.longrepr, tuple) else "") for report in skipped)
    for said, number in sorted(counted.items(), key=lambda one: (-one[1], one[0])):
        yield f"{number} skipped: {said}"


def _short(said: str) -> str:
    """A reason without what the machine said, which is another one for each test."""
    said = said.removeprefix("Skipped: ")
    return next((short for short in map(reason, Need) if said.startswith(short)), said)
