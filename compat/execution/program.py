"""Runs a program's file in this process, with its jobs on Spark."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from compat.compiler.datastream.served import in_programs_words
from compat.compiler.own_code import is_machinery, namesake
from compat.compiler.versions import LATEST_FLINK
from compat.execution.failures import NO_JOB, Refused
from compat.execution.narration import Narrator, last_line
from compat.loader.main_module import layout_of, prepare, run_as_main

if TYPE_CHECKING:
    from compat.cluster.execution import ClusterExecutor
    from compat.compiler.spark.driver.executor import SparkExecutor
    from compat.compiler.spark.driver.session import EarlyJvm
    from compat.loader.layout import Layout
    from compat.migration.recipe import Recipe

FAILED, REFUSED = 1, 2
DEFAULT_STORE = ".compat"
MISSING = "Running jobs needs Spark and Delta, and {name!r} is not installed: pip install 'stream-compat[spark]'."
_QUICKER = (
    "Once for this Java and Spark, a process in the background puts their classes into an archive: later runs start sooner "
    "(COMPAT_CLASS_ARCHIVE=off: none does)."
)
_HIDDEN = (
    "{path} has the name of the package compat, and Spark's Python workers would import it in its place: rename it, or "
    "move it into a package."
)


class Run(Struct, frozen=True, kw_only=True):
    """A program and how to run its jobs; see the options of ``compat job run``. ``cluster`` is where they run."""

    program: str
    arguments: tuple[str, ...] = ()
    store: str = DEFAULT_STORE
    master: str | None = None
    parallelism: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    savepoint: str | None = None
    recipe: Recipe | None = None
    allow_non_restored: bool = False
    claim: bool = False
    epochs: int | None = None
    epoch_records: int | None = None
    flink: str | None = None
    fresh: bool = False
    replicas: str | None = None
    ship: bool | None = None
    deploy_mode: str = "client"
    pyfiles: tuple[str, ...] = ()
    cluster: str | None = None
    token: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    detached: bool = False

    @property
    def driver_elsewhere(self) -> bool:
        """True if each job's driver runs in a cluster of others."""
        return self.deploy_mode == "cluster"


def run_program(run: Run, narrator: Narrator, submitted: Callable[[str], None] = lambda job_id: None) -> int:
    """Run a program to the end of its jobs; gives the exit code: 0, 1 for a job that failed, 2 for what was refused.

    ``submitted`` is called with the id of each job that was handed to a cluster, where nobody waits for it.
    """
    early = _early_jvm(run)
    try:
        return _run_program(run, narrator, submitted, early)
    finally:
        if early is not None:
            early.end()


def _early_jvm(run: Run) -> EarlyJvm | None:
    """The JVM that the program's jobs will want, where they run here on a Spark of which nothing is said."""
    elsewhere = run.master is not None or run.cluster is not None or run.driver_elsewhere
    if elsewhere or any(option.startswith("spark.") for option in run.options):
        return None
    try:
        from compat.compiler.spark.driver.job_folders import log_of_spark
        from compat.compiler.spark.driver.session import Spark
    except ModuleNotFoundError:
        return None
    return Spark(None, None, (), log_of_spark(run.store)).start_early()


