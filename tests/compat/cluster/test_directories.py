"""Where jobs of a cluster write: the cluster's defaults, and what its machines would not see is refused at its start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.cluster import directories as module
from compat.cluster import requests
from compat.cluster.directories import Directories, refuse_unseen
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Action
from compat.cluster.settings import ClusterSettings
from compat.cluster.submission import Submission
from compat.compiler.errors import ProgramError
from compat.state.delta.errors import StoreError
from tests.compat.cluster.fakes import FakeCluster, fake_cluster

CHECKPOINTS, SAVEPOINTS = "execution.checkpointing.dir", "execution.checkpointing.savepoint-dir"
SHARED = Directories(checkpoints="s3://bucket/jobs", savepoints="s3://bucket/saved")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Directories()),
        ({CHECKPOINTS: "s3://b/jobs"}, Directories(checkpoints="s3://b/jobs")),
        ({"state.checkpoints.dir": "s3://b/jobs"}, Directories(checkpoints="s3://b/jobs")),
        ({SAVEPOINTS: "hdfs://nn:8020/saved"}, Directories(savepoints="hdfs://nn:8020/saved")),
        ({"state.savepoints.dir": "file:///srv/saved"}, Directories(savepoints="/srv/saved")),
    ],
)
def test_options_in_flinks_spelling(options: dict[str, str], expected: Directories) -> None:
    assert Directories.of(options) == expected
    assert all(map(Directories.is_option, options))


def test_a_folder_of_this_machine_is_from_where_the_cluster_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Directories.of({CHECKPOINTS: "jobs"}).checkpoints == str(tmp_path / "jobs")
    with pytest.raises(StoreError, match=r"directory for checkpoints.* ftp://host/x is not on"):
        Directories.of({CHECKPOINTS: "ftp://host/x"})


@pytest.mark.parametrize(
    ("options", "checkpoints", "savepoints"),
    [
        ({}, "s3://bucket/jobs", "s3://bucket/saved"),
        ({CHECKPOINTS: "/mine"}, "/mine", "s3://bucket/saved"),
        ({"state.checkpoints.dir": "/mine"}, "/mine", "s3://bucket/saved"),
        ({"state.savepoints.dir": "/mine"}, "s3://bucket/jobs", "/mine"),
    ],
)
def test_what_a_program_says_comes_first_however_it_spells_it(
    options: dict[str, str], checkpoints: str, savepoints: str
) -> None:
    beside = SHARED.beside({**options, "other": "kept"})
    assert module.checkpoint_directory(beside) == checkpoints
    assert module.savepoint_directory(beside) == savepoints
    assert beside["other"] == "kept"
    assert Directories().beside(options) == options


@pytest.mark.parametrize("master", ["local[4]", "spark://127.0.0.1:7077", "spark://localhost:7077"])
def test_on_this_machine_all_folders_are_seen(master: str, tmp_path: Path) -> None:
    assert refuse_unseen(Directories(), tmp_path, master) is None


@pytest.mark.parametrize("master", ["yarn", "k8s://https://10.0.0.1:6443", "spark://10.0.0.1:7077"])
def test_what_all_machines_see_passes(master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refuse_unseen(SHARED, tmp_path, master) is None
    monkeypatch.setattr(module, "is_mounted", lambda path: str(path).startswith(str(tmp_path)))
    assert refuse_unseen(Directories(), tmp_path, master) is None, "the cluster's own folder is on NFS"


@pytest.mark.parametrize(
    ("given", "told", "unsaid"),
    [
        (Directories(), (f"-D {CHECKPOINTS}=hdfs://", f"-D {SAVEPOINTS}=hdfs://"), ""),
        (Directories(checkpoints="s3://b/x"), (f"-D {SAVEPOINTS}=hdfs://",), f"-D {CHECKPOINTS}="),
        (Directories(savepoints="s3://b/x"), (f"-D {CHECKPOINTS}=hdfs://",), f"-D {SAVEPOINTS}="),
        (
            Directories(checkpoints="/srv/jobs", savepoints="s3://b/x"),
            ("do not see /srv/jobs,", f"-D {CHECKPOINTS}="),
            f"-D {SAVEPOINTS}=",
        ),
    ],
)
@pytest.mark.parametrize("master", ["yarn", "k8s://https://10.0.0.1:6443"])
def test_what_other_machines_do_not_see_is_refused(
    master: str, given: Directories, told: tuple[str, ...], unsaid: str, tmp_path: Path
) -> None:
    with pytest.raises(ProgramError) as refused:
        refuse_unseen(given, tmp_path, master)
    assert all(each in str(refused.value) for each in told)
    assert not unsaid or unsaid not in str(refused.value)


def test_whether_workers_of_spark_see_a_folder_is_not_known(tmp_path: Path) -> None:
    note = refuse_unseen(Directories(), tmp_path, "spark://10.0.0.1:7077")
    assert note is not None
    assert f"Jobs write to {tmp_path}/jobs and {tmp_path}/savepoints" in note
    assert f"-D {CHECKPOINTS}=hdfs://HOST:PORT/FOLDER -D {SAVEPOINTS}=" in note


def test_the_command_refuses_before_it_looks_for_the_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    done = CliRunner().invoke(main, ["cluster", "start", "--master", "yarn", "--port", "0"])
    assert done.exit_code == 2
    assert "which do not see" in done.output
    assert not Path(".compat").exists()
    done = CliRunner().invoke(main, ["cluster", "start", "-D", f"{CHECKPOINTS}=ftp://host/x"])
    assert done.exit_code == 2
    assert "is not on this machine's file system" in " ".join(done.output.split())


def test_tasks_elsewhere_have_folders_of_their_own_for_local_state(tmp_path: Path) -> None:
    assert ClusterFolder(tmp_path, "local[2]").replicas_of_tasks == str(tmp_path / "replicas")
    assert ClusterFolder(tmp_path, "yarn").replicas_of_tasks is None


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    settings = ClusterSettings(slots=2, master="local[2]", lease=60, directories=SHARED)
    with fake_cluster(tmp_path, monkeypatch, settings, started=False) as made:
        yield made


def test_a_job_keeps_the_directories_that_the_cluster_had_when_it_came(fake: FakeCluster) -> None:
    """A cluster that is started again with others does not move the state of jobs that go on, nor do clients choose them."""
    assert fake.folder.submission(fake.submit(1)).directories == SHARED
    chosen = Submission(
        name="n",
        program="",
        folder="",
        flink="2.3",
        slots=1,
        job=b"",
        setup=b"",
        plan=b"{}",
        directories=Directories(checkpoints="/elsewhere"),
    )
    job = fake.dispatcher.submit(f"{2:032x}", chosen.encoded(), "me").id
    assert fake.folder.submission(job).directories == SHARED


def test_a_savepoint_elsewhere_whose_answer_was_lost_is_found_again(
    fake: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = fake.submit(1)
    fake.dispatcher.ask(job, Action.SAVEPOINT, "s3://bucket/saved/one")
    (request,) = fake.jobs.open_requests()
    description = {"job_id": job, "time": request.at + 1}
    monkeypatch.setattr(requests, "read_description", {"s3://bucket/saved/one": description}.__getitem__)
    assert requests.saved(fake.jobs.get(job), request) == "s3://bucket/saved/one"
