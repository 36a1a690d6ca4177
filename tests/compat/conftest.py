"""Makes the helpers beside the tests importable however pytest was started, and gives Flink to those that need it."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import pytest

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

FLINK = "2.3.0"


@pytest.fixture(scope="session")
def java():
    """The Java runtime of this machine."""
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.java import find_java
    from tests import needs
    from tests.needs import Need

    try:
        return find_java()
    except JvmError as error:
        needs.without(Need.JAVA, error)


@pytest.fixture(scope="session")
def flink(java):
    """Flink 2.3.0, fetched once into the user's cache; without a connection and without it, tests are skipped."""
    from tests.compat.loader.jvm.support import flink_of

    return flink_of(FLINK)


@pytest.fixture
def shared_jvms():
    """Checks are made in JVMs that the tests of a process share, as those of a project are."""
    from compat.loader.jvm.warm import WarmJvms
    from tests.compat.loader.jvm.support import KEPT

    with patch.object(WarmJvms, "__enter__", lambda self: KEPT):
        yield
