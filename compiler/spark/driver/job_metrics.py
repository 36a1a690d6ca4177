"""The metrics of a job so far, over all of its subtasks and epochs. Flink: the metrics that a ``JobManager`` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from compat.compiler.spark.operators.metrics import RECORD_COUNTS, RECORDS_IN, RECORDS_OUT
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.task.epochs import lasting_vertices
from compat.compiler.spark.task.stream_task import TaskReport

Measures = dict[str, Any]
"""By a metric's name: a number (counters, meters), the numbers of a distribution, or a list with a gauge of each subtask."""


class Measured:
    """Sums what subtasks report. Functions that stay open count from epoch to epoch themselves; others begin anew each time."""

    def __init__(self, plan: PhysicalPlan) -> None:
        self._lasting = lasting_vertices(plan)
        self._names = {spec.id: spec.name for _, spec in plan.operators()}
        self._heads = {task.vertex: task.operators[0].id for task in plan.tasks}
        self._of_subtasks: dict[tuple[str, int], Measures] = {}
        self._records: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()

    def take(self, reports: Iterable[TaskReport]) -> None:
        """Take over what the subtasks of a committed epoch report."""
        for report in reports:
            for id, measures in report.metrics.items():
                place = (id, report.subtask)
                before = {} if report.vertex in self._lasting else self._of_subtasks.get(place, {})
                self._of_subtasks[place] = _added(before, measures)
            self._records[self._heads[report.vertex]] += report.records
            for id, count in report.sent.items():
                self._sent[id] += count

    def accumulators(self) -> dict[str, Any]:
        """The metrics of the program's functions, by the names that they gave; equal names are merged."""
        found: Measures = {}
        for measures in tuple(self._of_subtasks.values()):
            found = _added(found, {name: value for name, value in measures.items() if name not in RECORD_COUNTS})
        return found

    def all(self) -> list[dict[str, Any]]:
        """The operators that measured something, with ``operator_id``, ``name`` and ``metrics``, as JSON."""
        found: dict[str, Measures] = {id: {RECORDS_IN: count} for id, count in self._records.items()}
        for id, count in self._sent.items():
            found.setdefault(id, {})[RECORDS_OUT] = count
        for (id, _), measures in sorted(self._of_subtasks.items()):
            own = {name: value for name, value in measures.items() if name not in RECORD_COUNTS}
            found[id] = _added(found.get(id, {}), own)
        return [
            {"operator_id": id, "name": name, "metrics": dict(sorted(found[id].items()))}
            for id, name in self._names.items()
            if id in found
        ]


def _added(left: Measures, right: Measures) -> Measures:
    return {
        **left,
        **{name: _sum(left[name], value) if name in left else value for name, value in right.items()},
    }


def _sum(left: Any, right: Any) -> Any:
    if not isinstance(left, dict):
        return left + right
    ends = {
        name: choose(each[name] for each in (left, right) if name in each)
        for name, choose in _ENDS
        if name in {**left, **right}
    }
    return {"sum": left["sum"] + right["sum"], "count": left["count"] + right["count"], **ends}


_ENDS: tuple[tuple[str, Any], ...] = (("min", min), ("max", max))