def _run_program(run: Run, narrator: Narrator, submitted: Callable[[str], None], early: EarlyJvm | None) -> int:
    try:
        from compat.compiler.spark.driver.failures import JobCancelled, JobFailed
        from compat.compiler.spark.driver.restore import RestoreRefused
    except ModuleNotFoundError as error:
        narrator.failed(None, MISSING.format(name=error.name))
        return REFUSED
    from compat.compiler.errors import ProgramError
    from compat.state.delta.errors import StoreError
    from compat.transport import ServerError

    hidden = _hidden_by(run)
    if hidden is not None:
        narrator.failed(None, _HIDDEN.format(path=os.path.relpath(hidden)))
        return REFUSED
    try:
        executor = _executor(run, narrator, early)
    except (ProgramError, StoreError) as error:
        narrator.failed(None, str(error))
        return REFUSED
    prepare(executor, run.options, run.parallelism, run.flink or LATEST_FLINK)
    code = 0
    try:
        try:
            run_as_main(layout_of_run(run), run.arguments, called=run.program)
        except SystemExit as error:
            if error.code not in (None, 0):
                raise
        for client in executor.clients:
            if run.detached and (run.cluster is not None or run.driver_elsewhere):
                submitted(client.job_id)
            elif not client.told:
                client.wait()
        _tell_what_it_passed_over(executor, narrator)
        if not executor.clients:
            raise Refused(NO_JOB)
    except Refused as error:
        narrator.failed(None, str(error), detail=error.detail)
        code = REFUSED
    except ServerError as error:
        narrator.failed(None, str(error))
        code = REFUSED
    except (RestoreRefused, ProgramError, StoreError) as error:
        code = _failed(run, executor, narrator, error, str(error), str(error))
    except JobFailed as error:
        code = _failed(run, executor, narrator, error, last_line(error.failure.cause), str(error))
    except JobCancelled:
        code = FAILED  # the job itself told of it
    except KeyboardInterrupt:
        executor.abandon()
        narrator.say(_interrupted(run, executor))
        code = 130
    except SystemExit as error:
        code = _failed(run, executor, narrator, error, f"The program called sys.exit({error.code!r}).", "")
    except Exception as error:
        detail = own_traceback(error)
        code = _failed(run, executor, narrator, error, last_line(detail), detail)
    finally:
        executor.close()
        narrator.close()
    if code == 0 and executor.ran_here and _archives_classes():
        narrator.say(_QUICKER)
    return code


def _archives_classes() -> bool:
    """Have later runs start sooner; True if a process does that now."""
    from compat.compiler.spark.driver.classes import make_later

    return make_later()


def _hidden_by(run: Run) -> str | None:
    """A program's own module or package ``compat``, where Python workers would find it first."""
    path = namesake((os.path.dirname(os.path.abspath(run.program)), os.getcwd()))
    is_found = path is not None and (os.path.isfile(path) or os.path.isfile(os.path.join(path, "__init__.py")))
    return path if is_found else None


def make_executor(run: Run, narrator: Narrator, early: EarlyJvm | None = None) -> SparkExecutor:
    """The executor that runs the jobs of a program."""
    from compat.compiler.spark.driver.executor import SparkExecutor
    from compat.compiler.spark.driver.options import RunOptions
    from compat.execution.snapshots import checker, plan_of
    from compat.loader.imports import worker_setup
    from compat.loader.inputs import LoadOptions
    from compat.migration.on_spark import SparkRecipe

    layout = layout_of_run(run)
    load = LoadOptions.given({}, flink=run.flink, pyfiles=run.pyfiles, environment=run.environment)
    return SparkExecutor(
        run.store,
        master=run.master,
        options=RunOptions(
            savepoint=run.savepoint,
            recipe=None if run.recipe is None else SparkRecipe(run.recipe, load=load),
            allow_non_restored=run.allow_non_restored,
            claim=run.claim,
            epochs=run.epochs,
            epoch_records=run.epoch_records,
            flink=run.flink,
            fresh=run.fresh,
            replicas=run.replicas,
            program=layout.program,
            arguments=tuple(run.arguments),
            plan_of=plan_of(run.program),
            check=checker(run.program, narrator.say),
            worker_setup=lambda elsewhere: worker_setup(
                layout.first,
                *layout.folders,
                behind=layout.last,
                travelling=elsewhere,
                flink=run.flink or LATEST_FLINK,
            ),
            worker_folders=(layout.first, *layout.folders),
            ship=run.ship,
        ),
        listener=narrator.tell,
        printer=narrator.printed,
        early=early,
    )


def _executor(run: Run, narrator: Narrator, early: EarlyJvm | None) -> SparkExecutor | ClusterExecutor:
    """Who runs the jobs of a program. Raises ProgramError, StoreError."""
    if run.cluster is None and not run.driver_elsewhere:
        return make_executor(run, narrator, early)
    return make_cluster_executor(run, narrator)


