"""The driver's side of a source. Flink: ``SourceCoordinator``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compat.compiler.spark.connectors.sources import SourceWork, Split, enumerator_of
from compat.compiler.spark.driver.epoch_sizing import Pace
from compat.compiler.spark.operators.base import NO_RECORD, user_error
from compat.compiler.spark.plan import OperatorSpec, TaskSpec
from compat.compiler.spark.runtime_api.splits import NOTHING_LEFT
from compat.state.delta.errors import StoreError


class SourceFailure(Exception):
    """The driver's side of a source failed: ``cause`` is the error, with the program's frames where it has any."""

    def __init__(self, operator: str, cause: str) -> None:
        super().__init__(f"The source {operator!r} failed. {cause}")
        self.operator, self.cause = operator, cause


class SourceCoordinator:
    """Knows the splits of a source, their readers, and how far they have been read."""

    def __init__(self, task: TaskSpec, spec: OperatorSpec) -> None:
        self.task, self.spec = task, spec
        assert spec.operator is not None
        self._enumerator = enumerator_of(spec.operator, task.parallelism)
        self._splits: dict[str, tuple[Split, bool]] = {}
        self._changed: set[str] = set()
        self.pace = Pace()

    @property
    def done(self) -> bool:
        """True when everything was read."""
        return self._complete and not self._live()

    @property
    def function(self) -> Any:
        """The source object of the program."""
        assert self.spec.operator is not None
        return self.spec.operator.function

    @property
    def splits(self) -> list[Split]:
        """All known splits, with their positions."""
        return [split for split, _ in self._splits.values()]

    def discover(self) -> None:
        """Look for new splits. Raises SourceFailure."""
        if self._finished_before:
            return
        with self._failing():
            found = self._enumerator.discover(set(self._splits))
        for split in found:
            self._splits[split["id"]] = (split, False)
            self._changed.add(split["id"])

    def has_work(self) -> bool:
        """True when a split can be read, and has something to read as far as its enumerator can tell.

        Also when one was found: where it starts is settled with the commit of the next epoch.
        """
        return bool(self._changed) or any(map(self._enumerator.ready, self._live()))

    def assign(self, bound: int | None, drain: bool, share: float = 1.0) -> dict[int, SourceWork]:
        """The work of each subtask in the next epoch: at most ``bound`` records in all. Raises SourceFailure.

        ``share`` is the part of the time between checkpoints that the epoch has.
        """
        with self._failing():
            return self._assigned(bound, drain, share)

    def _assigned(self, bound: int | None, drain: bool, share: float) -> dict[int, SourceWork]:
        parallelism = self.task.parallelism
        by_subtask: dict[int, list[Split]] = {subtask: [] for subtask in range(parallelism)}
        for number, (split, done) in enumerate(self._splits.values()):
            if not done and not drain:
                owner = self._enumerator.owner(split, parallelism)
                by_subtask[number % parallelism if owner is None else owner].append(split)
        busy = [subtask for subtask, splits in by_subtask.items() if splits]
        total = self.pace.give(bound, max(len(busy), 1), share)
        limits = {subtask: total // len(busy) + (place < total % len(busy)) for place, subtask in enumerate(busy)}
        seconds = self.pace.seconds(share) if bound is None else math.inf
        work = {}
        for subtask, splits in by_subtask.items():
            limit = limits.get(subtask, 0)
            chosen = [self._enumerator.fill(split, limit) for split in splits]
            last = drain or self._complete
            work[subtask] = SourceWork(tuple(chosen), limit, last, self._enumerator.concurrent, seconds)
        return work

    def report(self, splits: list[tuple[Split, bool]], records: int) -> None:
        """Report the progress of a subtask."""
        for split, done in splits:
            if self._splits.get(split["id"]) != (split, done):
                self._splits[split["id"]] = (split, done)
                self._changed.add(split["id"])
        self.pace.report(records)

    def changes(self) -> list[tuple[bytes, bytes]]:
        """The splits that changed, as (id, position)."""
        rows = [(name.encode(), json.dumps(self._splits[name]).encode()) for name in sorted(self._changed)]
        self._changed.clear()
        return rows

    def notify_checkpoint_complete(self) -> None:
        """Tell the enumerator that the splits' positions after the last epoch are committed. Raises SourceFailure."""
        if self._finished_before:
            return
        with self._failing():
            self._enumerator.notify_checkpoint_complete(self.splits)

    def restore(self, rows: dict[bytes, bytes]) -> None:
        """Continue from a snapshot."""
        self._splits = {name.decode(): tuple(json.loads(value)) for name, value in rows.items()}
        self._changed.clear()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise  # it says all there is to say
        except Exception as error:
            raise SourceFailure(self.spec.name, user_error(self.spec.name, NO_RECORD, error).cause) from error

    @property
    def _finished_before(self) -> bool:
        return NOTHING_LEFT["id"] in self._splits

    @property
    def _complete(self) -> bool:
        return self._finished_before or self._enumerator.complete

    def _live(self) -> list[Split]:
        return [split for split, done in self._splits.values() if not done]
