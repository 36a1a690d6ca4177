"""Flink for tests."""

import pytest


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
