"""Jobs on a cluster, which outlive who submitted them and whatever is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from compat.compiler.spark.driver.shared import SparkPlace
from compat.transport import ServerError, call
from tests.compat.cluster.growth import descriptors_of_keeper
from tests.compat.cluster.jobs import SmallJobs
from tests.compat.cluster.kills import MOMENTS, STEPS, Lives, kills_of
from tests.compat.cluster.running import RunningCluster, wait_for_the_end
from tests.compiler.spark.crashes import processes, verify_job

pytestmark = pytest.mark.spark

SLOWLY = ("--epoch-records", "20")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    running = RunningCluster(tmp_path_factory.mktemp("cluster"))
    running.start("--heartbeat-timeout", "20")
    yield running
    running.stop()
    assert not SparkPlace(running.place.path).kept
    left = [line for _, line in processes().values() if str(running.place.path) in line]
    assert left == []


def test_a_job_is_run_saved_stopped_and_restored(cluster: RunningCluster) -> None:
    job = cluster.submit(5_000, "saved", *SLOWLY)
    cluster.at(job, 2)
    _is_to_be_seen(cluster, job)
    waiting = cluster.submit(100, "waiting")
    assert cluster.client.find(waiting).waiting == "waiting for 2 slots, 0 free"
    listed = cluster.run("list").stdout
    assert f"{waiting} : counting (CREATED, waiting for 2 slots, 0 free)" in listed
    assert f"{job} : counting (RUNNING" in listed
    saved = cluster.run("savepoint", job[:8]).stdout.strip()
    assert Path(saved, "_savepoint.json").exists()
    assert '"state": "count"' in cluster.run("state", job, "count", "--format", "json").stdout
    cancelled = cluster.run("cancel", waiting)
    assert (cancelled.returncode, cluster.client.find(waiting).state) == (0, "CANCELED")
    stopped = cluster.run("stop", job)
    assert stopped.returncode == 0, stopped.stderr
    again = cluster.run("stop", job)
    assert again.stdout == stopped.stdout  # it has ended with this savepoint
    program = cluster.folder / "saved" / "job.py"
    # Its sinks go on where those of the stopped job ended: together they have each record once.
    done = cluster.run("run", str(program), "-s", stopped.stdout.strip(), "--output", "json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, events[-1]["event"]) == (0, "finished"), done.stderr
    assert events[0]["restored"]["path"] == stopped.stdout.strip()
    verify_job(str(cluster.folder / "saved"), 5_000, cluster.place.store, events[0]["job_id"])


def _is_to_be_seen(cluster: RunningCluster, job: str) -> None:
    """The interface and the pages tell of a job what it really does."""
    with httpx.Client(base_url=cluster.url, timeout=60) as client:
        told = client.get(f"/jobs/{job}/checkpoints").json()
        last = told["latest"]["completed"]
        assert last["id"] >= 2
        assert told["counts"]["completed"] >= last["id"]
        assert min(last["state_size"], last["checkpointed_size"], last["end_to_end_duration"], last["records"]) > 0
        first, *_, end = client.get(f"/jobs/{job}").json()["vertices"]
        assert first["metrics"]["read-records"] == first["metrics"]["write-records"] > 0
        assert end["metrics"]["write-records"] is None
        vertex = client.get(f"/jobs/{job}/vertices/{end['id']}").json()
        assert (vertex["status"], vertex["metrics"]["read-records"] > 0) == ("RUNNING", True)
        assert client.get(f"/jobs/{job}/exceptions").json()["exceptionHistory"]["entries"] == []
        page = client.get(f"/ui/jobs/{job}").text
        assert "Write a savepoint" in page
        assert "Duration of an epoch" in page
        graph = client.get(f"/ui/jobs/{job}/graph").text
        ids = re.findall(r'data-vertex="(\w+)"', graph)
        data = graph[graph.index('id="view-data"') :]
        assert first["id"] in ids
        assert all(f'"id": "{id}"' in data for id in ids)


def test_what_cannot_run_is_refused(cluster: RunningCluster) -> None:
    folder = cluster.folder / "refused"
    folder.mkdir()
    program = folder / "job.py"
    program.write_text(
        (cluster.folder / "saved" / "job.py").read_text().replace("set_parallelism(2)", "set_parallelism(5)")
    )
    wide = cluster.run("run", str(program))
    assert wide.returncode == 2
    assert "The job needs 5 slots, and the cluster has 2" in wide.stderr
    large = folder / "large.py"
    large.write_text("from pyflink.datastream import StreamExecutionEnvironment as E\n"
                     "from pyflink.datastream.slot_sharing_group import SlotSharingGroup as G\n"
                     "env = E.get_execution_environment()\nenv.set_parallelism(1)\nenv.set_buffer_timeout(0)\n"
                     "group = G.builder('large').set_cpu_cores(6400.0).set_task_heap_memory_mb(10).build()\n"
                     "env.from_collection([1]).map(lambda n: n).slot_sharing_group(group).print()\n"
                     "env.execute()\n")  # fmt: skip
    refused = cluster.run("run", str(large))
    assert refused.returncode == 2
    assert f"The slot sharing group 'large' ({large}:7) asks for 6400 cores and 10 MB of memory" in refused.stderr
    assert refused.stderr.count("has no effect on Spark") == 1
    of_spark = cluster.run("run", str(program), "-D", "spark.executor.memory=1g")
    assert of_spark.returncode == 2
    assert "compat cluster start -D spark.executor.memory=1g" in of_spark.stderr
    program.write_text("from pyflink.datastream import StreamExecutionEnvironment as E\n"
                       "env = E.get_execution_environment()\nenv.set_parallelism(1)\n"
                       "env.from_collection([1, 0]).map(lambda n: 1 // n).print()\nenv.execute()\n")  # fmt: skip
    fails = cluster.run("run", str(program), "-D", "restart-strategy.type=none")
    assert fails.returncode == 1
    assert "ZeroDivisionError" in fails.stderr


def test_a_job_goes_on_when_its_master_is_killed_and_when_a_paused_one_wakes_up(cluster: RunningCluster) -> None:
    job = cluster.submit(1_000, "killed", *SLOWLY)
    checkpoint = 2
    for what in ("master", "dispatcher"):
        checkpoint = cluster.at(job, checkpoint).checkpoint + 2
        if what == "dispatcher":
            paused = cluster.pause("master", job)
        assert cluster.kill(what, job), what
    try:
        cluster.wait(job, lambda found: found.attempt == 3 or found.over)
    finally:
        os.kill(paused, signal.SIGCONT)  # now there are two of them
    ended = cluster.wait(job, lambda found: found.over)
    wait_for_the_end(paused)
    assert (ended.state, ended.attempt) == ("FINISHED", 3), cluster.said()
    verify_job(str(cluster.folder / "killed"), 1_000, cluster.place.store, job)


def test_of_two_dispatchers_that_live_only_one_acts(cluster: RunningCluster) -> None:
    """One that was paused, and whose place another has, refuses what it is asked, says who leads, and ends."""
    job = cluster.submit(500, "two", *SLOWLY)
    cluster.at(job, 2)
    paused = cluster.pause("dispatcher")
    former, url = cluster.take_over("--heartbeat-timeout", "20")
    refusals: list[ServerError] = []

    def cancel() -> None:
        try:
            call(url, f"/jobs/{job}?mode=cancel", dict, method="PATCH")
        except ServerError as error:
            refusals.append(error)

    asking = threading.Thread(target=cancel)
    asking.start()
    try:
        assert cluster.client.find(job).attempt == 1  # the other one leads, and has adopted the job
    finally:
        os.kill(paused, signal.SIGCONT)
    asking.join(60)
    told = [(error.status, str(error)) for error in refusals]
    assert told == [(503, f"Another dispatcher leads this cluster now, at {cluster.url}.")]
    assert former.wait(60) == 1
    assert former.stdout is not None
    former.stdout.close()
    ended = cluster.wait(job, lambda found: found.over)
    assert (ended.state, ended.attempt) == ("FINISHED", 1), cluster.said()
    verify_job(str(cluster.folder / "two"), 500, cluster.place.store, job)


def test_a_life_with_kills_at_each_of_its_moments_is_exact(cluster: RunningCluster) -> None:
    lives = Lives(cluster)
    lives.live("life", kills_of(0, 0))
    assert len(lives.killed) == len(MOMENTS) + len(STEPS)


def test_small_jobs_one_after_another_leave_no_connections(cluster: RunningCluster) -> None:
    """A sample of :mod:`tests.compat.cluster.test_growth`."""
    jobs = SmallJobs(cluster)
    jobs.run(1)
    before = descriptors_of_keeper(cluster.place)
    jobs.run(4)
    assert descriptors_of_keeper(cluster.place) <= before + 1


def test_an_ended_job_is_discarded(cluster: RunningCluster) -> None:
    (job, *_) = (job.jid for job in cluster.client.jobs() if job.over)
    done = cluster.run("discard", job)
    assert (done.returncode, f"Job {job} was removed" in done.stderr) == (0, True)
    assert not cluster.place.job(job).exists()
    assert job not in cluster.run("list", "--all").stdout
