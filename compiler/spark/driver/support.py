"""The parts of a plan that cannot be run, reported before anything runs, and the paths that sinks write to."""

from __future__ import annotations

from msgspec.structs import replace

from compat.compiler.errors import ProgramError
from compat.compiler.job import Job
from compat.compiler.spark.connectors.sinks import placed, unsupported_sink
from compat.compiler.spark.connectors.sources import unsupported_source
from compat.compiler.spark.driver.directories import (
    CHECKPOINT_DIRECTORY,
    SAVEPOINT_DIRECTORY,
    checkpoint_directory,
    savepoint_directory,
)
from compat.compiler.spark.operators.factory import Runnable
from compat.compiler.spark.plan import OperatorSpec, PhysicalPlan, TaskSpec
from compat.compiler.spark.state.memory import budget_of
from compat.compiler.streamgraph.graph import Task
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.operators import Operator
from compat.state.stores.schemes import why_no_place

_WITHOUT_FUNCTION = (
    ops.Window
    | ops.KeyedReduce
    | ops.Project
    | ops.RemoveTimestamp
    | ops.TimestampsAndWatermarks
    | ops.Print
    | ops.Collect
    | ops.FileCompactorCoordinator
    | ops.FileCompactor
    | ops.RowsToRowData
    | ops.CacheWrite
)
"""The operators that run without a function of the program."""


def refuse_unsupported(plan: PhysicalPlan) -> None:
    """Raises a ProgramError that names each operator that cannot be run, with the reason."""
    problems = [
        f"{spec.name!r}{f' ({spec.location})' if spec.location else ''}: {problem}."
        for task, spec in plan.operators()
        for problem in _problems(task, spec)
    ]
    if problems:
        raise ProgramError(
            "This job can be checked, but not run here:\n" + "\n".join(f"- {problem}" for problem in problems)
        )


def refuse_ignored(job: Job) -> None:
    """Raises a ProgramError for directories of savepoints or checkpoints that cannot be used, and a FlinkError for an invalid
    amount of memory."""
    options = job.settings.options
    budget_of(options, 1)
    for what, option, folder in (
        ("savepoints", SAVEPOINT_DIRECTORY, savepoint_directory(options)),
        ("checkpoints", CHECKPOINT_DIRECTORY, checkpoint_directory(options)),
    ):
        problem = why_no_place(folder)
        if problem is not None:
            raise ProgramError(f"The directory for {what}, {option}: {problem}.", location=job.location)


def with_placed_sinks(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with absolute paths of sinks: relative ones start at the driver's folder, but tasks run in other folders."""

    def found(spec: OperatorSpec) -> OperatorSpec:
        operator = spec.operator
        if not isinstance(operator, ops.LegacySink | ops.SinkWriter | ops.SinkCommitter):
            return spec
        return replace(spec, operator=replace(operator, function=placed(operator.function)))

    return replace(plan, tasks=tuple(replace(task, operators=tuple(map(found, task.operators))) for task in plan.tasks))


def _problems(task: TaskSpec, spec: OperatorSpec) -> list[str]:
    operator = spec.operator
    if operator is None:
        return []
    if spec.is_source:
        reason = unsupported_source(operator)
        chained = spec.task in (Task.SOURCE, Task.LEGACY_SOURCE) and task.gates
        found = [reason] if reason is not None else []
        return [*found, "a source inside an operator with several inputs has no tasks of its own"] if chained else found
    return [problem for part in (operator, *operator.chained) if (problem := _problem(part)) is not None]


def _problem(operator: Operator) -> str | None:
    if isinstance(operator, ops.FileSplitReader):
        return None  # said of the source before it
    if not isinstance(operator, Runnable):
        return f"there is no operator of the kind {operator.kind!r}"
    if isinstance(operator, ops.LegacySink | ops.SinkWriter):
        return unsupported_sink(operator.function)
    if isinstance(operator, _WITHOUT_FUNCTION):
        return None
    if operator.function is None or type(operator.function).__name__ == "JavaFunctionWrapper":
        return "its function is not Python's: only programs in Python can be run, not descriptions of Java jobs"
    return None
