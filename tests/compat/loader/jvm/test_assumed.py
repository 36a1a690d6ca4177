"""What a job in Java is under another default parallelism: the same as Flink makes of it there."""

from __future__ import annotations

import pytest

from compat.check.assumptions import under_both
from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.loader.jvm.messages import JarProgram
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.process import JvmOptions
from compat.plan.facts import facts_of
from tests.compat.java_pairs.build import JARS
from tests.compat.loader.jvm.support import build_all

NAMES = {"map_in_one": "MapInOne", "parallelism_given": "ParallelismGiven"}
"""The classes of pairs, by their names."""


def plans(flink, java, name, **options):
    """The plans of both versions of a pair."""
    programs = [
        JarProgram(path=str(JARS / f"{side}.jar"), main_class=f"pairs.{NAMES[name]}") for side in ("old", "new")
    ]
    outcomes = build_all(programs, flink, java, JvmOptions(options=options))
    return [plan_of(outcome.jobs[-1], "job.jar") for outcome in outcomes]


def told(plan):
    return [(one.id, one.vertex, one.parallelism, one.name) for one in plan.operators]


def exchanges(plan):
    return [(one.source, one.target, one.partitioner) for one in plan.stream_graph.edges]


@pytest.fixture(scope="module")
def usual(flink, java):
    return plans(flink, java, "map_in_one")


def test_it_is_what_flink_makes_of_it(flink, java, usual):
    old, new = usual
    assert old.otherwise is None, "no operator has a parallelism of its own"
    assert new.otherwise is not None
    (_, other) = plans(flink, java, "map_in_one", **{"parallelism.default": "2"})
    assert (told(new.otherwise), exchanges(new.otherwise)) == (told(other), exchanges(other))
    assert told(new) != told(other)
    assert other.otherwise is None, "the option says it"


def test_where_the_program_says_it_there_is_no_other(flink, java):
    assert [plan.otherwise for plan in plans(flink, java, "parallelism_given")] == [None, None]


def test_a_verdict_that_hangs_on_it_is_unknown(flink, java, usual):
    def judged(old, new):
        return check(*(facts_of(one, name="job.jar", kind="program") for one in (old, new)), CheckOptions())

    old, new = usual
    under_one, under_two = judged(old, new), judged(old, new.otherwise)
    assert [report.verdict.value for report in (under_one, under_two)] == ["compatible", "incompatible"]
    found = under_both(under_one, under_two)
    assert (found.verdict.value, found.findings[0].rule) == ("unknown", "CMP306")
