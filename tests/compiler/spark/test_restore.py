"""Savepoints: stop, change the program, restore, and end as if the job had never stopped."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.delta import DeltaSink
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.spark.driver import restore
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.restore import RestoreRefused, saved_operators
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.runtime_api.internal_states import STATES
from compat.compiler.streamgraph.hashing import uid_hash
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row, write_rows
from compat.state.delta.savepoint import read_description
from compat.state.descriptors import ValueStateDescriptor
from compat.state.stores.local import LocalFiles
from compat.state.types import Types
from tests.compiler.spark.faults import Killed, failing

WORDS = [f"w{(i * i) % 13}" for i in range(300)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
ROW = Types.ROW_NAMED(["n"], [Types.LONG()])


class Count(KeyedProcessFunction):
    def __init__(self, type_info: Any = None, name: str = "count") -> None:
        self.type_info = type_info or Types.LONG()
        self.name = name

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor(self.name, self.type_info))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


def program(env: Any, *, extra: bool = False, function: Any = None, uid: str | None = "count") -> Any:
    stream = env.from_collection([(word, 1) for word in WORDS], PAIR)
    if extra:
        stream = stream.map(lambda p: p, PAIR).start_new_chain().uid("extra")
    counted = stream.key_by(lambda p: p[0], Types.STRING()).process(function or Count(), PAIR)
    return counted.uid(uid) if uid else counted


def stopped(cluster: Any, *, parallelism: int = 2, **shape: Any) -> tuple[list[Any], str]:
    """The results of the first three epochs, and the savepoint after them."""
    env = cluster.environment(parallelism, epochs=3, epoch_records=40)
    first = list(program(env, **shape).execute_and_collect())
    path = cluster.last.master.job.savepoint
    assert path is not None
    assert len(first) == 120
    return first, path


def expected() -> list[tuple[str, int]]:
    seen: Counter[str] = Counter()
    made = []
    for word in WORDS:
        seen[word] += 1
        made.append((word, seen[word]))
    return sorted(made)


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_another_parallelism(cluster: Any, parallelism: int) -> None:
    first, path = stopped(cluster)
    assert read_description(path)["epoch"] == 3
    rest = list(program(cluster.environment(parallelism, savepoint=path, epoch_records=50)).execute_and_collect())
    # The collection itself has no uid, but its position does not change with the parallelism.
    assert sorted(first + rest) == expected()


def test_state_can_be_read(cluster: Any) -> None:
    _, path = stopped(cluster)
    counts = {row["key"]: row["value"] for row in state_rows(path, "count") if row["state"] == "count"}
    assert counts == dict(Counter(WORDS[:120]))


def test_user_hash(cluster: Any) -> None:
    first, path = stopped(cluster, uid=None)
    old = next(each for each in cluster.last.master.job.plan.operators() if "KEYED" in each[1].name)[1].id
    env = cluster.environment(2, savepoint=path)
    rest = list(program(env, uid="named").set_uid_hash(old).execute_and_collect())
    assert sorted(first + rest) == expected()


def test_a_state_is_handed_out_once(cluster: Any) -> None:
    """The second operator with the same user hash goes by its own id, as in Flink."""

    def two(env: Any, first: str, hash: str | None = None) -> Any:
        stream = env.from_collection([(word, 1) for word in WORDS], PAIR)
        counted = [
            stream.map(lambda p, mark=uid: (p[0] + mark, 1), PAIR)
            .uid(f"{uid}-marks")
            .key_by(lambda p: p[0], Types.STRING())
            .process(Count(), PAIR)
            .uid(uid)
            for uid in (first, "b")
        ]
        if hash is not None:
            for each in counted:
                each.set_uid_hash(hash)
        return counted[0].union(counted[1])

    before = list(two(cluster.environment(2, epochs=3, epoch_records=40), "a").execute_and_collect())
    path = cluster.last.master.job.savepoint
    env = cluster.environment(2, savepoint=path, allow_non_restored=True)
    after = list(two(env, "a2", uid_hash("a")).execute_and_collect())
    counts = Counter(key for key, _ in before if key.endswith("b"))
    assert min(count for key, count in after if key.endswith("b") and counts[key]) > 1
    for key, count in after:
        if key.endswith("b"):
            counts[key] += 1
            assert count == counts[key]


def test_removed_operator(cluster: Any) -> None:
    _, path = stopped(cluster)
    env = cluster.environment(2, savepoint=path)
    with pytest.raises(RestoreRefused, match="Cannot map the state of operator 'KEYED PROCESS'"):
        program(env, uid="renamed").execute_and_collect()
    env = cluster.environment(2, savepoint=path, allow_non_restored=True)
    rest = list(program(env, uid="renamed").execute_and_collect())
    assert dict(rest)["w0"] == Counter(WORDS[120:])["w0"]


def test_max_parallelism(cluster: Any) -> None:
    _, path = stopped(cluster)
    env = cluster.environment(2, savepoint=path)
    env.set_max_parallelism(64)
    with pytest.raises(RestoreRefused, match="maximum parallelism"):
        program(env).execute_and_collect()


def test_another_type(cluster: Any) -> None:
    _, path = stopped(cluster)
    env = cluster.environment(2, savepoint=path)
    with pytest.raises(Exception, match="must not be incompatible"):
        list(program(env, function=Count(Types.STRING())).execute_and_collect())


def test_renamed_state_starts_empty(cluster: Any) -> None:
    _, path = stopped(cluster)
    env = cluster.environment(2, savepoint=path)
    rest = list(program(env, function=Count(name="other")).execute_and_collect())
    assert min(count for _, count in rest) == 1


def test_savepoint_can_be_moved(cluster: Any, tmp_path: Any) -> None:
    first, path = stopped(cluster)
    import shutil

    shutil.move(path, tmp_path / "moved")
    env = cluster.environment(3, savepoint=str(tmp_path / "moved"))
    assert sorted(first + list(program(env).execute_and_collect())) == expected()


def test_operators_are_found_without_reading_all_keys_and_values(tmp_path, monkeypatch):
    log = SnapshotLog.create(tmp_path / "state")
    facts = {"name": "sum", "uid": "sum", "parallelism": 1, "max_parallelism": 128, "states": []}
    told = Row("a" * 32, Kind.OPERATOR, NO_KEY_GROUP, STATES, b"", b"", b"", json.dumps(facts).encode())
    log.commit(1, [write_rows(log.path, [told], 1)], {"token": "a"})
    for epoch in (2, 3):
        row = Row("a" * 32, Kind.VALUE, 5, "total", b"key", b"", b"", b"value")
        assert log.commit(epoch, [write_rows(log.path, [row], epoch)], {"token": "a"})
    whole = []
    batches = restore.batches

    def noted(table, file, columns=None, **how):
        if columns is None or "value" in columns:
            whole.append(file.epochs)
        return batches(table, file, columns, **how)

    monkeypatch.setattr(restore, "batches", noted)
    (found,) = saved_operators(SnapshotLog.open(log.path)).values()
    assert (found.name, found.stateful, found.keyed) == ("sum", True, True)
    assert whole == [(1, 1)]


def _away(*_: Any) -> None:
    raise OSError("away")


def gone(*_: Any) -> None:
    raise StoreError("The store is away.")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_restore_that_fails_leaves_nothing(cluster: Any, tmp_path: Path, monkeypatch: Any, elsewhere: bool) -> None:
    """The store is away while the state is taken over: no folder stays that no job is of, and the next restore is whole."""
    first, path = stopped(cluster)
    jobs, checkpoints = tmp_path / "store" / "jobs", tmp_path / "checkpoints"
    before = sorted(jobs.iterdir())
    env = cluster.environment(savepoint=path)
    if elsewhere:
        env.configuration.set_string("execution.checkpointing.dir", str(checkpoints))
    with monkeypatch.context() as patch:
        patch.setattr(restore, "import_snapshot", gone)
        with pytest.raises(StoreError, match="away"):
            program(env).execute_and_collect()
    assert sorted(jobs.iterdir()) == before
    assert not elsewhere or list(checkpoints.iterdir()) == []
    assert sorted(first + list(program(cluster.environment(savepoint=path)).execute_and_collect())) == expected()


def test_what_a_job_left_that_could_not_even_be_removed_is_removed_later(
    cluster: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    _, path = stopped(cluster)
    jobs, store = tmp_path / "store" / "jobs", JobStore(tmp_path / "store")
    before = set(jobs.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(restore, "import_snapshot", gone)
        patch.setattr(LocalFiles, "remove", _away)
        with pytest.raises(StoreError, match="away"):
            program(cluster.environment(savepoint=path)).execute_and_collect()
    (left,) = set(jobs.iterdir()) - before
    submitted = jobs / "waits"
    submitted.mkdir()
    (submitted / "submission").write_text("of a cluster, to be run when it is its turn")
    store.sweep(time.time())
    assert left.exists()  # its driver may be about to begin
    with closing(store.lock(left.name)):
        store.sweep(time.time() + 4000)
    assert left.exists()
    store.sweep(time.time() + 4000)
    assert set(jobs.iterdir()) == before | {submitted}


def into_a_table(cluster: Any, table: Path, **options: Any) -> None:
    """Numbers of a job, as rows of a table."""
    env = cluster.environment(epoch_records=10, program="job.py", **options)
    numbers = env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    rows = numbers.map(lambda n: (n,), ROW).uid("rows")
    rows.sink_to(DeltaSink.for_row_data(str(table), ROW).build()).uid("table")
    env.execute("numbers")


def test_what_was_published_before_the_savepoint_is_not_published_by_a_driver_that_follows_one_that_died(
    cluster: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """The new version writes elsewhere, and its first driver dies before the first checkpoint."""
    tables = [tmp_path / "one", tmp_path / "other"]
    into_a_table(cluster, tables[0], epochs=2)
    path = cluster.last.master.job.savepoint
    with monkeypatch.context() as patched:
        patched.setattr(CheckpointCoordinator, "commit", failing(CheckpointCoordinator.commit, 1, False, Killed()))
        with pytest.raises(Killed):
            into_a_table(cluster, tables[1], savepoint=path)
    first = cluster.last.master.job.job_id
    into_a_table(cluster, tables[1], savepoint=path)
    assert cluster.last.master.job.job_id == first
    rows = [row["n"] for table in tables for row in DeltaTable(table).to_pyarrow_table().to_pylist()]
    assert sorted(rows) == list(range(1, 101))
