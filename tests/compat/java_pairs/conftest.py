"""All pairs in Java, built in one JVM a side and checked."""

import pytest

from tests.compat.java_pairs.build import JARS
from tests.compat.java_pairs.programs import JAVA_PAIRS


@pytest.fixture(scope="session")
def plans(flink, java):
    """The plans of both versions of each pair, by name."""
    from compat.loader.jvm.messages import JarProgram
    from compat.loader.jvm.plans import plan_of
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build_all

    asked = [(pair, side) for pair in JAVA_PAIRS for side in ("old", "new")]
    programs = [
        JarProgram(path=str(JARS / f"{side}.jar"), main_class=f"pairs.{pair.class_name}") for pair, side in asked
    ]
    found = {}
    for (pair, side), outcome in zip(asked, build_all(programs, flink, java, JvmOptions(options={})), strict=True):
        assert outcome.jobs, (pair.name, side, outcome.crash)
        found[pair.name, side] = plan_of(outcome.jobs[-1], f"{side}.jar")
    return found
