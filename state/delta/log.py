"""The snapshot log: a Delta table whose every commit is a checkpoint.

Tasks write data files; the job's driver names them in one commit, which carries Delta's transaction id (job, epoch), so
that committing an epoch again changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from compat.state.delta.errors import StoreError, Superseded, in_one_line, unwritable
from compat.state.delta.files import named_files, prove_files, remove, sync_commit
from compat.state.delta.past import ENDED, SAVEPOINT, SnapshotHistory
from compat.state.delta.reading import LogFile, log_file
from compat.state.delta.rows import COMMENTED, SCHEMA, DataFile, now_millis
from compat.state.delta.seals import SEAL, seal_of, sum_of
from compat.state.delta.table import EPOCH_TRANSACTION, LEADER_TRANSACTION, Seen
from compat.state.stores.local import make_folder
from compat.state.stores.options import table_options
from compat.state.stores.paths import Place, place_of

_FEATURES = "Unsupported table features"
_MOST_CONFLICTS = 20
"""So often a new leader is overtaken by what the former one has begun to commit, at most."""
_DELTA_SCHEMA = Schema.from_arrow(SCHEMA)
_COMMIT = re.compile(r"(\d{20})\.")
_CONFIGURATION = {
    "delta.appendOnly": "false",
    "delta.checkpointInterval": "50",
    # How long commits are kept goes by the number of checkpoints that are retained, not by their age.
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.enableExpiredLogCleanup": "false",
}


class SnapshotLog(SnapshotHistory):
    """A snapshot table that checkpoints are committed to.

    Processes that take over a job have fencing tokens, ``fence``: only the greatest token in the log may commit (see
    :meth:`lead`). It is 0 for a log without a job.
    """

    def __init__(self, place: Place, table: DeltaTable) -> None:
        super().__init__(place, table)
        self.fence = 0
        self._sum: tuple[int, int] | None = None
        self._named: dict[str, frozenset[str]] = {}

    @classmethod
    def create(cls, path: str | Path | Place) -> SnapshotLog:
        """A new, empty table, or the existing one."""
        place = place_of(path)
        options = table_options(place.path)
        try:
            if place.local:
                make_folder(place.path)
            if DeltaTable.is_deltatable(place.path, storage_options=options):
                return cls.open(place)
            table = DeltaTable.create(
                place.path, COMMENTED, mode="ignore", configuration=_CONFIGURATION, storage_options=options
            )
            return cls(place, table)
        except (OSError, DeltaError) as error:
            raise unwritable("The store", path, error, "give another") from error

    def lead(self, fence: int) -> None:
        """Allow commits only with this token or a greater one: from now on, commits with smaller ones are refused.

        The token is a Delta transaction of every commit, so that two commits with a token on one version conflict. Raises
        Superseded if the log has a greater token, StoreError if the store cannot be written.
        """
        self.fence = fence
        for _ in range(_MOST_CONFLICTS):
            self.refresh()
            self._prove_leadership()
            if self.leader == fence:
                return
            try:
                self._transact([], [], {}, self.epoch, self._seen.highest)
                return
            except CommitFailedError as error:
                if _FEATURES in str(error):
                    raise self._not_ours(error) from error
                continue  # the former leader was faster, for the last time
        raise StoreError(f"The store {self.path} changes all the time: the job is not taken over.")

    def end(self, status: str, savepoint: str | None) -> None:
        """Commit that the job has ended, and with which savepoint: then no process continues it.

        Raises Superseded, StoreError.
        """
        self._write([], [], self.epoch, self._seen.highest, {ENDED: status, SAVEPOINT: savepoint})

    def _prove_leadership(self) -> None:
        if self.leader > self.fence:
            raise Superseded(
                f"Another process drives the job of {self.path} by now: its token is {self.leader}, this one's {self.fence}."
            )

    def commit(self, epoch: int, files: Sequence[DataFile], metadata: Mapping[str, Any]) -> bool:
        """Make ``files`` the changes of ``epoch``; False if that epoch was committed before, by any process.

        ``metadata`` is kept in the commit (and in Delta's history). Raises StoreError if one of the files is missing in the
        table, or if the table was rolled back since this object last saw it: then the state that the changes build on is gone.
        """
        if self._seen.highest >= epoch:
            return False
        if self._was_rolled_back():
            raise StoreError(f"The state {self.path} was restored to an earlier version while the job ran.")
        prove_files((f"{self.path}/{file.path}", file.size) for file in files)
        self._write(files, [], epoch, epoch, metadata)
        return True

    def replace(self, old: Sequence[LogFile], new: Sequence[DataFile], metadata: Mapping[str, Any]) -> bool:
        """Put ``new`` in place of ``old``, with the same contents: older versions stay readable.

        Later commits than ``old`` stay. Gives False, and removes ``new``, if a file of ``old`` is no longer in the table,
        because it was rewritten or the table was rolled back. Raises StoreError.
        """
        known = (self.epoch, self._seen.highest)
        self.refresh()
        if (self.epoch, self._seen.highest) != known:
            raise StoreError(f"The state {self.path} was changed by another process while it was compacted.")
        there = {file.path for file in self.files()}
        if not all(file.path in there for file in old):
            remove(self.place, (file.path for file in new))
            return False
        prove_files((f"{self.path}/{file.path}", file.size) for file in new)
        self._write(new, old, self.epoch, self._seen.highest, metadata)
        return True

    def _write(
        self, new: Sequence[DataFile], old: Sequence[LogFile], epoch: int, highest: int, metadata: Mapping[str, Any]
    ) -> None:
        self._prove_leadership()
        told = {"epoch": str(epoch), **{key: json.dumps(value) for key, value in metadata.items()}}
        try:
            self._transact(new, old, told, epoch, highest)
            self._epoch = (self.version, epoch)
        except (OSError, DeltaError) as error:
            if _FEATURES in str(error):
                raise self._not_ours(error) from error
            if isinstance(error, CommitFailedError):
                self.refresh()
                self._prove_leadership()
            raise unwritable("The store", self.path, error, "go on from a copy of it elsewhere with -s") from error

    def _not_ours(self, error: Exception) -> StoreError:
        return StoreError(
            f"The state {self.path} has features of Delta that jobs do not write: {in_one_line(error)}. They were added "
            f"with CLUSTER BY or by its properties. Begin another job from it with -s {self.path}: that one has a table "
            "of its own. Nothing committed is lost."
        )

    def _transact(
        self, new: Sequence[DataFile], old: Sequence[LogFile], told: Mapping[str, str], epoch: int, highest: int
    ) -> None:
        """Commit on the version that this object sees. Raises CommitFailedError if another commit conflicts.

        Files that are put in place of others hold what those held.
        """
        before, leader = self.version, self.leader
        summed = sum_of(map(log_file, new), old, self._summed())
        seen = {EPOCH_TRANSACTION: highest, **({LEADER_TRANSACTION: self.fence} if self.fence else {})}
        properties = CommitProperties(
            custom_metadata={**told, SEAL: seal_of(before + 1, summed, epoch, told)},
            app_transactions=[Transaction(name, number) for name, number in seen.items()],
        )
        actions: list[AddAction | RemoveAction] = [
            *(AddAction(file.path, file.size, {}, now_millis(), not old, file.stats) for file in new),
            *(RemoveAction(file.path, False, now_millis(), file.size, {}) for file in old),
        ]
        self._table.create_write_transaction(actions, "append", _DELTA_SCHEMA, commit_properties=properties)
        self.refresh()
        if self.version == before + 1:  # nobody else committed since
            self._transactions = (self.version, Seen(highest, self.fence or leader))
            self._sum = (self.version, summed)
        sync_commit(self.place, self.version)

    def _summed(self) -> int:
        """The sum of the digests of the version's files; they are looked at only where another made the version.

        Raises DamagedLog if it is damaged: a new seal would hide that.
        """
        if self._sum is None or self._sum[0] != self.version:
            _ = self.epoch
            self._sum = (self.version, sum_of(self.files()))
        return self._sum[1]

    def clean(self, retained: int) -> None:
        """Remove files that none of the last ``retained`` checkpoints needs: data files that were replaced, and commits."""
        keep = sorted(int(entry["version"]) for entry in self.checkpoints()[: max(retained, 1)])
        try:
            self._table.vacuum(0, dry_run=False, enforce_retention_duration=False, keep_versions=keep)
            self.refresh()
            self._remove_commits(keep[0] if keep else self.version)
        except (OSError, DeltaError) as error:
            raise unwritable("The store", self.path, error, "go on from a copy of it elsewhere with -s") from error

    def sweep(self) -> None:
        """Remove data files that no commit names, left by failed attempts. Not to be called while tasks write.

        Raises StoreError.
        """
        with self._reading():
            there = [entry.name for entry in self.place.list() if entry.name.endswith(".parquet")]
        if not there:
            return
        self.refresh()  # after the look, so that earlier commits have their names
        named = {file.path for file in self.files()}
        with self._reading():
            named |= named_files(self.place, self._named)
            for name in there:
                if name not in named:
                    (self.place / name).delete()

    def _remove_commits(self, oldest: int) -> None:
        """Remove what tells of versions before the oldest one, but for what that one is read from."""
        found: dict[int, list[str]] = {}
        log = self.place / "_delta_log"
        for entry in log.list():
            if match := _COMMIT.match(entry.name):
                found.setdefault(int(match[1]), []).append(entry.name)
        bases = [version for version, names in found.items() if version <= oldest and any(map(_is_checkpoint, names))]
        for version in sorted(found):
            if bases and version < max(bases):
                for name in found[version]:
                    (log / name).delete()


def _is_checkpoint(name: str) -> bool:
    """True for the name of a Delta checkpoint, which holds all of a version in one file."""
    return name.endswith(".checkpoint.parquet")
