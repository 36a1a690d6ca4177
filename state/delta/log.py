"""The snapshot log: a Delta table whose every commit is a checkpoint.

Tasks write data files; the job's driver names them in one commit, which carries Delta's transaction id (job, epoch), so
that committing an epoch again changes nothing.

Anybody may rewrite the table by Delta's own means. OPTIMIZE puts rows of many epochs into one file, in any order, so that rows
are read by their epochs and never by their place. RESTORE rolls epochs back: they are on no line of history any more.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from msgspec import Struct

from compat.state.delta.errors import DamagedLog, StoreError, Superseded, in_one_line, unwritable
from compat.state.delta.files import named_files, prove_files, remove, sync_commit
from compat.state.delta.reading import LogFile, RowGroup, ahead, as_of, batches, log_file, opened, ranged, schema_of
from compat.state.delta.rows import COMMENTED, FEW, NO_KEY_GROUP, SCHEMA, DataFile, now_millis
from compat.state.delta.seals import SEAL, is_of, is_whole, seal_of, sum_of
from compat.state.delta.slices import Source, cut, in_order, read_slice
from compat.state.stores.ahead import fetched_ahead
from compat.state.stores.local import make_folder
from compat.state.stores.options import table_options
from compat.state.stores.paths import Place, place_of

EPOCH_TRANSACTION = "epoch"
LEADER_TRANSACTION = "leader"
_RESTORE = "RESTORE"
_REWRITES_NOTHING = (_RESTORE, "VACUUM")
"""What others do to a table that leaves the files of the version as its own commit had them."""
_FEATURES, _DELETION_VECTORS = "Unsupported table features", "deletionVectors"
_ENDED, _SAVEPOINT = "ended", "savepoint"
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


class _Seen(NamedTuple):
    """The transactions that a version of the table has seen: the highest epoch, and the greatest fencing token."""

    highest: int
    leader: int


class Ended(Struct, frozen=True):
    """How a job ended, as its last commit says it: the name of its status, and the savepoint that it was stopped with."""

    status: str
    savepoint: str | None


class SnapshotLog:
    """One snapshot table.

    Processes that take a job over from one another have fencing tokens, ``fence``: the greatest that the log has seen is the
    only one that commits (see :meth:`lead`). It is 0 for a log that is no job's.
    """

    def __init__(self, place: Place, table: DeltaTable) -> None:
        self.place = place
        self.fence = 0
        self._table = table
        self._epoch: tuple[int, int] | None = None
        self._seen: tuple[int, _Seen] | None = None
        self._files: tuple[int, list[LogFile]] | None = None
        self._sum: tuple[int, int] | None = None
        self._named: dict[str, frozenset[str]] = {}

    @classmethod
    def create(cls, path: str | Path | Place) -> SnapshotLog:
        """A new, empty table, or the one that is there."""
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

    @classmethod
    def open(cls, path: str | Path | Place, version: int | None = None) -> SnapshotLog:
        """The table at a path, as it is now or was at a version. Raises StoreError if there is none."""
        place = place_of(path)
        try:
            return cls(place, DeltaTable(place.path, version=version, storage_options=table_options(place.path)))
        except TableNotFoundError as error:
            raise StoreError(f"{path} holds no snapshot table. Check the path.") from error
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {path} cannot be read: {in_one_line(error)}.") from error

    @property
    def path(self) -> str:
        """Where the table is."""
        return self.place.path

    @property
    def version(self) -> int:
        """The version of the table that this object sees."""
        return int(self._table.version())

    @property
    def epoch(self) -> int:
        """The epoch that the contents stand at: the last that was committed and not rolled back; 0 before the first."""
        if self._epoch is None or self._epoch[0] != self.version:
            self._epoch = (self.version, self._find_epoch())
        return self._epoch[1]

    @property
    def next_epoch(self) -> int:
        """The number of the next epoch: one that no epoch ever had, those that were rolled back included."""
        return max(self.epoch, self._highest) + 1

    @property
    def _highest(self) -> int:
        """The highest epoch that was ever committed."""
        return self._transactions().highest

    def _transactions(self) -> _Seen:
        """The transactions that the version has seen; read once for each version that another made: that takes a while."""
        if self._seen is None or self._seen[0] != self.version:
            with self._reading():
                highest, leader = map(self._table.transaction_version, (EPOCH_TRANSACTION, LEADER_TRANSACTION))
            self._seen = (self.version, _Seen(highest or 0, leader or 0))
        return self._seen[1]

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

    def _commits(self, versions: Iterable[int]) -> Iterator[dict[str, Any]]:
        """What the commits of some versions tell of themselves, up to the first that is not there.

        One that tells nothing is damaged: :meth:`_find_epoch` finds out what else it lacks.
        """
        log = self.place / "_delta_log"
        for version, fetched in fetched_ahead(
            lambda each: (log / f"{each:020d}.json").read(), versions, local=log.local
        ):
            with self._reading():
                try:
                    data = fetched()
                except FileNotFoundError:
                    return
            yield {**_info(data), "version": version}

    @property
    def leader(self) -> int:
        """The greatest fencing token that the version has seen; 0 for none."""
        return self._transactions().leader

    def lead(self, fence: int) -> None:
        """From now on only this token commits, or a greater one: what smaller ones are about to commit is refused.

        The token is a Delta transaction of every commit, so that two commits with a token on one version conflict. Raises
        Superseded where a greater token has been here, StoreError where the store cannot be written.
        """
        self.fence = fence
        for _ in range(_MOST_CONFLICTS):
            self.refresh()
            self._prove_leadership()
            if self.leader == fence:
                return
            try:
                self._transact([], [], {}, self.epoch, self._highest)
                return
            except CommitFailedError as error:
                if _FEATURES in str(error):
                    raise self._not_ours(error) from error
                continue  # the former leader was faster, for the last time
        raise StoreError(f"The store {self.path} changes all the time: the job is not taken over.")

    def end(self, status: str, savepoint: str | None) -> None:
        """Commit that the job has ended, and with which savepoint: nobody goes on with it who finds this.

        Raises Superseded, StoreError.
        """
        self._write([], [], self.epoch, self._highest, {_ENDED: status, _SAVEPOINT: savepoint})

    @property
    def ended(self) -> Ended | None:
        """How the job ended, where that was committed; None for one that is to go on."""
        for entry in self._line():
            if "epoch" in entry:
                return Ended(json.loads(entry[_ENDED]), json.loads(entry[_SAVEPOINT])) if _ENDED in entry else None
        return None

    def _prove_leadership(self) -> None:
        if self.leader > self.fence:
            raise Superseded(
                f"Another process drives the job of {self.path} by now: its token is {self.leader}, this one's {self.fence}."
            )

    def refresh(self) -> None:
        """See the newest version."""
        with self._reading():
            self._table.update_incremental()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {self.path} cannot be read: {in_one_line(error)}.") from error

    def commit(self, epoch: int, files: Sequence[DataFile], metadata: Mapping[str, Any]) -> bool:
        """Make ``files`` the changes of ``epoch``; False if that epoch was committed before, by whomever.

        ``metadata`` is kept in the commit (and in Delta's history). Raises StoreError where the table was rolled back since
        this object last saw it: the changes follow on a state that is gone; or where one of the files is not in it.
        """
        if self._highest >= epoch:
            return False
        if self._was_rolled_back():
            raise StoreError(f"The state {self.path} was restored to an earlier version while the job ran.")
        prove_files((f"{self.path}/{file.path}", file.size) for file in files)
        self._write(files, [], epoch, epoch, metadata)
        return True

    def replace(self, old: Sequence[LogFile], new: Sequence[DataFile], metadata: Mapping[str, Any]) -> bool:
        """Put ``new`` in the place of ``old``, with the same contents: older versions stay readable.

        What was committed since ``old`` was looked at stays. False where one of ``old`` is none of the table's by now: somebody
        else has rewritten it, or rolled it back, and ``new`` is removed. Raises StoreError.
        """
        known = (self.epoch, self._highest)
        self.refresh()
        if (self.epoch, self._highest) != known:
            raise StoreError(f"The state {self.path} was changed by another process while it was compacted.")
        there = {file.path for file in self.files()}
        if not all(file.path in there for file in old):
            remove(self.place, (file.path for file in new))
            return False
        prove_files((f"{self.path}/{file.path}", file.size) for file in new)
        self._write(new, old, self.epoch, self._highest, metadata)
        return True

    def _write(
        self,
        new: Sequence[DataFile],
        old: Sequence[LogFile],
        epoch: int,
        highest: int,
        metadata: Mapping[str, Any],
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
            f"The state {self.path} has features of Delta that jobs do not write: {in_one_line(error)}. Somebody gave it "
            f"them, be it with CLUSTER BY or by its properties. Begin another job from it with -s {self.path}: that one has a "
            "table of its own. Nothing committed is lost."
        )

    def _transact(
        self,
        new: Sequence[DataFile],
        old: Sequence[LogFile],
        told: Mapping[str, str],
        epoch: int,
        highest: int,
    ) -> None:
        """Commit on the version that this object sees. Raises CommitFailedError where another commit conflicts.

        Files that are put in the place of others hold what those held.
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
            self._seen = (self.version, _Seen(highest, self.fence or leader))
            self._sum = (self.version, summed)
        sync_commit(self.place, self.version)

    def _summed(self) -> int:
        """The sum of the digests of the version's files; they are looked at only where another made the version.

        Raises DamagedLog where it is damaged: a new seal would hide that.
        """
        if self._sum is None or self._sum[0] != self.version:
            _ = self.epoch
            self._sum = (self.version, sum_of(self.files()))
        return self._sum[1]

    def clean(self, retained: int) -> None:
        """Remove what none of the last ``retained`` checkpoints needs: data files that were replaced, and commits."""
        keep = sorted(int(entry["version"]) for entry in self.checkpoints()[: max(retained, 1)])
        try:
            self._table.vacuum(0, dry_run=False, enforce_retention_duration=False, keep_versions=keep)
            self.refresh()
            self._remove_commits(keep[0] if keep else self.version)
        except (OSError, DeltaError) as error:
            raise unwritable("The store", self.path, error, "go on from a copy of it elsewhere with -s") from error

    def sweep(self) -> None:
        """Remove data files that no commit names: attempts left them that failed. Not to be called while tasks write.

        Raises StoreError.
        """
        with self._reading():
            there = [entry.name for entry in self.place.list() if entry.name.endswith(".parquet")]
        if not there:
            return
        self.refresh()  # behind the look: what was committed until now has its name
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

    @property
    def floor(self) -> int:
        """The epoch up to which removals are forgotten: what stands before it must not follow the log, but start anew."""
        for entry in self._line():
            if "floor" in entry:
                return int(entry["floor"])
        return 0

    def version_of_epoch(self, epoch: int) -> int:
        """The version of the table that is a checkpoint: the last that carries its epoch. StoreError if none does."""
        for entry in self._line():
            if int(entry.get("epoch", -1)) == epoch:
                return int(entry["version"])
        raise StoreError(f"The store {self.path} has no checkpoint {epoch}.")

    def checkpoints(self) -> list[dict[str, Any]]:
        """Every checkpoint that the present one follows on: epoch, version and time, newest first.

        Raises DamagedLog where a commit tells what none does.
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
        """Who made each epoch from which a replica can follow the log; that of a subtask follows one run of it."""
        floor = self.floor
        return {
            each["epoch"]: as_run_of(each.get("token", ""), each.get("runs", {}).get(subtask, ""))
            for each in self.checkpoints()
            if each["epoch"] >= floor
        }

    def runs(self) -> dict[str, str]:
        """The runs of subtasks that the last epoch is made of, by the subtask's name."""
        found: dict[str, str] = next(iter(self.checkpoints()), {}).get("runs", {})
        return found

    def files(self) -> list[LogFile]:
        """The data files of the version, oldest epoch first; read once for each version. Raises StoreError."""
        if self._files is None or self._files[0] != self.version:
            self._prove_no_row_is_hidden()
            with self._reading():
                told = pa.table(self._table.get_add_actions(flatten=True))
            columns = {name: told[name].to_pylist() for name in _TOLD if name in told.column_names}
            found = [_log_file(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
            self._files = (self.version, sorted(found, key=lambda file: (file.epochs, file.path)))
        return list(self._files[1])

    def _prove_no_row_is_hidden(self) -> None:
        """Raise StoreError where files have rows that count as deleted: we would read them."""
        with self._reading():
            may = _DELETION_VECTORS in (self._table.protocol().reader_features or ())
            hidden = may and pa.table(self._table.deletion_vectors()).num_rows > 0
        if hidden:
            raise StoreError(
                f"Somebody deleted rows of the state {self.path} by deletion vectors, which jobs do not read. Have Spark write "
                f"the files without these rows, with REORG TABLE delta.`{self.path}` APPLY (PURGE), or RESTORE the table to "
                "the version before. Nothing committed is lost."
            )

    def sources(self, files: Sequence[LogFile] | None = None) -> list[Source]:
        """Some files, or all, and where they are."""
        return [Source(self.path, file) for file in (self.files() if files is None else files)]

    def parts(self, columns: Sequence[str] | None = None, files: Sequence[LogFile] | None = None) -> Iterator[pa.Table]:
        """The tables of some files, or all, in their order, or some columns of theirs.

        Raises StoreError where one is gone or damaged.
        """
        schema = schema_of(columns)
        for file, fetched in ahead(self.place, self.files() if files is None else files):
            with opened(self.place, file, fetched) as parquet:
                table = as_of(schema, parquet.read(schema.names))
            yield table

    def read(
        self,
        wanted: Callable[[LogFile], bool] = lambda _: True,
        chosen: Callable[[pa.Table], pa.Table] = lambda table: table,
    ) -> Iterator[pa.Table]:
        """The chosen rows of the wanted files, oldest epoch first: in a table, and from one table to the next."""
        found = [file for file in self.files() if wanted(file)]
        tables = map(chosen, self.parts(files=found))
        for files in _apart(found):
            near = list(itertools.islice(tables, len(files)))
            yield by_epoch(pa.concat_tables(near) if len(near) > 1 else near[0])

    def changes(self, after: int, key_groups: range, operators: frozenset[str]) -> Iterator[pa.Table]:
        """The rows of some operators and key groups (and of no key group) changed after an epoch, the oldest of an entry first.

        In memory is a batch of them, or a slice of the key groups where somebody put the rows in another order.
        """
        files = [
            file
            for file in self.files()
            if file.epochs[1] > after and (file.key_groups[0] < 0 or file.has_groups(key_groups))
        ]
        names = pa.array(sorted(operators), pa.string())

        def chosen(table: pa.Table) -> pa.Table:
            if table.num_rows <= FEW:
                found = zip(*(table[name].to_pylist() for name in ("epoch", "operator_id", "key_group")), strict=True)
                few = [is_wanted(*each) for each in found]
                return table if all(few) else table.filter(pa.array(few, pa.bool_()))
            group = table["key_group"]
            inside = pc.or_(
                pc.less(group, 0),
                pc.and_(pc.greater_equal(group, key_groups.start), pc.less(group, key_groups.stop)),
            )
            keep = pc.and_(pc.and_(inside, pc.greater(table["epoch"], after)), pc.is_in(table["operator_id"], names))
            return table.filter(keep)

        def is_wanted(epoch: int, operator_id: str, key_group: int) -> bool:
            return epoch > after and operator_id in operators and (key_group < 0 or key_group in key_groups)

        def concerned(group: RowGroup) -> bool:
            if group.groups is None:
                return True
            low, high = group.groups
            return low < 0 or (low < key_groups.stop and high >= key_groups.start)

        if in_order(self.place, files):
            for file, fetched in ahead(self.place, files):
                yield from map(chosen, batches(self.place, file, wanted=concerned, fetched=fetched))
        else:
            parts = (range(NO_KEY_GROUP, 0), key_groups)
            slices = [each for part in parts for each in cut(self.sources(files), part).slices]
            yield from (by_epoch(chosen(read_slice(each))) for each in slices)


_RANGED = ("operator_id", "key_group", "epoch")
_TOLD = (*("path", "num_records", "size_bytes"), *(f"{limit}.{name}" for name in _RANGED for limit in ("min", "max")))
"""What is read of what Delta tells of a file."""


def as_run_of(token: str, run: str) -> str:
    """The token of an attempt at an epoch, as one run of a subtask carries it."""
    return f"{token}.{run}" if run else token


def _is_checkpoint(name: str) -> bool:
    """True for the name of a Delta checkpoint, which holds all of a version in one file."""
    return name.endswith(".checkpoint.parquet")


def _info(commit: bytes) -> dict[str, Any]:
    """What a commit tells of itself; nothing where it is damaged."""
    for line in commit.splitlines():
        if b'"commitInfo"' in line:
            try:
                found: dict[str, Any] = json.loads(line)["commitInfo"]
                return dict(found)
            except (ValueError, KeyError, TypeError):
                continue
    return {}


def _may_rewrite(commit: Mapping[str, Any]) -> bool:
    """Whether somebody else may have changed files of the table with a commit, which no seal tells of."""
    operation = commit.get("operation")
    return SEAL not in commit and operation is not None and not str(operation).startswith(_REWRITES_NOTHING)


def by_epoch(table: pa.Table) -> pa.Table:
    """The rows, the oldest epoch first; those of one epoch stay as they are."""
    epochs = table["epoch"].to_numpy()
    return table if bool((epochs[1:] >= epochs[:-1]).all()) else table.sort_by("epoch")


def _apart(files: Sequence[LogFile]) -> Iterator[list[LogFile]]:
    """The files, oldest epoch first, together where their epochs overlap."""
    together: list[LogFile] = []
    end = -1
    for file in files:
        if together and file.epochs[0] >= end:  # an entry has one row an epoch
            yield together
            together = []
        together.append(file)
        end = max(end, file.epochs[1])
    if together:
        yield together


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    known = ("token", "records", "runs")
    return {key: json.loads(entry[key]) for key in known if key in entry}


def _log_file(action: Mapping[str, Any]) -> LogFile:
    low, high = ({name: action.get(f"{limit}.{name}") for name in _RANGED} for limit in ("min", "max"))
    return ranged(action["path"], action.get("num_records") or 0, action["size_bytes"], low, high)
