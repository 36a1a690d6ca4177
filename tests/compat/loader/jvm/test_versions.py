"""Each version of Flink builds jars and SQL, and restores its own savepoints and those of the version before."""

import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import compat
from compat.check.findings import Verdict
from compat.loader.inputs import FlinkJars
from compat.loader.jvm.distribution import FlinkPlaces, find_flink
from compat.loader.jvm.errors import JvmError
from tests import needs
from tests.compat.loader.jvm.golden import JAVA
from tests.needs import Need

pytestmark = pytest.mark.usefixtures("shared_jvms")

VERSIONS = ("1.17.2", "1.18.1", "1.19.3", "1.20.0", "2.0.0", "2.1.1", "2.2.0", "2.3.0")
"""A version of each minor."""
ALWAYS = ("1.20.0", "2.3.0")
"""Those whose jars other tests have as well: the others are fetched at night."""
JAR = str(JAVA / "versions" / "versions.jar")
REVENUE = Path(compat.__file__).parent / "examples" / "revenue"
_OPENED = ("lang", "lang.invoke", "lang.reflect", "io", "math", "net", "nio", "text", "time", "util", "util.concurrent")


def versions(*, but=()):
    marks = [() if one in ALWAYS else pytest.mark.nightly for one in VERSIONS]
    return [pytest.param(one, marks=mark) for one, mark in zip(VERSIONS, marks, strict=True) if one not in but]


STEPS = [pytest.param(old, new, marks=pytest.mark.nightly) for old, new in pairwise(VERSIONS)]
"""A version and the next."""
STEPS.append(pytest.param(*ALWAYS))


@cache
def flink_of(version):
    """The Flink of a version; the test is skipped where its jars are nowhere."""
    try:
        return find_flink(FlinkPlaces(version=version))
    except JvmError as error:
        needs.without(Need.MAVEN, error)


def verdict(old, new, version, *, old_version=None, old_args=("same",), new_args=("same",)):
    """The verdict of one check, with the errors that were found."""
    flink_of(version)
    jars = FlinkJars(version=version, main_class="Versions" if str(new).endswith(".jar") else None)
    outcome, *others = compat.check(
        old,
        new,
        old_args=old_args if str(old).endswith(".jar") else (),
        new_args=new_args if str(new).endswith(".jar") else (),
        jars=jars,
        old_jars=None if old_version is None else FlinkJars(version=old_version),
    )
    assert not others
    return outcome.verdict, {(one.rule, one.old.uid or one.old.name) for one in outcome.findings if one.level.rank == 0}


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory, java):
    """Gives the savepoint of the job that has run a while, as a version of Flink wrote it."""

    @cache
    def written(version):
        folder = tmp_path_factory.mktemp(version)
        opens = [f"--add-opens=java.base/java.{one}=ALL-UNNAMED" for one in _OPENED]
        classes = ":".join((*map(str, flink_of(version).jars), JAR))
        command = [
            java.command,
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            *opens,
            "-cp",
            classes,
            "Versions",
            "same",
            str(folder),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        (found,) = (folder / "late").iterdir()
        return str(found)

    return written


@pytest.mark.parametrize("version", versions())
def test_a_jar(java, version):
    assert verdict(JAR, JAR, version) == (Verdict.COMPATIBLE, set())
    assert verdict(JAR, JAR, version, new_args=("retyped",)) == (Verdict.INCOMPATIBLE, {("CMP404", "visits")})


@pytest.mark.parametrize("version", versions())
def test_sql(java, version):
    assert verdict(REVENUE / "v1.sql", REVENUE / "v1.sql", version) == (Verdict.COMPATIBLE, set())
    assert verdict(REVENUE / "v1.sql", REVENUE / "v2.sql", version)[0] is Verdict.INCOMPATIBLE


@pytest.mark.parametrize("version", versions())
def test_a_savepoint(savepoint, version):
    assert verdict(savepoint(version), JAR, version) == (Verdict.COMPATIBLE, set())
    assert verdict(savepoint(version), JAR, version, new_args=("retyped",))[0] is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(("old", "new"), STEPS)
def test_an_upgrade_of_flink(savepoint, old, new):
    flink_of(old)
    assert verdict(JAR, JAR, new, old_version=old) == (Verdict.COMPATIBLE, set())
    assert verdict(savepoint(old), JAR, new) == (Verdict.COMPATIBLE, set())
    assert verdict(savepoint(old), JAR, new, new_args=("retyped",))[0] is Verdict.INCOMPATIBLE
