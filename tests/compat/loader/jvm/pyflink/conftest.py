"""Real PyFlink for tests: that of COMPAT_PYFLINK, an interpreter or its environment, else of this interpreter."""

import pytest

from tests import needs
from tests.needs import Need


@pytest.fixture(scope="session")
def pyflink():
    """PyFlink 2.3 on this machine."""
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.pyflink.installed import find_pyflink

    try:
        return find_pyflink()
    except JvmError as error:
        needs.without(Need.PYFLINK, error)


@pytest.fixture(scope="session")
def build(pyflink, java):
    """Builds programs, each given by its path, one after the other in as few JVMs as they let."""
    from compat.loader.jvm.distribution import FlinkPlaces, flink_version
    from compat.loader.jvm.messages import PyFlinkProgram
    from compat.loader.jvm.process import JvmOptions
    from compat.loader.jvm.pyflink.installed import flink_of
    from tests.compat.loader.jvm.support import build_all

    flink = flink_of(pyflink, FlinkPlaces())
    if not flink_version(flink.jars).startswith("2.3"):
        needs.without(Need.PYFLINK, f"it is of {flink.version}, and what is known here is of 2.3")
    if flink.note:
        needs.without(Need.MAVEN, flink.note)

    def built(paths, options=None, **how):
        given = JvmOptions(options=options or {}, open_timeout=60, **{"timeout": 120, **how})
        programs = [PyFlinkProgram(path=str(path), python=pyflink.python) for path in paths]
        return build_all(programs, flink, java, given)

    return built
