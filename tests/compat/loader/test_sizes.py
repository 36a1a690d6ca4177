"""A snapshot of a job on Spark as OLD: what it holds of each state is in the findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Report, Verdict
from compat.comparison import Comparison, compare
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.program import Program, start
from compat.plan.as_run import as_run
from compat.plan.encode import encode
from compat.plan.writing import plain
from compat.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

L, S = Types.LONG(), Types.STRING()
NEW = """\
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Keep(KeyedProcessFunction):
    def open(self, ctx):
        {declare}

    def process_element(self, value, ctx):
        return []


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1], Types.LONG())
numbers.key_by(lambda n: n % 7, Types.LONG()).process(Keep(), Types.LONG()).uid("{uid}").print()
env.execute("numbers")
"""
LAST = 'ctx.get_state(ValueStateDescriptor("last", Types.ROW_NAMED({names}, {types})))'
SEEN = 'ctx.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))'
AS_IT_WAS = LAST.format(names='["a"]', types="[Types.LONG()]")


class Keep(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.ROW_NAMED(["a"], [L])))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", L, L))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.last.update(Row(a=value))
        if value % 7 < 3:
            self.seen.put(value, value)
        return []


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A savepoint with 7 keys, of which 3 have a map."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    env = cluster.environment(
        2, epochs=1, epoch_records=50, plan_of=lambda compilation: plain(as_run(encode(compilation)))
    )
    keyed = env.from_collection(list(range(100)), L).key_by(lambda n: n % 7, L)
    keyed.process(Keep(), L).uid("keep").print()
    env.execute("numbers")
    yield cluster.last.master.job.savepoint
    start(Program())


def report(snapshot: str, folder: Path, declare: str, uid: str = "keep", **options: Any) -> Report:
    new = folder / "new.py"
    new.write_text(NEW.format(declare=declare, uid=uid), encoding="utf-8")
    (outcome,) = compare(Comparison(snapshot, str(new), **options)).outcomes
    assert isinstance(outcome, Report), outcome
    return outcome


def test_as_it_was(snapshot: str, tmp_path: Path) -> None:
    assert report(snapshot, tmp_path, f"{AS_IT_WAS}\n        {SEEN}").verdict is Verdict.COMPATIBLE


def test_keys_of_a_dropped_state(snapshot: str, tmp_path: Path) -> None:
    titles = {finding.rule: finding.title for finding in report(snapshot, tmp_path, AS_IT_WAS).findings}
    assert "does not declare the state 'seen' (3 keys) any more" in titles["CMP401"]


def test_keys_of_a_lost_operator(snapshot: str, tmp_path: Path) -> None:
    findings = {each.rule: each for each in report(snapshot, tmp_path, AS_IT_WAS, uid="another").findings}
    found = findings.get("CMP101") or findings["CMP102"]
    assert "7 keys" in found.consequence


def test_fields_are_migrated(snapshot: str, tmp_path: Path) -> None:
    more = LAST.format(names='["a", "b"]', types="[Types.LONG(), Types.STRING()]")
    found = report(snapshot, tmp_path, f"{more}\n        {SEEN}")
    assert found.verdict is Verdict.MIGRATION
    (finding,) = (each for each in found.findings if each.rule == "CMP405")
    assert "'last' (7 keys)" in finding.title
    assert "field 'b' is new" in finding.reason


def test_a_type_that_cannot_be_read(snapshot: str, tmp_path: Path) -> None:
    other = LAST.format(names='["a"]', types="[Types.STRING()]")
    found = report(snapshot, tmp_path, f"{other}\n        {SEEN}")
    assert found.verdict is Verdict.INCOMPATIBLE
    assert {each.rule for each in found.findings} >= {"CMP404"}


def test_a_table_that_cannot_be_read_costs_the_sizes_only(snapshot: str, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(snapshot, copy)
    for file in (copy / "_delta_log").iterdir():
        file.write_text("{")
    titles = {finding.rule: finding.title for finding in report(str(copy), tmp_path, AS_IT_WAS).findings}
    assert "does not declare the state 'seen' any more" in titles["CMP401"]
