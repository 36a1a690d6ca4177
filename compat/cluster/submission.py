"""A job as it is sent to a cluster: pickled, with its plan, its modules, its dependencies and its settings.

Flink: ``JobGraph``, ``JobSubmitRequestBody``.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from compat import __version__
from compat.cluster.directories import Directories
from compat.cluster.records import Room
from compat.compiler.spark.resources import GroupNeeds
from compat.migration.recipe import Recipe
from compat.state.tar import tarfile

if TYPE_CHECKING:
    from compat.compiler.job import Job
    from compat.compiler.spark.environment import Shipped
    from compat.state.stores.paths import Place

FORMAT = 1
SUBMISSION, DEPLOYMENT = "application/x-compat-job", "application/x-compat-deployment"
"""The media types of a job and of a deployment."""
_SUBMIT_ANEW = "Submit it with the cluster's version."


class SubmissionRefused(ValueError):
    """A submission that this cluster cannot run; the message says why."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A job to run.

    ``name`` is the job's name, ``program`` its file, as the user named it, in the folder ``folder``. ``groups`` are the slot
    sharing groups with declared resources. ``registered`` is the plan as
    ``compat registry push`` sends it to a registry. With ``fresh`` the job starts without state. ``job``, ``setup`` (called in
    a process before the job's functions are loaded) and ``shipped`` (the description of ``files``, a tar archive) are pickled;
    ``plan`` is the plan as JSON. ``environment`` are variables for the job's
    processes. ``restarts`` are the options that choose its restart strategy. ``directories`` are the cluster's folders, which
    the cluster fills in. ``checked`` is the digest of the state that ``recipe`` has to make. The other fields are as with
    ``compat job run``.
    """

    name: str
    program: str
    folder: str
    flink: str
    slots: int
    groups: tuple[GroupNeeds, ...] = ()
    job: bytes
    setup: bytes
    plan: bytes
    registered: bytes = b""
    shipped: bytes | None = None
    files: bytes = b""
    environment: dict[str, str] = {}
    restarts: dict[str, str] = {}
    directories: Directories = Directories()
    savepoint: str | None = None
    recipe: Recipe | None = None
    checked: str | None = None
    allow_non_restored: bool = False
    claim: bool = False
    fresh: bool = False
    epochs: int | None = None
    epoch_records: int | None = None
    format: int = FORMAT
    version: str = __version__
    python: tuple[int, int] = sys.version_info[:2]

    @property
    def room(self) -> Room:
        """What the job needs to run."""
        return Room.of(self.slots, self.groups)

    def encoded(self) -> bytes:
        """The submission in the form in which it is sent."""
        return msgspec.msgpack.encode(self)

    def described(self) -> Submission:
        """The submission without large parts and those that only its own processes may load."""
        return msgspec.structs.replace(self, job=b"", setup=b"", shipped=None, files=b"")


class DeploymentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An upgrade as it travels: of the job of a name, to a submission.

    ``replaces`` is the running job, or the one whose state the new job begins with, as the sender saw and checked it; None if
    there is none. ``fingerprint`` is the program's; the new job has to run for ``watch`` seconds. With ``dry_run``
    nothing is changed.
    """

    job: str
    submission: bytes
    fingerprint: str
    watch: float
    replaces: str | None = None
    commit: str | None = None
    author: str | None = None
    dry_run: bool = False


class _Head(msgspec.Struct, kw_only=True):
    format: int = 0
    version: str = ""


def decoded(data: bytes) -> Submission:
    """The submission from its sent form, of any version. Nothing of it is unpickled here. Raises SubmissionRefused."""
    try:
        head = msgspec.msgpack.decode(data, type=_Head)
        if head.format != FORMAT:
            raise SubmissionRefused(
                f"The job was submitted by compat {head.version}, in format {head.format}, and compat {__version__} reads "
                f"format {FORMAT}. {_SUBMIT_ANEW}"
            )
        return msgspec.msgpack.decode(data, type=Submission)
    except msgspec.DecodeError as error:
        raise SubmissionRefused(f"This is no job: {error}. Submit with compat job run --cluster.") from error


def refuse_other(submission: Submission) -> None:
    """Raise SubmissionRefused for a job whose functions this process cannot load: they travel between equal versions only."""
    for what, theirs, ours in (
        ("compat", submission.version, __version__),
        ("Python", *(".".join(map(str, each)) for each in (submission.python, sys.version_info[:2]))),
    ):
        if theirs != ours:
            raise SubmissionRefused(
                f"The job was submitted by {what} {theirs}, and the cluster runs {what} {ours}: functions travel between "
                f"equal versions only. {_SUBMIT_ANEW}"
            )


class Placed(msgspec.Struct, frozen=True):
    """A setup in the job's folder, where this machine has it, and with the job's variables."""

    setup: Callable[[], None]
    folder: str
    environment: Mapping[str, str]

    def __call__(self) -> None:
        """Prepare this process."""
        os.environ.update(self.environment)
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        self.setup()


def pickled(value: Any) -> bytes:
    """A value pickled with its functions."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    return bytes(dumps(value))


def packed(folder: Path) -> bytes:
    """The files of a folder, as an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def setup_of(submission: Submission) -> Placed:
    """The setup that prepares a process for the job's functions. Raises SubmissionRefused if it cannot be loaded."""
    try:
        setup = pickle.loads(submission.setup)
    except Exception as error:  # unpickling calls what it likes
        raise SubmissionRefused(
            f"The job was submitted by another build of compat, whose functions cannot be loaded here: {error}. {_SUBMIT_ANEW}"
        ) from error
    return Placed(setup, submission.folder, submission.environment)


def job_of(submission: Submission) -> Job:
    """The job. The process has to be prepared for its functions."""
    found: Job = pickle.loads(submission.job)
    return found


class Travelled(msgspec.Struct, frozen=True):
    """What came along with a job. Implements :class:`~compat.compiler.spark.driver.dependencies.Ships`."""

    shipped: bytes
    files: bytes

    def ship(self, folder: Place) -> Shipped:
        """Put the files where all machines of the job see them. Raises StoreError."""
        from compat.compiler.spark.driver.dependencies import placed

        return placed(self._unpacked, folder)

    def _unpacked(self, folder: Path) -> Shipped:
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(self.files)) as archive:
            archive.extractall(folder, filter="data")
        shipped: Shipped = pickle.loads(self.shipped)
        return replace(shipped, folder=str(folder))


def travelled(submission: Submission) -> Travelled | None:
    """The files sent with the job; None if there are none."""
    return None if submission.shipped is None else Travelled(submission.shipped, submission.files)
