"""Flink's jars for the tests, fetched once into the user's cache; without a connection and without them, tests are skipped."""

import importlib.util

import pytest

from tests.compat.loader.jvm.support import flink_of

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


@pytest.fixture(scope="session")
def flink(java):
    """Flink 2.3.0."""
    return flink_of(FLINK)
