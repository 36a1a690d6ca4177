"""The entries of a store's jobs: the state of each, corrected by its log if its driver died."""

from __future__ import annotations

import math
from pathlib import Path

from msgspec.structs import replace

from compat.compiler.spark.driver.job_entry import ENTRY, JobEntry, read_entry, told_by
from compat.compiler.spark.driver.job_folders import PUBLISHED, RETAINED, JobFolders
from compat.state.delta.errors import StoreError, Superseded
from compat.state.stores.paths import Place


class JobEntries(JobFolders):
    """The entries of the jobs of a store. Raises StoreError for a root on an unknown storage."""

    def __init__(self, root: str | Path) -> None:
        super().__init__(root)
        self._without_entry: list[Place] | None = None

    def entry(self, job_id: str) -> JobEntry | None:
        """The entry of the job with exactly this id; None if it is missing or damaged."""
        try:
            return read_entry(self.directory(job_id))
        except (ValueError, TypeError, AttributeError, OSError):
            return None

    def write(self, entry: JobEntry) -> None:
        """Put down how a job is. Raises Superseded if a later driver has, or the job is over.

        Not every storage can compare and replace in one step. A driver that pauses between the two steps leaves an entry older
        than its job. The job's log shows this, and :meth:`settled` uses the log.
        """
        there = self.entry(entry.job_id)
        if there is not None and entry.yields_to(there):
            raise Superseded(
                f"Another process drives the job of {self.directory(entry.job_id)} by now, or did until it ended: it is "
                f"{there.status}. Nothing is lost."
            )
        self._put(self.directory(entry.job_id) / ENTRY, told_by(entry))

    def settled(self, entry: JobEntry) -> JobEntry:
        """The state of a job without a driver, from its log: at its last checkpoint, and ended if the log says so.

        Its entry may be behind: a driver died after the job's last commit, or one that was taken for dead wrote over it.
        """
        if entry.over:
            return entry
        from compat.state.delta.log import SnapshotLog

        try:
            log = SnapshotLog.open(self.state(entry.job_id))
            ended = log.ended
            return replace(entry, epoch=log.epoch) if ended is None else entry.ended_as(ended, log.epoch)
        except StoreError:
            return entry

    def is_over(self, job_id: str) -> bool:
        """True for a job that never continues, or is no longer kept. Raises OSError if that is unknown."""
        try:
            return self.settled(read_entry(self.directory(job_id))).over
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (ValueError, TypeError, AttributeError):
            return False  # damaged: somebody may be at it

    def read(self, job_id: str) -> JobEntry | None:
        """The entry of a job, by its id or a prefix; None unless exactly one matches."""
        found = [entry for entry in self.jobs() if job_id and entry.job_id.startswith(job_id)]
        return found[0] if len(found) == 1 else next((entry for entry in found if entry.job_id == job_id), None)

    def jobs(self) -> list[JobEntry]:
        """All jobs whose entries can be read, the newest first."""
        return self._entries()[0]

    def start_time(self, now: float) -> float:
        """The start time of a job that starts now: later than all earlier ones, even if the clock was set back."""
        return max([now, *(math.nextafter(entry.started, math.inf) for entry in self.jobs())])

    def _entries(self) -> tuple[list[JobEntry], list[Place]]:
        """The jobs, the newest first, and the directories whose entry is damaged. Raises StoreError."""
        entries: list[JobEntry] = []
        damaged: list[Place] = []
        without: list[Place] = []
        for directory in self._directories():
            try:
                entries.append(read_entry(directory))
            except FileNotFoundError:
                (damaged if self._lost_its_entry(directory) else without).append(directory)
            except (ValueError, TypeError, AttributeError, OSError):
                damaged.append(directory)
        self._without_entry = without
        return sorted(entries, key=lambda entry: -entry.started), damaged

    @staticmethod
    def _lost_its_entry(directory: Place) -> bool:
        """True for a job that has published something, and of which more than its last checkpoint was kept."""
        try:
            return not (directory / RETAINED).exists() and (directory / PUBLISHED).exists()
        except OSError:
            return True

    def _directories(self) -> list[Place]:
        jobs = self.root / "jobs"
        try:
            return [jobs / entry.name for entry in jobs.list()]
        except NotADirectoryError:
            return []
        except OSError as error:
            raise StoreError(f"The store {self.root} cannot be read: {error}.") from error
