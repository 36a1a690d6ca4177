"""Windows that melt into each other, in thread mode: PyFlink writes no checkpoint of them."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for new in check.new.operators:
        merging = "python" in new.detail and new.detail.get("window_merging")
        if not merging or check.execution_modes[1] != "thread":
            continue
        yield check.finding(
            RULE,
            f"no checkpoint or savepoint of {new.label} can be taken in thread mode",
            consequence="The job starts and runs. Each checkpoint and savepoint fails once there is a session, with a "
            "ClassCastException (VoidNamespace cannot be cast to TimeWindow): a failure of the job loses all since its start.",
            reason="PyFlink keeps the record of merged windows under no window, but Flink writes that state by window.",
            old=next((pair.old for pair in check.mapping.pairs if pair.new is new), None),
            new=new,
            fixes=(Fix(text="Run the job in process mode."),),
        )


RULE = Rule(
    id="CMP429",
    name="sessions-in-thread-mode",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="Session windows in PyFlink's thread mode make every checkpoint and savepoint fail.",
    why="Seen in Flink 1.20 and 2.3, with any function of the window. The state of merging windows has another kind of "
    "namespace than declared, and writing it fails. The next version of the job will find no state.",
    old="keyed.window(TumblingProcessingTimeWindows.of(Time.minutes(5)))   # python.execution-mode: thread",
    new="keyed.window(ProcessingTimeSessionWindows.with_gap(Time.minutes(5)))",
    fix="Run the job in process mode.",
    find=_find,
)
