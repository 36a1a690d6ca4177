"""Folders of clusters that former builds of compat left: their records are migrated, their jobs can be read and go on."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from compat.cluster.layout import ClusterFolder
from compat.cluster.registry import METADATA, SCHEMA, Jobs
from compat.compiler.executiongraph.states import JobStatus
from compat.service.database import Database
from compat.service.database.migrate import LaterForm, revisions
from compat.state.delta.log import SnapshotLog
from tests.compat.cluster.offline import OfflineCluster

KEPT = sorted((Path(__file__).parents[2] / "golden" / "formats" / "clusters").glob("*.tar.gz"))


@pytest.fixture(params=KEPT, ids=lambda path: path.name.removesuffix(".tar.gz"))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "cluster", filter="data")
    return tmp_path / "cluster"


def test_data_of_each_form_is_kept() -> None:
    assert revisions(SCHEMA) == {path.name.removesuffix(".tar.gz") for path in KEPT}


def test_its_records_are_brought_to_the_present_form(folder: Path) -> None:
    database = Database(ClusterFolder(folder).database)
    database.migrate(SCHEMA)
    with database.read() as connection:
        options = {"include_name": lambda name, kind, _: kind != "table" or name in METADATA.tables}
        context = MigrationContext.configure(connection, opts={**options, "version_table": SCHEMA.form})
        assert compare_metadata(context, METADATA) == []
    database.close()


def test_its_job_is_known_with_its_submission_and_state_and_has_its_next_attempt(folder: Path) -> None:
    cluster = OfflineCluster(folder)
    (job,) = cluster.jobs.unfinished()
    assert (job.name, job.status, job.slots) == ("counting", JobStatus.RUNNING, 1)
    submission = cluster.place.submission(job.id)
    assert (submission.name, submission.slots, submission.restarts) == ("counting", 1, {})
    entry = cluster.place.store.entry(job.id)
    assert entry is not None
    assert SnapshotLog.open(cluster.place.store.state(job.id)).epoch >= entry.epoch > 0
    assert cluster.dispatcher.deploying.situation("counting").base == job.id
    cluster.dispatcher._round()
    assert cluster.jobs.get(job.id).attempt >= job.attempt


def test_records_of_a_later_version_are_refused_in_a_sentence(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/cluster.db")
    Jobs(database).migrate()
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE cluster_version SET version_num = '9999'")
    with pytest.raises(LaterForm, match=r"have form 9999.* up to 0005: .* Update compat"):
        Jobs(database).migrate()
    database.close()