def make_cluster_executor(run: Run, narrator: Narrator) -> ClusterExecutor:
    """The executor that has a cluster run the jobs of a program: one of compat's, or one of others. Raises ProgramError."""
    from compat.cluster.client import Cluster
    from compat.cluster.execution import ClusterExecutor, absolute
    from compat.execution.snapshots import plans_of
    from compat.loader.imports import worker_setup

    layout = layout_of_run(run)

    def tell(event: dict[str, Any]) -> None:
        if event["event"] == "printed":
            narrator.printed(event["line"])
        else:
            narrator.tell(event)

    how = {
        "program": run.program,
        "folder": os.getcwd(),
        "environment": dict(run.environment),
        "savepoint": absolute(run.savepoint),
        "recipe": run.recipe,
        "allow_non_restored": run.allow_non_restored,
        "claim": run.claim,
        "fresh": run.fresh,
        "epochs": run.epochs,
        "epoch_records": run.epoch_records,
    }

    def setup_of() -> Callable[[], None]:
        return worker_setup(
            layout.first,
            *layout.folders,
            behind=layout.last,
            travelling=True,
            flink=run.flink or LATEST_FLINK,
        )

    if run.cluster is not None:
        return ClusterExecutor(Cluster(run.cluster, run.token), how, setup_of, plans_of(run.program), tell, run.flink)
    from compat.cluster.applications import ApplicationExecutor, Applications, refuse_no_cluster

    refuse_no_cluster(run.master, run.store)
    assert run.master is not None
    return ApplicationExecutor(
        Applications(run.store),
        run.master,
        run.store,
        how,
        setup_of,
        plans_of(run.program),
        tell,
        flink=run.flink,
        detached=run.detached,
        folders=(layout.first, *layout.folders),
    )


def _interrupted(run: Run, executor: SparkExecutor | ClusterExecutor) -> str:
    """The message about an interruption: where the same command goes on, and how to give the jobs up."""
    if run.cluster is not None or run.driver_elsewhere:
        running = [client.job_id for client in executor.clients if not client.over]
        where = f"--cluster {run.cluster}" if run.cluster is not None else f"--store {run.store}"
        return "\n".join(
            ["Interrupted: what runs on the cluster goes on."]
            + [f"To end job {job_id}: compat job cancel {job_id[:8]} {where}" for job_id in running]
        )
    told = ["Interrupted: the same command goes on from the last checkpoint."]
    for client in executor.clients:
        if not client.over:
            told.append(f"To give job {client.job_id} up: compat job cancel {client.job_id[:8]}")
    return "\n".join(told)


def layout_of_run(run: Run) -> Layout:
    """Where the modules of a program are."""
    return layout_of(os.path.abspath(run.program), run.pyfiles)


def _tell_what_it_passed_over(executor: SparkExecutor | ClusterExecutor, narrator: Narrator) -> None:
    """Say which jobs failed where the program caught that and went on."""
    for client in executor.clients:
        if client.error is not None:
            narrator.say(f"Job {client.job_id} failed, and the program went on: {last_line(str(client.error))}")


def _failed(
    run: Run,
    executor: SparkExecutor | ClusterExecutor,
    narrator: Narrator,
    error: BaseException,
    message: str,
    detail: str,
) -> int:
    """Say which job failed, and how to go on; nothing that was started counts as refused."""
    if not executor.clients:
        narrator.failed(None, message, detail=detail)
        return REFUSED
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    client = next((each for each in executor.clients if each.error is not None and each.error in causes), None)
    if client is None:
        narrator.program_failed(message, detail)
        return FAILED
    if detail and detail != message:
        narrator.say(detail)
    if client.epoch:
        further = "the same command goes on from it; --fresh starts anew"
        if run.cluster is not None:
            further = "the cluster keeps it, and -s with the path of the job there goes on from it"
        narrator.say(f"Nothing is lost up to checkpoint {client.epoch}: {further}.")
    narrator.failed(client.job_id, message)
    return FAILED


def own_traceback(error: Exception) -> str:
    """The traceback of an error without our own frames."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_machinery(frame.filename)]
    head = ["Traceback (most recent call last):\n"] if frames else []
    said = in_programs_words(error, "".join(traceback.format_exception_only(type(error), error)))
    return "".join([*head, *traceback.format_list(frames), said]).rstrip()
