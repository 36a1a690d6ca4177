"""The options of a job's run, and its listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import file_digest
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.datastream.served import served
from compat.compiler.driver import Compilation
from compat.compiler.spark.driver.lease import Lease

if TYPE_CHECKING:
    from compat.compiler.spark.driver.moving import Moves
    from compat.compiler.spark.driver.saved import SavedOperator

Listener = Callable[[dict[str, Any]], None]
"""Gets the events of a job: an object with ``event``, ``job_id`` and the fields of the event."""

PlanOf = Callable[[Compilation], dict[str, Any]]
"""Gives the plan of a compiled job as JSON, for the snapshots that it writes."""

Check = Callable[[str, dict[str, Any] | None, dict[str, Any], bool], None]
"""Is called before a restore with a snapshot's path, its plan, the new plan and whether state may be left behind.

A savepoint of Flink's has no plan. It raises an error with its report where the restore is not to be.
"""


class Recipe(Protocol):
    """What happens to a snapshot's state before a program restores it. It refuses what it cannot do before anything runs."""

    def moves(
        self, saved: Mapping[str, SavedOperator], old_plan: dict[str, Any] | None, new_plan: dict[str, Any]
    ) -> Moves:
        """The moves of the saved operators, for the program of this plan."""


class Assigned(Struct, frozen=True):
    """A job that a dispatcher gave to this process: its id, and the fencing token of the attempt, greater than all before.

    ``lease`` is the job's, where this process has it already.
    """

    job_id: str
    fence: int
    lease: Lease | None = None


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a job's run.

    A new job restores ``savepoint``; with ``claim`` it removes the savepoint once it has its own checkpoint. The job stops with
    a savepoint after ``epochs``; ``epoch_records`` limits each source's input of an epoch. ``program`` is the file that submits
    the job. If its job failed or its driver died, the same file continues that job, unless ``fresh``; while the job runs, the
    same file with the same ``arguments`` is refused. ``occurrence`` counts the jobs of the same name that it submitted before.
    Hosts keep local state in ``replicas``. ``worker_setup`` is called when the first job runs, with whether workers may be on
    other machines; it gives the function that each Python worker calls before it loads the plan. Modules are in
    ``worker_folders``. ``ship`` says whether the Python environment is sent to the machines of the tasks; with None the kind of
    the master decides. ``flink`` is the version of Flink to follow, if that is not the job's. ``assigned`` is the job that a
    dispatcher gave to this process. ``recipe`` changes the savepoint's state.
    """

    savepoint: str | None = None
    recipe: Recipe | None = None
    allow_non_restored: bool = False
    claim: bool = False
    epochs: int | None = None
    epoch_records: int | None = None
    program: str = ""
    arguments: tuple[str, ...] = ()
    occurrence: int = 0
    fresh: bool = False
    replicas: str | None = None
    plan_of: PlanOf | None = None
    check: Check | None = None
    clock: Callable[[], int] | None = None
    worker_setup: Callable[[bool], Callable[[], None]] = lambda elsewhere: served
    worker_folders: tuple[str, ...] = ()
    ship: bool | None = None
    flink: str | None = None
    assigned: Assigned | None = None


def source_of(program: str) -> str:
    """A digest that changes when a program's file is edited; an empty string if it cannot be read."""
    try:
        with open(program, "rb") as file:
            return file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return ""


_RECOVERY = "execution.state-recovery."


def with_recovery(options: RunOptions, given: Mapping[str, str]) -> RunOptions:
    """The options, with the snapshot of the program's own options if the command line names none."""

    def find(name: str, older: str) -> str | None:
        return given.get(_RECOVERY + name) or given.get(older)

    path = find("path", "execution.savepoint.path")
    if options.savepoint is not None or not path:
        return options
    skip = find("ignore-unclaimed-state", "execution.savepoint.ignore-unclaimed-state") or "false"
    claim = find("claim-mode", "execution.savepoint-restore-mode") or "no_claim"
    return replace(
        options,
        savepoint=path,
        allow_non_restored=options.allow_non_restored or skip.lower() == "true",
        claim=options.claim or claim.lower() == "claim",
    )
