"""The history of a snapshot table: the checkpoints that its version follows on, as the commits tell.

RESTORE rolls epochs back: they are on no line of history any more.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from deltalake import DeltaTable
from msgspec import Struct

from compat.state.delta.errors import DamagedLog, StoreError, in_one_line
from compat.state.delta.seals import SEAL, is_of, is_whole, sum_of
from compat.state.delta.table import SnapshotTable
from compat.state.stores.paths import Place

ENDED, SAVEPOINT = "ended", "savepoint"
_RESTORE = "RESTORE"
_REWRITES_NOTHING = (_RESTORE, "VACUUM")
"""Operations on a table that leave the files of its last version unchanged."""


class Ended(Struct, frozen=True):
    """The end of a job, from its last commit: the name of its status, and the savepoint that it was stopped with."""

    status: str
    savepoint: str | None


class SnapshotHistory(SnapshotTable):
    """A snapshot table, and the history of the version that this object sees."""

    def __init__(self, place: Place, table: DeltaTable) -> None:
        super().__init__(place, table)
        self._epoch: tuple[int, int] | None = None

    @property
    def epoch(self) -> int:
        """The epoch of the contents: the last that was committed and not rolled back; 0 before the first."""
        if self._epoch is None or self._epoch[0] != self.version:
            self._epoch = (self.version, self._find_epoch())
        return self._epoch[1]

    @property
    def next_epoch(self) -> int:
        """The number of the next epoch: never used before, not even by epochs that were rolled back."""
        return max(self.epoch, self._seen.highest) + 1

    @property
    def leader(self) -> int:
        """The greatest fencing token that the version has seen; 0 for none."""
        return self._seen.leader

    @property
    def ended(self) -> Ended | None:
        """The end of the job, if it was committed; None for a job that continues."""
        for entry in self._line():
            if "epoch" in entry:
                return Ended(json.loads(entry[ENDED]), json.loads(entry[SAVEPOINT])) if ENDED in entry else None
        return None

    @property
    def floor(self) -> int:
        """The epoch up to which removals are forgotten: what stands before it must not follow the log, but start anew."""
        return next((int(entry["floor"]) for entry in self._line() if "floor" in entry), 0)

    def version_of_epoch(self, epoch: int) -> int:
        """The version of the table that is a checkpoint: the last one of its epoch. Raises StoreError if there is none."""
        for entry in self._line():
            if int(entry.get("epoch", -1)) == epoch:
                return int(entry["version"])
        raise StoreError(f"The store {self.path} has no checkpoint {epoch}.")

    def checkpoints(self) -> list[dict[str, Any]]:
        """Every checkpoint in the history of the present one: epoch, version and time, newest first.

        Raises DamagedLog if a commit tells what none does.
        """
        found: dict[int, dict[str, Any]] = {}
        for entry in self._line():
            if "epoch" in entry:
                version = entry["version"]
                try:
                    epoch, time, told = int(entry["epoch"]), entry["timestamp"], _metadata(entry)
                except (KeyError, ValueError) as error:
                    raise DamagedLog(
                        f"The commit {version} of {self.path} is damaged: {in_one_line(error)}. Put it back from a copy, or go "
                        f"on from a savepoint with -s; compat fsck {self.path} tells what else is damaged."
                    ) from error
                found.setdefault(epoch, {"epoch": epoch, "version": version, "time": time, **told})
        return list(found.values())

    def tokens(self, subtask: str = "") -> dict[int, str]:
        """The token of each epoch from which a replica can follow the log; the replica of a subtask follows one run of
        it.
        """
        floor = self.floor
        return {
            each["epoch"]: as_run_of(each.get("token", ""), each.get("runs", {}).get(subtask, ""))
            for each in self.checkpoints()
            if each["epoch"] >= floor
        }

    def runs(self) -> dict[str, str]:
        """The runs of subtasks that made the last epoch, by the subtask's name."""
        found: dict[str, str] = next(iter(self.checkpoints()), {}).get("runs", {})
        return found

    def _was_rolled_back(self) -> bool:
        """True if someone restored the table after the version that this object sees."""
        newer = iter(self._commits(itertools.count(self.version + 1)))
        return any(commit.get("operation") == _RESTORE for commit in newer)

    def _find_epoch(self) -> int:
        sealed: dict[str, Any] | None = None
        rewritten = False
        for commit in self._line():
            rewritten = rewritten or _may_rewrite(commit)
            if sealed is None and SEAL in commit and not rewritten:
                sealed = commit
            if "epoch" in commit:
                if sealed is not None:
                    self._prove_seal(sealed, int(commit["epoch"]))
                return int(commit["epoch"])
        # A clone, or a table restored to a point in time, has no history to tell it: its rows do.
        return max((file.epochs[1] for file in self.files()), default=0)

    def _prove_seal(self, entry: Mapping[str, Any], epoch: int) -> None:
        """Raise DamagedLog unless the version has what it was committed with, at that epoch, as its last commit tells."""
        seal, version = str(entry[SEAL]), int(entry["version"])
        if is_of(seal, version) and not is_whole(seal, version, sum_of(self.files()), epoch, entry):
            raise DamagedLog(
                f"The state {self.path} is not as it was committed at checkpoint {epoch}: a commit in {self.path}/_delta_log "
                f"is empty or damaged. Put it back from a copy; compat fsck {self.path} tells what else is damaged. Or go on "
                "from an earlier checkpoint, or a savepoint, with -s."
            )

    def _line(self) -> Iterator[dict[str, Any]]:
        """The commits that led to the version, newest first, as they tell of themselves; none that was rolled back."""
        ceiling = self.version
        for commit in self._commits(range(self.version, -1, -1)):
            if int(commit["version"]) > ceiling:
                continue
            yield commit
            if commit.get("operation") == _RESTORE:
                restored = str((commit.get("operationParameters") or {}).get("version"))
                if not restored.isdigit():
                    return
                ceiling = int(restored)


def as_run_of(token: str, run: str) -> str:
    """The token of an attempt at an epoch, in the form for one run of a subtask."""
    return f"{token}.{run}" if run else token


def _may_rewrite(commit: Mapping[str, Any]) -> bool:
    """Whether somebody else may have changed files of the table with a commit, which no seal tells of."""
    operation = commit.get("operation")
    return SEAL not in commit and operation is not None and not str(operation).startswith(_REWRITES_NOTHING)


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    known = ("token", "records", "runs")
    return {key: json.loads(entry[key]) for key in known if key in entry}
