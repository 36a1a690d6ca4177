"""Two plans of a job that Flink built: what the snapshots of its serializers tell without Flink's own classes."""

import msgspec
import pytest

from compat.check.findings import Verdict
from compat.check.serializers import Told, told
from compat.comparison import Comparison, decide
from tests.compat.loader.jvm.golden import program


@pytest.fixture(scope="module")
def plans(flink, java):
    """The plans of golden pairs, old and new by name, built in one JVM."""
    from compat.loader.jvm.plans import plan_of
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build_all

    asked = [(name, side) for name in {row[0] for row in TABLE} for side in ("old", "new")]
    outcomes = build_all([program("2.3.0", *one) for one in asked], flink, java, JvmOptions(options={}))
    return {one: plan_of(outcome.jobs[-1], one[1]) for one, outcome in zip(asked, outcomes, strict=True)}


TABLE = [
    ("uid_same", Verdict.COMPATIBLE),
    ("pojo_same", Verdict.COMPATIBLE),
    ("pojo_field_added", Verdict.MIGRATION),
    ("pojo_field_removed", Verdict.MIGRATION),
    ("tuple_of_pojo_evolved", Verdict.MIGRATION),
    ("enum_added_last", Verdict.COMPATIBLE),
    ("tuple_arity", Verdict.INCOMPATIBLE),
    ("key_pojo_field_added", Verdict.UNKNOWN),
    ("custom_ser_incompatible", Verdict.UNKNOWN),
    ("avro_field_removed", Verdict.UNKNOWN),
]


@pytest.mark.parametrize(("name", "verdict"), TABLE)
def test_what_only_flink_can_tell_is_not_called_compatible(plans, name, verdict):
    old, new = (msgspec.structs.replace(plans[name, side], empty_savepoint=None) for side in ("old", "new"))
    report = decide(old, new, Comparison("old", "new"), {})
    assert report.verdict is verdict, [(one.rule, one.title, one.reason) for one in report.findings]


def test_snapshots_that_cannot_be_read_are_the_same_only_if_they_are_equal():
    assert told(b"abc", b"abc")[0] is Told.SAME
    assert told(b"abc", b"abd")[0] is Told.UNKNOWN
