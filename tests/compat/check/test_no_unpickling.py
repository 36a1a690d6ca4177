"""A savepoint may hold pickles of anybody's making: nothing that decides about a restore opens one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.driver import Compilation
from compat.compiler.spark.driver.options import RunOptions
from compat.compiler.spark.driver.restore import prepare_restore
from compat.plan.as_run import as_run
from compat.plan.encode import encode
from compat.plan.writing import plain
from compat.state.delta.log import SnapshotLog
from compat.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

GOLDEN = Path(__file__).parents[2] / "golden"
L, P = Types.LONG(), Types.PICKLED_BYTE_ARRAY()
MINED = Types.ROW_NAMED(["n", "mine"], [L, P])
WIDER = Types.ROW_NAMED(["mine", "n", "more"], [P, L, L])
NEW = """\
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

P = Types.PICKLED_BYTE_ARRAY()


class Keep(KeyedProcessFunction):
    def open(self, ctx):
        ctx.get_state(ValueStateDescriptor("row", Types.ROW_NAMED(["n", "mine", "more"], [Types.LONG(), P, P])))
        ctx.get_list_state(ListStateDescriptor("mines", P))

    def process_element(self, value, ctx):
        return []


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1], Types.LONG())
numbers.key_by(lambda n: n % 2).process(Keep(), Types.LONG()).uid("keep").print()
env.execute("numbers")
"""


class Mine:
    """Writes a file when it is unpickled."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return open, (self.file, "w")


class Keep(KeyedProcessFunction):
    def __init__(self, file: str, row: Any = MINED) -> None:
        self.file = file
        self.row = row

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("row", self.row))
        self.mines = runtime_context.get_list_state(ListStateDescriptor("mines", P))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.value.update({"n": value, "mine": Mine(self.file)})
        self.mines.update([Mine(self.file)])
        return []


def run(cluster: Cluster, function: Keep, **options: Any) -> None:
    env = cluster.environment(1, epochs=1, epoch_records=6, plan_of=_plan, **options)
    env.from_collection(list(range(12)), L).key_by(lambda n: n % 2).process(function, L).uid("keep").print()
    env.execute("numbers")


def _plan(compilation: Compilation) -> dict[str, Any]:
    return plain(as_run(encode(compilation)))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    yield Cluster(tmp_path)
    start(Program())


def test_the_mine_works(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Mine(str(tmp_path / "boom")))).close()
    assert (tmp_path / "boom").exists()


def test_check_and_restore_of_a_snapshot_in_a_store(cluster: Cluster, tmp_path: Path) -> None:
    boom, new = tmp_path / "boom", tmp_path / "new.py"
    run(cluster, Keep(str(boom)))
    master = cluster.last.master
    new.write_text(NEW, encoding="utf-8")
    (outcome,) = compare(Comparison(master.job.savepoint, str(new))).outcomes
    assert isinstance(outcome, Report)
    assert {finding.rule for finding in outcome.findings} >= {"CMP405", "CMP411"}

    # The restore itself converts the rows that the mines are in.
    run(cluster, Keep(str(boom), WIDER))
    again = cluster.last.master.job
    restoration = prepare_restore(again.plan, again.plan_json, RunOptions(savepoint=master.job.savepoint))
    assert restoration.handed.migrations
    restoration.into(SnapshotLog.create(tmp_path / "restored"))
    assert not boom.exists()


@pytest.mark.parametrize("name", ["all_states_hashmap_canonical", "all_states_thread_canonical"])
def test_check_of_a_savepoint_of_flink(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was opened")

    for function in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, function, refuse)
    new = tmp_path / "new.py"
    new.write_text(NEW, encoding="utf-8")
    (outcome,) = compare(Comparison(str(GOLDEN / "savepoints" / name), str(new))).outcomes
    assert isinstance(outcome, Report)
