"""Values that OLD's own serializers wrote, made up field by field, and what NEW makes of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compat.check.findings import Verdict
from tests.compat.java_pairs.build import JARS
from tests.compat.java_pairs.programs import JAVA_PAIRS
from tests.compat.loader.jvm.support import built
from tests.compat.verdicts import Pair, plan, verdict

FINE, MIGRATES, FAILS = Verdict.COMPATIBLE, Verdict.MIGRATION, Verdict.INCOMPATIBLE
EXPECTED = {
    "own_serializer_converts": (MIGRATES, ""),
    "own_serializer_mixes_up": (FAILS, "is read as"),
    "raw_state_of_another_form": (FAILS, "is read as"),
    "splits_refused": (FAILS, "version 1"),
    "splits_read": (FINE, ""),
    "kryo_int_to_long": (FINE, ""),
}
"""The verdict once NEW has read what OLD wrote, and what the finding about made-up values says."""


@pytest.fixture(scope="module")
def pairs(flink, java):
    """Each pair, with what NEW made of the values that OLD's program made up, and those values."""
    from compat.loader.jvm.answers import answers_of
    from compat.loader.jvm.messages import JarProgram, Restore
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build_all

    classes = {one.name: f"pairs.{one.class_name}" for one in JAVA_PAIRS if one.name in EXPECTED}

    def program(name, side):
        return JarProgram(path=str(JARS / f"{side}.jar"), main_class=classes[name])

    olds = build_all([program(name, "old") for name in EXPECTED], flink, java, JvmOptions(options={}))
    asked = [
        (program(name, "new"), [Restore(metadata=job.savepoint, samples=job.samples) for job in old.jobs])
        for name, old in zip(EXPECTED, olds, strict=True)
    ]
    found = {}
    for name, old, new in zip(EXPECTED, olds, built(asked, flink, java, JvmOptions(options={})), strict=True):
        answers = answers_of(new.restored[0], {node.id: node for node in new.jobs[0].nodes})
        found[name] = Pair(plan(old, "old"), plan(new, "new"), {"programs": answers}), old.jobs[0].samples
    return found


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_the_verdict_with_made_up_values(pairs, name, backend, tmp_path):
    report = verdict(pairs[name][0], "programs", tmp_path, backend)
    expected, said = EXPECTED[name]
    assert report.verdict is expected, [finding.title for finding in report.findings]
    told = [finding.reason for finding in report.findings if finding.rule == "CMP418"]
    assert bool(told) is bool(said)
    assert all(said in one for one in told)


def test_no_two_fields_hold_the_same(pairs):
    for name, (_, samples) in pairs.items():
        assert samples, name
        for sample in samples:
            for value in sample.values:
                held = [text for path, text in value.fields.items() if not path.endswith("#")]
                assert len(held) == len(set(held)), (name, value)
                assert value.whole


SCRIPT = """CREATE FUNCTION fold AS 'pairs.AggregateFunctionChanged$Fold';
CREATE TABLE numbers (k BIGINT, v BIGINT) WITH ('connector' = 'datagen');
CREATE TABLE sums (k BIGINT, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sums SELECT k, fold(v) FROM numbers GROUP BY k;
"""


def test_functions_on_the_class_path_are_the_programs(flink, java):
    from compat.loader.jvm.messages import SqlScript
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build

    called = []
    for side in ("old", "new"):
        own = replace(flink, jars=(*flink.jars, JARS / f"{side}.jar"))
        outcome = build(SqlScript(path="q.sql", text=SCRIPT), own, java, JvmOptions(options={}))
        called.append([code for node in outcome.jobs[0].nodes for code in node.called])
    assert [code.name for code in called[0]] == ["pairs.AggregateFunctionChanged$Fold"]
    assert called[0] != called[1]
