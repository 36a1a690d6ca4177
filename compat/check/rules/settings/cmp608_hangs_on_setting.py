"""Verdicts that depend on what the cluster decides, where that was not given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from compat.check.context import Asked
from compat.check.findings import Fate, Finding, Fix, Level, Report, Verdict
from compat.check.rule import Rule

_SAID: Final = {
    Asked.BACKEND: "the state backend",
    Asked.EXECUTION_MODE: "the mode in which PyFlink runs",
    Asked.FLINK: "the version of Flink",
}


def settle(asked: Asked, value: str) -> str:
    """The option of the command line that tells a setting."""
    return f"--flink {value}" if asked is Asked.FLINK else f"-D {asked.value}={value}"


def finding(usual: Report, asked: Asked, reports: Mapping[str, Report]) -> Finding:
    """The finding about reports with different verdicts, by the values of the setting."""
    fine = [value for value, report in reports.items() if report.verdict.restores]
    value, worse = next((value, report) for value, report in reports.items() if value not in fine)
    first = worse.findings[0]
    does = "is not restored" if worse.verdict is Verdict.INCOMPATIBLE else "may not be restored"
    return Finding(
        rule=RULE.id,
        level=RULE.level,
        title=f"the answer depends on {_SAID[asked]}, which was not given",
        consequence=f"With {' and '.join(fine)} the state is restored; with {value} it {does} ({first.rule}: {first.title}).",
        reason=first.reason,
        old=first.old,
        new=first.new,
        old_line=first.old_line or usual.old.source,
        new_line=first.new_line or usual.new.source,
        state=first.state,
        subject=asked.value,
        fixes=(Fix(text=f"Give the cluster's setting: {' or '.join(settle(asked, one) for one in reports)}."),),
        direction=usual.direction,
    )


RULE = Rule(
    id="CMP608",
    name="hangs-on-setting",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="Whether state is restored depends on the state backend, PyFlink's mode or the version of Flink, which was not "
    "given.",
    why="The cluster decides settings that the program does not set. The check tries each value; if the answers differ, "
    "only you know the right value.",
    old="ValueStateDescriptor('count', Types.LONG())",
    new="descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())",
    fix="Give the check the cluster's setting: -D state.backend.type=rocksdb, -D python.execution-mode=thread, --flink 1.20.",
)
