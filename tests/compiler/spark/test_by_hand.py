"""What people do to the state of a stopped job by Spark and Delta: the job goes on, or says why not and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.session import MissingJava
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.tables import delta_session
from tests.compiler.spark.faults import Killed, failing
from tests.compiler.spark.test_faults import run, verify
from tests.compiler.spark.test_restore import WORDS, stopped
from tests.needs import Need, without

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Sql = Callable[[str], list[Any]]
DONE = 3
"""The epochs of the stopped job."""


@pytest.fixture(scope="module")
def sql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sql]:
    """Slow: it starts Spark, and may have to fetch Delta's packages."""
    folder = tmp_path_factory.mktemp("spark")
    options = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    try:
        spark = delta_session(str(folder / "spark.log"), options=options)
    except MissingJava:
        without(Need.JAVA)
    except StoreError as error:
        without(Need.MAVEN, error)
    yield lambda text: spark.sql(text).collect()  # type: ignore[no-any-return]
    spark.stop()


@pytest.fixture
def state(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The table of a job whose driver was killed in its fourth epoch."""
    with monkeypatch.context() as patched:
        patched.setattr(InProcessRunner, "run", failing(InProcessRunner.run, DONE + 1, False, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    master = cluster.last.master
    return str(master.job.store.state(master.job.job_id))


def goes_on(cluster: Any, folder: Path, state: str) -> None:
    """The same command goes on with the job of that state, exactly once."""
    run(cluster, folder)
    assert cluster.last.master.job.job_id == Path(state).parent.name
    verify(cluster, folder)


def test_versions_are_checkpoints(sql: Sql, state: str) -> None:
    history = sorted((row["version"], row["operation"]) for row in sql(f"describe history delta.`{state}`"))
    assert history == [(0, "CREATE TABLE"), *((version, "WRITE") for version in range(1, DONE + 1))]
    for version in range(1, DONE + 1):
        told = f"select max(epoch), count(*) from delta.`{state}` version as of {version}"
        rows = sum(file.rows for file in SnapshotLog.open(state, version).files())
        assert [tuple(row) for row in sql(told)] == [(version, rows)]


@pytest.mark.parametrize(
    "commands",
    [
        ["optimize {}"],
        ["optimize {} zorder by (key_group)"],
        ["vacuum {} retain 0 hours"],
        ["vacuum {} lite retain 0 hours"],
        ["optimize {}", "vacuum {} retain 0 hours"],
        ["reorg table {} apply (purge)"],
        ["alter table {} set tblproperties ('delta.checkpointInterval' = '1')", "optimize {}"],
    ],
    ids=" then ".join,
)
def test_a_job_goes_on_from_a_table_that_was_rewritten(
    sql: Sql, cluster: Any, tmp_path: Path, state: str, commands: list[str]
) -> None:
    for command in commands:
        sql(command.format(f"delta.`{state}`"))
    assert SnapshotLog.open(state).epoch == DONE
    goes_on(cluster, tmp_path, state)


def test_an_earlier_checkpoint_whose_files_were_vacuumed_is_told(sql: Sql, state: str) -> None:
    sql(f"optimize delta.`{state}`")
    assert list(state_rows(f"{state}@1", "count"))
    sql(f"vacuum delta.`{state}` retain 0 hours")
    with pytest.raises(StoreError, match="the checkpoint is not retained any more, or someone removed it"):
        list(state_rows(f"{state}@1", "count"))


def test_features_that_jobs_do_not_write_are_refused(sql: Sql, cluster: Any, tmp_path: Path, state: str) -> None:
    sql(f"alter table delta.`{state}` cluster by (key_group)")
    with pytest.raises(StoreError, match=r"has features of Delta that jobs do not write: .*Clustered") as error:
        run(cluster, tmp_path)
    assert f"Begin another job from it with -s {state}" in str(error.value)
    run(cluster, tmp_path, savepoint=state)
    verify(cluster, tmp_path)


def test_rows_that_only_count_as_deleted_are_not_read_as_if_they_were_there(
    sql: Sql, cluster: Any, tmp_path: Path, state: str
) -> None:
    sql(f"alter table delta.`{state}` set tblproperties ('delta.enableDeletionVectors' = 'true')")
    assert SnapshotLog.open(state).files()
    sql(f"delete from delta.`{state}` where state = 'count' and epoch < {DONE}")
    with pytest.raises(StoreError, match=r"deleted rows of the state .* by deletion vectors") as error:
        run(cluster, tmp_path)
    purge = f"REORG TABLE delta.`{state}` APPLY (PURGE)"
    assert purge in str(error.value)
    sql(purge)
    goes_on(cluster, tmp_path, state)


def test_a_savepoint_that_was_rewritten_is_whole(sql: Sql, cluster: Any) -> None:
    _, path = stopped(cluster)
    sql(f"optimize delta.`{path}`")
    sql(f"vacuum delta.`{path}` retain 0 hours")
    counted = {row["key"]: row["value"] for row in state_rows(path, "count") if row["state"] == "count"}
    assert counted == Counter(WORDS[:120])
