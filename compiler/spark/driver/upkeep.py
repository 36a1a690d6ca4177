"""The upkeep of a job's state: compactions of its log, and savepoints. Large ones run in parallel to the epochs.

They only read files that do not change, and write new ones. The job's own thread makes each commit, between two epochs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from compat.compiler.spark.driver.background_work import Errand
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.savepoints import Savepoint
from compat.state.delta.compaction import Compaction
from compat.state.delta.errors import StoreError
from compat.state.delta.rows import DataFile
from compat.state.delta.work import Workers, is_large

T = TypeVar("T")
Done = Callable[["str | StoreError"], None]
"""Receives the path of a savepoint, or the reason why there is none."""
_ENDED = StoreError("The job ended before the savepoint was written.")
_LOOKS = 0.02


class Upkeep:
    """The upkeep of one job, with the number of ``retained`` checkpoints. ``workers`` gives the workers for large state.

    ``moves`` is called again and again while the job waits for the workers. ``prove`` is called before their result is
    committed; it
    raises if another driver has the job by now.
    """

    def __init__(
        self, workers: Callable[[], Workers], retained: int, moves: Callable[[], None], prove: Callable[[], None]
    ) -> None:
        self._workers, self._retained, self._moves, self._prove = workers, retained, moves, prove
        self._compacting: tuple[Compaction, Errand[list[DataFile]]] | None = None
        self._savepoints: list[tuple[Errand[str], Done]] = []
        self._unclean = False

    def compact(self, coordinator: CheckpointCoordinator) -> None:
        """Rewrite the log if it has many files, and remove what the retained checkpoints do not need; or begin to.

        Raises StoreError.
        """
        if self._compacting is not None or (compaction := coordinator.compaction()) is None:
            return
        if not is_large(compaction.size):
            self._compacted(coordinator, compaction, compaction.done(coordinator.pickled))
            return
        workers, pickled = self._workers().beside(), coordinator.pickled
        errand = Errand(lambda: compaction.done(pickled, workers), workers.give_up, "compaction")
        self._compacting = (compaction, errand)

    def take(self, savepoint: Savepoint) -> str:
        """Write a savepoint now; gives its absolute path. Raises StoreError."""
        if not is_large(savepoint.state.size):
            return savepoint.write()
        workers = self._workers()
        return self._awaited(Errand(lambda: savepoint.write(workers), workers.give_up, "savepoint"))

    def begin(self, savepoint: Savepoint, done: Done) -> None:
        """Write a savepoint, now or beside the epochs; ``done`` is called by this method or by :meth:`settle`."""
        if not is_large(savepoint.state.size):
            done(_result(savepoint.write))
            return
        workers = self._workers().beside()
        self._savepoints.append((Errand(lambda: savepoint.write(workers), workers.give_up, "savepoint"), done))

    def settle(self, coordinator: CheckpointCoordinator) -> None:
        """Commit the work that has finished, and report it. Raises StoreError."""
        for each in [each for each in self._savepoints if each[0].over]:
            self._savepoints.remove(each)
            errand, done = each
            done(_result(errand.result))
        if self._compacting is not None and self._compacting[1].over:
            (compaction, finished), self._compacting = self._compacting, None
            try:
                made = finished.result()
            except StoreError:  # of those who worked: as long as the job runs there is another time
                coordinator.settle()
            else:
                self._prove()
                self._compacted(coordinator, compaction, made)
        elif self._unclean:
            self._clean(coordinator)

    def finish_savepoints(self, coordinator: CheckpointCoordinator) -> None:
        """Wait for the savepoints that are being written."""
        while self._savepoints:
            self._moves()
            self.settle(coordinator)
            time.sleep(_LOOKS)

    def give_up_compaction(self) -> None:
        """Stop writing the files of a compaction: they are about to be swept."""
        if self._compacting is not None:
            (_, errand), self._compacting = self._compacting, None
            errand.give_up()

    def give_up(self) -> None:
        """Stop all work: the job has ended."""
        self.give_up_compaction()
        while self._savepoints:
            errand, done = self._savepoints.pop()
            errand.give_up()
            result = _result(errand.result) if errand.over else _ENDED
            done(_ENDED if isinstance(result, StoreError) else result)

    def _compacted(self, coordinator: CheckpointCoordinator, compaction: Compaction, made: list[DataFile]) -> None:
        coordinator.compacted(compaction, made)
        self._clean(coordinator)

    def _clean(self, coordinator: CheckpointCoordinator) -> None:
        """Remove what is not needed, unless a savepoint is being made of it."""
        self._unclean = bool(self._savepoints)
        if not self._unclean:
            coordinator.log.clean(self._retained)

    def _awaited(self, errand: Errand[T]) -> T:
        while not errand.over:
            self._moves()
            time.sleep(_LOOKS)
        return errand.result()


def _result(work: Callable[[], str]) -> str | StoreError:
    try:
        return work()
    except StoreError as error:
        return error
