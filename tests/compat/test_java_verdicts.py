"""Every golden pair in Java and SQL: the verdict says what Flink did, from two programs and from the savepoint that OLD left.

All programs of a version are built in a few JVMs. A verdict is right if what Flink refused or failed, and what it exchanged,
lost or went on from wrongly, is not called compatible without a word, and what it restored rightly is. A savepoint alone does
not tell what queries computed nor what classes behind Kryo were: unknown is right there, and no longer with the names of OLD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from compat.check.findings import Level, Report, Verdict
from compat.comparison import Comparison, decide
from compat.loader.inputs import Input, InputKind
from compat.plan.facts import facts_of
from compat.plan.model import Plan, Refused
from compat.savepoint.load import read_old
from compat.savepoint.names import Names, of_program
from compat.sides import Savepoint
from tests.compat.loader.jvm.golden import program, records, savepoint
from tests.compat.loader.jvm.support import built as built_by
from tests.compat.loader.jvm.support import flink_of

VERSIONS = ("2.3.0", "1.20.0", "1.20.0-to-2.3.0")
SIZE = 12
"""How many pairs share a JVM."""

CHECKPOINT = "the job runs until its first checkpoint, which the record did not take: it fails on the heap, too"
KNOWN: dict[tuple[str, str], str] = {
    ("2.3.0", "q_uid_always_same_jvm"): "one script twice; NEW was planned in the session that had planned OLD",
    **{(version, "avro_field_added_default"): CHECKPOINT for version in VERSIONS},
}
"""Verdicts that are wrong, by version and name, with the reason."""

NOT_TOLD = {"CMP415", "CMP713"}
"""Rules that say what a savepoint alone does not tell."""

Record = dict[str, Any]


def names(version: str) -> list[str]:
    return [name for known, name in records() if known == version]


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


def built(version: str, java: Any) -> Iterator[tuple[str, Pair]]:
    """The pairs of a version, a few of them in each JVM."""
    from compat.loader.jvm.answers import answers_of
    from compat.loader.jvm.model import Restore
    from compat.loader.jvm.process import JvmOptions, build_all

    before, _, after = version.partition("-to-")
    after = after or before
    flinks = flink_of(before), flink_of(after)
    options = JvmOptions(options={})
    wanted = names(version)
    for first in range(0, len(wanted), SIZE):
        part = wanted[first : first + SIZE]
        olds = build_all([program(before, name, "old") for name in part], flinks[0], java, options)
        wanted: list[dict[str, Restore]] = []
        for name, old in zip(part, olds, strict=True):
            folder = savepoint(before, name)
            restores = {"savepoint": Restore(metadata=(folder / "_metadata").read_bytes(), folder=str(folder))}
            if old.jobs:
                restores["programs"] = Restore(metadata=old.jobs[-1].savepoint)
            wanted.append(restores)
        asked = [(program(after, name, "new"), one.values()) for name, one in zip(part, wanted, strict=True)]
        news = built_by(asked, flinks[1], java, options)
        for name, old, new, restores in zip(part, olds, news, wanted, strict=True):
            nodes = {node.id: node for job in new.jobs for node in job.nodes}
            told = zip(restores, new.restored, strict=True) if new.jobs else ()
            yield name, Pair(plan(old, "old"), plan(new, "new"), {mode: answers_of(one, nodes) for mode, one in told})


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pairs(version: str, java: Any) -> dict[str, Pair]:
    return dict(built(version, java))


def verdict(pair: Pair, mode: str, version: str, name: str, attempt: str) -> Report:
    """The report on a pair, on the state backend and with the flag of a recorded restore."""
    backend, _, allowed = attempt.partition("+")
    new = pair.new
    if isinstance(new, Plan):
        new = msgspec.structs.replace(new, settings={**new.settings, "state.backend.type": backend})
    old: Plan | Refused | Savepoint = pair.old
    if mode != "programs":
        path = str(savepoint(version.partition("-to-")[0], name))
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


@pytest.mark.parametrize("mode", ["programs", "savepoint", "savepoint and names"])
def test_the_verdict_says_what_flink_did(pairs: dict[str, Pair], version: str, mode: str) -> None:
    found = []
    for name, pair in pairs.items():
        for attempt, record in records()[version, name]["attempts"].items():
            report = verdict(pair, mode, version, name, attempt)
            how = wrong(report, record, mode)
            if how and (version, name) not in KNOWN:
                rules = sorted({finding.rule for finding in report.findings})
                found.append(f"{name} ({attempt}): {how}; we say {report.verdict.value} {rules}")
    assert not found, "\n".join(["", *found])
