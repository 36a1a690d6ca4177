"""The outcomes whose printed form is kept under ``expected``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compat.check.findings import Fate, Level, MappingRow, Report, Verdict
from compat.loader.failure import Failure, Side
from compat.plan.facts import SourceLine
from compat.report import ReportContext, Undecided
from tests.compat.builders import NEW_FILE, OLD_FILE, SOURCES, finding, moved_report, operator, report

CONTEXT = ReportContext(sources=SOURCES, cwd=Path("/work tree"))


def _compatible() -> Report:
    count = operator("Count", uid="count", at=SourceLine(OLD_FILE, 6))
    row = MappingRow(old=count, new=count, fate=Fate.RESTORED, by="uid")
    return report(Verdict.COMPATIBLE, mapping=(row,))


def _silent() -> Report:
    four = operator("by four", id="a" * 32, at=SourceLine(OLD_FILE, 6))
    three = operator("by three", id="a" * 32, at=SourceLine(NEW_FILE, 7))
    wrong = finding(
        "CMP103",
        title="the state of 'by four' goes to 'by three'",
        consequence="'by three' continues with the counts of 'by four'.",
        reason="Both have the generated id of their place in the graph.",
        old=four,
        new=three,
        silent=True,
        related=(("the operator that should get it", SourceLine(NEW_FILE, 10)),),
    )
    row = MappingRow(old=four, new=three, fate=Fate.WRONG_HANDS, by="generated id")
    return report(Verdict.INCOMPATIBLE, wrong, mapping=(row,))


def _unknown() -> Report:
    model = operator("Score", uid="score", at=SourceLine(NEW_FILE, 7), states=None, states_unknown="open() failed")
    asked = finding("CMP410", Level.UNKNOWN, "the states of 'Score' are not known", old=model, new=model)
    row = MappingRow(old=model, new=model, fate=Fate.UNKNOWN, by="uid")
    return report(Verdict.UNKNOWN, asked, mapping=(row,))


def _undecided() -> Undecided:
    failed = Failure(
        rule="CMP901",
        message="NameError: name 'splitt' is not defined",
        name=NEW_FILE,
        side=Side.NEW,
        source=SourceLine(NEW_FILE, 3),
        traceback=f'Traceback (most recent call last):\n  File "{NEW_FILE}", line 3, in main\nNameError: splitt',
        hint="Repair the program, then check again.",
    )
    return Undecided(failures=(failed,), old=OLD_FILE, new=NEW_FILE)


CASES: Mapping[str, Report | Undecided] = {
    "moved": moved_report(),
    "compatible": _compatible(),
    "silent": _silent(),
    "unknown": _unknown(),
    "undecided": _undecided(),
}
