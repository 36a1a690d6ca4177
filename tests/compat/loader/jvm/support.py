"""Flink, and programs that it builds, for tests."""

from tests import needs
from tests.needs import Need


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


def built(asked, flink, java, options):
    """The outcomes of programs, each with restores into it, in one JVM."""
    from compat.loader.jvm.process import JvmProcess, Setup

    with JvmProcess(Setup(flink, java, options)) as jvm:
        buildings = []
        for program, restores in asked:
            building = jvm.build(program)
            for wanted in restores:
                building.restore(wanted)
            buildings.append(building)
        return [building.outcome() for building in buildings]
