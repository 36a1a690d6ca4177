"""Flink's jars for the tests, fetched once into the user's cache; without a connection and without them, tests are skipped."""

import importlib.util

import pytest

FLINK = "2.3.0"


@pytest.fixture(scope="session")
def java():
    """The Java runtime of this machine."""
    if importlib.util.find_spec("jpype") is None:
        pytest.skip("jpype1 is not installed: pip install 'stream-compat[jvm]'")
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.java import find_java

    try:
        return find_java()
    except JvmError as error:
        pytest.skip(str(error))


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
        pytest.skip(f"Flink {version} is not in the cache and cannot be fetched: {error}")
    if found.note:
        pytest.skip(found.note)
    return found


@pytest.fixture(scope="session")
def flink(java):
    """Flink 2.3.0."""
    return flink_of(FLINK)
