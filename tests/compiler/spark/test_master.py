"""The parts of a driver, each alone: nothing runs, and no Spark is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.compiler.executiongraph.states import ExecutionState, JobStatus
from compat.compiler.spark.driver import driven, life_cycle, recovery
from compat.compiler.spark.driver.driven import Pulse, insist
from compat.compiler.spark.driver.failures import AttemptFailed, JobFailed
from compat.compiler.spark.driver.restarts import RestartStrategy
from compat.compiler.spark.runtime_api.published import Printed
from compat.compiler.spark.task.epochs import EpochLost, TaskFailure
from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.log import SnapshotLog
from tests.compiler.spark.parts import JOB_ID, Epochs, Parts

FAILED = TaskFailure("m (1/1)", "m", None, "ZeroDivisionError", vertex=0, subtask=0)
LOST = TaskFailure("", None, None, "an executor is lost", lost=True)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    made = Parts(tmp_path)
    yield made
    made.job.lease.close()


class TestPulse:
    def test_a_thread_that_stands_still_for_longer_than_an_epoch_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(driven, "_SHORTEST_STANDSTILL", 0.0)
        pulse = Pulse(0.0)
        assert not pulse.hangs
        pulse.move()
        assert pulse.hangs
        pulse.hold()
        assert not pulse.hangs

    def test_a_thread_that_moves_or_whose_epochs_have_no_deadline_does_not(self) -> None:
        for timeout in (600.0, float("inf")):
            pulse = Pulse(timeout)
            pulse.move()
            assert not pulse.hangs


class TestInsisting:
    @pytest.mark.parametrize(("failures", "done"), [(0, 1), (2, 1), (9, 0)])
    def test_a_store_that_is_away_for_a_moment_is_asked_again(
        self, failures: int, done: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(driven, "_A_MOMENT", 0.0)
        left, made = [OSError("away")] * failures, []

        def work() -> None:
            if left:
                raise left.pop()
            made.append(1)

        insist(work)
        assert len(made) == done


class TestLifeCycle:
    def test_the_entry_says_the_state(self, parts: Parts) -> None:
        assert parts.store.read(JOB_ID).status == "RUNNING"
        parts.life.end(JobStatus.FAILED, "out of cheese")
        entry = parts.store.read(JOB_ID)
        assert (entry.status, entry.message, entry.ended is not None) == ("FAILED", "out of cheese", True)
        assert SnapshotLog.open(parts.job.coordinator.log.path).ended is not None

    def test_a_driver_whose_lease_is_lost_writes_nothing(self, parts: Parts) -> None:
        parts.job.lease.lost = True
        parts.life.to(JobStatus.RESTARTING)
        assert parts.store.read(JOB_ID).status == "RUNNING"

    def test_states_of_subtasks_are_written_while_their_epoch_runs(
        self, parts: Parts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(life_cycle, "_CHANGES_SECONDS", 0.0)
        parts.job.executions.deploy()

        def written() -> str:
            parts.life.write_changes()
            return str(parts.store.read(JOB_ID).vertices)

        before = written()
        parts.life.hear(0, 0, ExecutionState.RUNNING)
        assert written() == before
        parts.life.begin_epoch()
        assert written() != before

    def test_what_is_heard_behind_an_epoch_is_forgotten(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(life_cycle, "_CHANGES_SECONDS", 0.0)
        parts.job.executions.deploy()
        parts.life.begin_epoch()
        parts.life.hear(0, 0, ExecutionState.RUNNING)
        parts.life.end_epoch()
        before = str(parts.store.read(JOB_ID).vertices)
        parts.life.begin_epoch()
        parts.life.write_changes()
        assert str(parts.store.read(JOB_ID).vertices) == before


class TestRequests:
    def test_a_savepoint_is_written_and_answered(self, parts: Parts, tmp_path: Path) -> None:
        answer = parts.ask("savepoint", path=str(tmp_path / "savepoints"))
        assert parts.requests.answer() is False
        path = json.loads(answer.read_text())["path"]
        assert Path(path).parent == tmp_path / "savepoints"
        assert (parts.job.savepoint, parts.events) == (path, ["savepoint"])

    def test_a_stop_ends_the_job_with_a_savepoint(self, parts: Parts) -> None:
        answer = parts.ask("stop")
        assert parts.requests.answer() is True
        assert json.loads(answer.read_text()) == {"path": parts.job.savepoint}
        assert (parts.job.status, parts.events) == (JobStatus.FINISHED, ["savepoint", "stopped"])
        assert parts.store.read(JOB_ID).stopped_with == parts.job.savepoint

    def test_a_stop_that_drains_waits_for_the_end_of_all_input(self, parts: Parts) -> None:
        parts.requests.stop(True, None)
        assert parts.requests.answer() is False
        assert parts.requests.drain
        assert parts.loop.wait_for_work()
        parts.requests.end_input()
        assert parts.events == ["savepoint", "stopped"]

    def test_a_stop_whose_savepoint_cannot_be_written_lets_the_job_go_on(self, parts: Parts) -> None:
        answer = parts.ask("stop", path=parts.job.coordinator.log.path)
        assert parts.requests.answer() is False
        assert "The job goes on." in json.loads(answer.read_text())["error"]
        assert parts.job.status is JobStatus.RUNNING

    def test_a_stop_by_the_program_itself_fails_with_its_savepoint(self, parts: Parts) -> None:
        parts.requests.stop(False, parts.job.coordinator.log.path)
        with pytest.raises(StoreError, match="is a savepoint or a table itself"):
            parts.requests.answer()

    def test_while_a_job_restarts_stops_are_refused_and_savepoints_wait(self, parts: Parts) -> None:
        stopped = parts.ask("stop")
        parts.requests.refuse_stops()
        assert "restarts after a failure" in json.loads(stopped.read_text())["error"]
        stopped.unlink()
        asked = parts.ask("savepoint")
        parts.requests.refuse_stops()
        assert not asked.exists()
        parts.requests.answer()
        assert "path" in json.loads(asked.read_text())

    def test_who_cancels_is_answered(self, parts: Parts) -> None:
        answer = parts.ask("cancel")
        assert parts.job.cancelled is not None
        parts.requests.end_cancelled()
        assert json.loads(answer.read_text()) == {"status": "CANCELED"}
        assert parts.events == ["stopped"]


class TestRecovery:
    def test_a_job_without_a_strategy_fails(self, parts: Parts) -> None:
        with pytest.raises(JobFailed, match="ZeroDivisionError"):
            parts.recovery.recover(FAILED)

    def test_a_job_restarts_as_often_as_its_strategy_says(self, tmp_path: Path) -> None:
        parts = Parts(tmp_path, RestartStrategy("fixed-delay", attempts=2, delay=0.0))
        for _ in range(2):
            parts.recovery.recover(FAILED)
            assert parts.job.status is JobStatus.RUNNING
        with pytest.raises(JobFailed):
            parts.recovery.recover(FAILED)
        assert parts.events == ["restarting"] * 2
        parts.job.lease.close()

    def test_lost_executors_are_no_failures_until_they_are_lost_again_and_again(
        self, parts: Parts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recovery, "_AFTER_A_LOSS", 0.0)
        for _ in range(3):
            parts.recovery.recover(LOST)
        parts.recovery.committed()
        for _ in range(3):
            parts.recovery.recover(LOST)
        with pytest.raises(JobFailed):
            parts.recovery.recover(LOST)

    def test_a_job_that_was_cancelled_does_not_restart(self, parts: Parts) -> None:
        parts.requests.cancel()
        parts.recovery.recover(FAILED)
        assert parts.events == []

    def test_a_driver_that_was_replaced_gives_up(self, parts: Parts) -> None:
        parts.job.lease.lost = True
        with pytest.raises(Superseded):
            parts.recovery.recover(FAILED)


class TestEpochs:
    def test_an_epoch_is_committed_published_and_told(self, parts: Parts) -> None:
        parts.loop.start(Epochs(lambda spec: [parts.report(published=[Printed(["a line"])])]))
        parts.loop.run()
        assert (parts.job.coordinator.epoch, parts.loop.committed, parts.lines) == (1, 1, ["a line"])
        assert parts.events == ["checkpoint"]
        assert SnapshotLog.open(parts.job.coordinator.log.path).epoch == 1

    def test_a_subtask_that_fails_commits_nothing(self, parts: Parts) -> None:
        parts.loop.start(Epochs(lambda spec: [FAILED]))
        with pytest.raises(AttemptFailed, match="ZeroDivisionError"):
            parts.loop.run()
        assert (parts.job.coordinator.epoch, parts.loop.committed, parts.events) == (0, 0, [])

    def test_an_epoch_that_took_too_long_is_given_up_and_said_to_be_late(self, parts: Parts) -> None:
        parts.job.pulse.timeout = 0.0

        def late(spec: object) -> list[object]:
            parts.loop.give_up_late()
            raise EpochLost("nobody waits for it")

        epochs = Epochs(late)  # type: ignore[arg-type]
        parts.loop.start(epochs)
        with pytest.raises(EpochLost, match=r"not done within 0 s .* nobody waits for it"):
            parts.loop.run()
        assert epochs.cancelled == 1
        parts.loop.give_up_late()
        assert epochs.cancelled == 1

    def test_the_time_of_a_restored_timer_has_come(self, parts: Parts) -> None:
        parts.loop.ask_timers()
        assert parts.loop.wait_for_work()


class TestOutput:
    def test_a_driver_that_is_behind_sweeps_nothing(self, parts: Parts) -> None:
        log = SnapshotLog.open(parts.job.coordinator.log.path)
        left = Path(log.path) / "left.parquet"
        left.write_bytes(b"")
        log.lead(parts.job.lease.token)
        log.commit(1, [], {"token": "another"})
        parts.output.sweep()
        assert left.exists()
        parts.recovery.follow(SnapshotLog.open(log.path))
        parts.output.sweep()
        assert not left.exists()
