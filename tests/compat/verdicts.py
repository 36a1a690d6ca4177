"""Holds what the check says of a golden pair against what Flink did with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from compat.check.findings import Level, Report, Verdict
from compat.comparison import Comparison, decide
from compat.loader.inputs import Input, InputKind
from compat.plan.facts import facts_of
from compat.savepoint.load import read_old
from compat.savepoint.names import Names, of_program
from compat.sides import Savepoint
from compat.state.model.job import Plan, Refused

_IN_ONE_JVM = 12
"""How many pairs share a JVM."""
NOT_TOLD = {"CMP415", "CMP713"}
"""Rules that say what a savepoint alone does not tell."""

Record = dict[str, Any]


class Pair:
    """A pair as Flink built it: the plans, and what became of OLD's state in NEW, from the program and the savepoint."""

    def __init__(self, old: Plan | Refused, new: Plan | Refused, answers: dict[str, Any]) -> None:
        self.old, self.new, self.answers = old, new, answers


def plan(outcome: Any, name: str) -> Plan | Refused:
    from compat.loader.jvm.plans import plan_of, refused_of

    if outcome.crash is not None:
        assert outcome.crash.refused, outcome.crash
        return refused_of(outcome.crash, "2.3.0", name)
    return plan_of(outcome.jobs[-1], name)


def built(asked: Sequence[tuple[Any, Any]], flink: Any, java: Any) -> Iterator[tuple[int, Pair]]:
    """Pairs of programs as Flink builds them, a few in each JVM, by their places; without those that are no jobs."""
    from compat.loader.jvm.answers import answers_of
    from compat.loader.jvm.messages import Restore
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build_all
    from tests.compat.loader.jvm.support import built as build_with_restores

    options = JvmOptions(options={})
    for first in range(0, len(asked), _IN_ONE_JVM):
        part = asked[first : first + _IN_ONE_JVM]
        olds = build_all([old for old, _ in part], flink, java, options)
        wanted = [
            (new, [Restore(metadata=job.savepoint, samples=job.samples) for job in old.jobs[-1:]])
            for (_, new), old in zip(part, olds, strict=True)
        ]
        for place, (old, new) in enumerate(
            zip(olds, build_with_restores(wanted, flink, java, options), strict=True), first
        ):
            if old.jobs and new.jobs:
                nodes = {node.id: node for job in new.jobs for node in job.nodes}
                yield place, Pair(plan(old, "old"), plan(new, "new"), {"programs": answers_of(new.restored[0], nodes)})


def verdict(pair: Pair, mode: str, savepoint: Path, attempt: str) -> Report:
    """The report on a pair, on the state backend and with the flag of a recorded restore."""
    backend, _, allowed = attempt.partition("+")
    new = pair.new
    if isinstance(new, Plan):
        new = msgspec.structs.replace(new, settings={**new.settings, "state.backend.type": backend})
    old: Plan | Refused | Savepoint = pair.old
    if mode != "programs":
        path = str(savepoint)
        names = Names()
        if mode == "savepoint and names":
            assert isinstance(pair.old, Plan)
            names = of_program(facts_of(pair.old, name="old", kind="program"))
        old = Savepoint(read_old(Input(path, path, InputKind.SAVEPOINT), names))
    answers = pair.answers.get(mode.partition(" ")[0])
    return decide(old, new, Comparison("old", "new", allow_non_restored=bool(allowed)), {}, answers)


def wrong(report: Report, record: Record, mode: str) -> str:
    """In which way a verdict is wrong; nothing if it is right."""
    fine = report.verdict in (Verdict.COMPATIBLE, Verdict.MIGRATION)
    open_questions = {finding.rule for finding in report.findings if finding.level is Level.UNKNOWN}
    if mode == "savepoint" and report.verdict is Verdict.UNKNOWN and open_questions <= NOT_TOLD:
        return ""
    warned = any(finding.level is Level.WARNING for finding in report.findings)
    if record["outcome"] != "running":
        return "a failure is called compatible" if fine else ""
    if record.get("silentlyWrong") or record.get("stateDropped"):
        return "a loss or an exchange is called compatible" if fine and not warned else ""
    return "" if fine else "a false alarm"
