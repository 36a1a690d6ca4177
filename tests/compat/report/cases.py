"""The outcomes whose printed form is kept under ``expected``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from compat.check.findings import (
    Account,
    Evidence,
    Fate,
    Fix,
    Level,
    MappingRow,
    ReadState,
    RehearsedOperator,
    Report,
    Verdict,
    Witness,
)
from compat.loader.failure import Failure, Side
from compat.report import ReportContext, Undecided
from compat.state.model.source_line import SourceLine
from compat.state.model.states import State, StateKind, StateScope
from tests.compat.builders import NEW_FILE, OLD_FILE, SOURCES, finding, moved_report, operator, report

CONTEXT = ReportContext(sources=SOURCES, cwd=Path("/work tree"))


def _compatible() -> Report:
    count = operator("Count", uid="count", at=SourceLine(OLD_FILE, 6))
    row = MappingRow(old=count, new=count, fate=Fate.RESTORED, by="uid")
    state = State(name="n", kind=StateKind.VALUE, scope=StateScope.KEYED, type="Long")
    accounts = tuple(
        Account(old=count, state=state, new=count, fate=Fate.RESTORED, evidence=Evidence(("id", "type"), witness))
        for witness in (Witness.READERS, Witness.FLINK)
    )
    return replace(report(Verdict.COMPATIBLE, mapping=(row,)), accounts=accounts)


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
    account = Account(
        old=model, state=None, new=model, fate=Fate.UNKNOWN, rule="CMP410", gap="its states are not known"
    )
    return replace(report(Verdict.UNKNOWN, asked, mapping=(row,)), accounts=(account,))


def _one_cause() -> Report:
    lines = {"Count": 6, "Sum": 7, "Alert": 9}
    wide = [operator(name, uid=name.lower(), at=SourceLine(OLD_FILE, line)) for name, line in lines.items()]
    findings = [
        finding(
            "CMP302",
            title=f"{one.label} runs with parallelism 200, above the recorded max parallelism 128",
            reason="OLD's state is divided into 128 key groups: more subtasks than that would have none.",
            old=one,
            new=one,
            fixes=(Fix(text="Set a parallelism of at most 128 for the job.", call="env.set_parallelism(128)"),),
            cause="run with parallelism 200, above the recorded max parallelism 128",
        )
        for one in wide
    ]
    rows = tuple(MappingRow(old=one, new=one, fate=Fate.REFUSED, by="uid", note="CMP302") for one in wide)
    return report(Verdict.INCOMPATIBLE, *findings, mapping=rows)


def _rehearsed() -> Report:
    count, totals = operator("Count", uid="count"), operator("Totals", uid="totals", id="b" * 32)
    read = (
        ReadState(scope="keyed", name="seen", backend="hashmap", read=1200, migrated=True),
        ReadState(scope="keyed", name="seen", backend="rocksdb", read=1200, migrated=True),
        ReadState(
            scope="keyed",
            name="last",
            backend="rocksdb",
            read=3,
            at="first-read",
            key_group=86,
            key="apples",
            reason="Index 20 out of bounds for length 1",
        ),
    )
    splits = (ReadState(scope="operator", name="SourceReaderState", backend="any", read=4),)
    done = (
        RehearsedOperator(
            operator=count,
            states=read,
            key_groups=128,
            key_groups_read=100,
            bytes=9000,
            bytes_read=7000,
            notes=("the time was up",),
        ),
        RehearsedOperator(operator=totals, states=splits, key_groups=0, key_groups_read=0, bytes=0, bytes_read=0),
    )
    return replace(_compatible(), rehearsal=done)


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
    "one_cause": _one_cause(),
    "rehearsed": _rehearsed(),
    "undecided": _undecided(),
}
