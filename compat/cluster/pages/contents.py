"""The known facts about a job, in the words of its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from compat.cluster.deployments.records import Step
from compat.cluster.history import Checkpoint
from compat.cluster.observation import JobDetails, LogTail, VertexSeen
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.operators.metrics import RECORD_COUNTS
from compat.escaping import code_line
from compat.plan.facts import facts_of
from compat.plan.reading import PlanError, from_plain
from compat.report.context import ReportContext
from compat.service.pages import contents, running
from compat.service.pages.rendering import clipped, size
from compat.state.delta.history import Epoch
from compat.state.model.job import Plan
from compat.view.page_values import plan_section

LOG_SHOWN = 64 * 1024
"""The maximum bytes of a log on a page; the interface has more."""
LONGEST_LINE = 2000
LONGEST_CAUSE = 20_000
"""The maximum characters of a traceback that are shown, from its end, which has the error."""
MOST_METRICS, LONGEST_METRIC = 500, 200
"""The maximum number of a program's metrics that are shown, and the characters of each."""
EPOCHS = 20
"""The number of epochs on a job's page."""
MOST_DRAWN = 2000
"""The number of operators beyond which no graph is made: that would take the dispatcher's time."""

TONES = {
    JobStatus.CREATED: "warn",
    JobStatus.INITIALIZING: "change",
    JobStatus.RUNNING: "good",
    JobStatus.FINISHED: "plain",
    JobStatus.CANCELED: "plain",
    JobStatus.FAILED: "bad",
}
"""The colours of statuses; all others belong to jobs that are going wrong, or ending."""


STEP_TONES = {
    Step.DEPLOYED: "good",
    Step.RETURNED: "bad",
    Step.ABANDONED: "bad",
    Step.FAILED: "bad",
    Step.NOT_PROMOTED: "warn",
}
"""The colours of the ends of deployments; any other step is under way."""

STEP_WORDS = {
    Step.STOPPING: "the old job is stopped with a savepoint",
    Step.STARTING: "the new job is started from there",
    Step.WATCHING: "the new job runs, and is watched",
    Step.PROMOTING: "the registry is told that the new version runs",
    Step.RETURNING: "the new job failed; the old one is started again from the same savepoint",
    Step.DEPLOYED: "the new job runs",
    Step.NOT_PROMOTED: "the new job runs, and the registry did not take that",
    Step.RETURNED: "the old job runs again",
    Step.ABANDONED: "the old job could not be stopped with a savepoint: nothing was started",
    Step.FAILED: "no job runs; the savepoint is there",
}
"""The words for the steps of a deployment."""


def step_tone(step: Step) -> str:
    """The colour of a step."""
    return STEP_TONES.get(step, "change")


def tone(status: str) -> str:
    """The colour of a status of a job, a vertex or a task."""
    try:
        return TONES.get(JobStatus(status), "warn")
    except ValueError:
        return "warn"


class Row(Struct, frozen=True, kw_only=True):
    """A vertex in words: ``tasks`` counts its subtasks by state; records are None if they are not counted.

    ``failure`` is the cause of the last failure, ``failed`` which of its subtasks that was.
    """

    id: str
    name: str
    status: str
    tasks: str
    parallelism: int
    read: int | None
    written: int | None
    failure: str
    failed: str


def vertices(found: Sequence[VertexSeen]) -> list[Row]:
    """The vertices, from the sources on."""
    return [
        Row(
            id=each.status.id,
            name=each.status.name,
            status=each.status.status,
            tasks=", ".join(f"{count} {state.lower()}" for state, count in each.status.tasks.items()),
            parallelism=each.status.parallelism,
            read=each.read,
            written=each.written,
            failure=(each.status.failure or "")[-LONGEST_CAUSE:],
            failed="" if each.status.failed is None else f"{each.status.failed + 1}/{each.status.parallelism}",
        )
        for each in found
    ]


def metrics(found: Sequence[VertexSeen]) -> list[tuple[str, str, str]]:
    """The program's metrics: operator, metric, value."""
    own = [
        {**each, "metrics": {name: value for name, value in each["metrics"].items() if name not in RECORD_COUNTS}}
        for vertex in found
        for each in vertex.metrics
    ]
    told = contents.metrics({"metrics": own})[:MOST_METRICS]
    return [
        (clipped(operator, LONGEST_METRIC), clipped(name, LONGEST_METRIC), clipped(value, LONGEST_METRIC))
        for operator, name, value in told
    ]


def history(details: JobDetails) -> running.History | None:
    """Charts and a table of the job's checkpoints; None before there is one."""
    found = list(_epochs(details.history.checkpoints))
    return running.describe(found, EPOCHS) if found else None


def _epochs(checkpoints: Sequence[Checkpoint]) -> Iterator[Epoch]:
    """The checkpoints, the oldest first; one that was committed again after a failure only as it was at last."""
    latest: Mapping[int, Checkpoint] = {each.epoch: each for each in reversed(checkpoints)}
    for number, each in sorted(latest.items()):
        yield Epoch(
            number=number,
            version=number,
            time=each.at,
            records=each.records,
            written=each.added_bytes or 0,
            size=each.state_bytes,
            watermark=None if each.watermark_lag is None else each.at - each.watermark_lag,
            seconds=each.seconds,
        )


def cause(text: str) -> str:
    """A traceback, line by line, at most its end."""
    left_out = len(text) - LONGEST_CAUSE
    told = f"… {left_out} characters before\n" if left_out > 0 else ""
    return told + "\n".join(code_line(line) for line in text[-LONGEST_CAUSE:].splitlines())


class Text(Struct, frozen=True, kw_only=True):
    """Lines to show, and a note on those left out before them."""

    lines: str
    note: str


def log(found: LogTail) -> Text:
    """The end of a log."""
    note = (
        f"The last {size(len(found.text.encode('utf-8', 'replace')))}; {size(found.before)} before are left out."
        if found.before
        else ""
    )
    return Text(lines="\n".join(_line(line) for line in found.text.splitlines()), note=note)


def printed(lines: Sequence[str]) -> Text:
    """The lines that a program printed, the newest last."""
    return Text(lines="\n".join(_line(line) for line in reversed(lines)), note="")


def _line(line: str) -> str:
    shown = code_line(line[:LONGEST_LINE])
    return shown if len(line) <= LONGEST_LINE else f"{shown}… ({len(line)} characters)"


def graph(document: Mapping[str, Any] | None, name: str) -> dict[str, Any] | str:
    """The section of a graph as :mod:`compat.view` draws it, or the reason why there is none."""
    if document is None:
        return "The job's process has not written its graph yet."
    operators = document.get("operators")
    if isinstance(operators, list) and len(operators) > MOST_DRAWN:
        return (
            f"The job has more than the {MOST_DRAWN} operators that are drawn here: compat plan --format html draws it."
        )
    try:
        plan = from_plain(dict(document))
    except PlanError as error:
        return f"The graph cannot be read: {error}"
    if not isinstance(plan, Plan):
        return "The program was refused, and has no graph."
    program = facts_of(plan, name=name, kind="plan")
    return {**plan_section(program, plan, ReportContext(sources={})), "verdict_words": "Graph"}
