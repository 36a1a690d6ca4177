"""Flink, and programs that it builds, for tests."""

import atexit
import os
import shutil
import subprocess
import zipfile

from compat.loader.jvm.process import JvmProcess, Setup
from compat.loader.jvm.warm import WarmJvms
from tests import needs
from tests.needs import Need

_MOST = 4
"""The JVMs that a worker keeps: as many as one test holds at once."""


class KeptJvms(WarmJvms):
    """The JVMs that the tests of a process share, the last used ones."""

    def take(self, setup: Setup) -> JvmProcess:
        jvm = super().take(setup)
        self._jvms.remove(jvm)
        self._jvms.append(jvm)
        return jvm

    def start(self, setup: Setup) -> JvmProcess:
        self._drop(self._jvms[: -_MOST + 1])
        return super().start(setup)


KEPT = KeptJvms()
"""They end with the process."""
atexit.register(KEPT.__exit__, None, None, None)


def flink_of(version):
    """A distribution with its test harness, and the formats that the golden jobs use."""
    from compat.loader.jvm.distribution import FLINK as GROUP
    from compat.loader.jvm.distribution import FlinkPlaces, find_flink
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.maven import Artifact, fetch

    try:
        formats = fetch(f"flink-avro-{version}", [Artifact(group=GROUP, name="flink-avro", version=version)])
        own = tuple(str(jar) for jar in formats if jar.name.startswith(("flink-avro", "avro", "jackson")))
        found = find_flink(FlinkPlaces(version=version, classpath=own))
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    if found.note:
        needs.without(Need.MAVEN, found.note)
    return found


def build(program, flink, java, options):
    """The outcome of a program, in a JVM that tests share."""
    (outcome,) = build_all([program], flink, java, options)
    return outcome


def build_all(programs, flink, java, options):
    """The outcomes of programs, in a JVM that tests share; one that ends it costs the next ones another."""
    outcomes = []
    while len(outcomes) < len(programs):
        jvm = KEPT.take(Setup(flink, java, options))
        for building in [jvm.build(program) for program in programs[len(outcomes) :]]:
            if (outcome := building.outcome()) is not None:
                outcomes.append(outcome)
    return outcomes


def built(asked, flink, java, options):
    """The outcomes of programs, each with restores into it, in a JVM that tests share."""
    jvm = KEPT.take(Setup(flink, java, options))
    buildings = []
    for program, restores in asked:
        building = jvm.build(program)
        for wanted in restores:
            building.restore(wanted)
        buildings.append(building)
    return [building.outcome() for building in buildings]


def jar_of(folder, sources, classpath):
    """A jar of the classes in these sources of Java, by the names of their files, compiled here, and of other files."""
    if shutil.which("javac") is None:
        needs.without(Need.JAVAC)
    classes = folder / "classes"
    for name, text in sources.items():
        file = folder / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    files = [str(folder / "src" / name) for name in sources if name.endswith(".java")]
    command = ["javac", "--release", "11", "-nowarn", "-g", "-d", str(classes), "-cp", os.pathsep.join(classpath)]
    subprocess.run([*command, *files], check=True)
    jar = folder / "job.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        for file in sorted(classes.rglob("*.class")):
            packed.write(file, file.relative_to(classes))
        for name in sources:
            if not name.endswith(".java"):
                packed.write(folder / "src" / name, name)
    return jar
