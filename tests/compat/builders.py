"""Operators, programs and reports in a line each, for tests of what happens after a program was read."""

from __future__ import annotations

import hashlib
from typing import Any

from compat.check.findings import Fate, Finding, Fix, Level, MappingRow, Report, Verdict
from compat.plan.facts import Program
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import State, StateKind, StateScope

OLD_FILE, NEW_FILE = "word_count_v1.py", "word_count_v2.py"
SOURCES = {
    OLD_FILE: [
        "def main():",
        "    env = StreamExecutionEnvironment.get_execution_environment()",
        "    words = env.from_source(lines(), no_watermarks(), 'lines').flat_map(split)",
        "    counts = (",
        "        words.key_by(first, Types.STRING())",
        "        .process(Count(), PAIR)  # keeps the counts",
        '        .name("Count")',
        "    )",
        "    counts.print()",
    ],
    NEW_FILE: [
        "def main():",
        "    env = StreamExecutionEnvironment.get_execution_environment()",
        "    words = env.from_source(lines(), no_watermarks(), 'lines').flat_map(split)",
        "    counts = (",
        "        words.rebalance().filter(good).rebalance()",
        "        .key_by(first, Types.STRING())",
        "        .process(Count(), PAIR)",
        '        .name("Count")',
        "    )",
        '    counts.key_by(first).process(Alert()).uid("alert").print()',
    ],
}


def hash_of(text: str) -> str:
    """32 hex digits that stand for ``text``."""
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def value_state(name: str = "count", type: str | None = "long", **more: Any) -> State:
    """A keyed value state."""
    return State(name=name, kind=StateKind.VALUE, scope=StateScope.KEYED, type=type, key_type="string", **more)


def operator(
    name: str, *, uid: str | None = None, id: str | None = None, at: SourceLine | None = None, **more: Any
) -> Operator:
    """An operator with one state, whose id follows from its uid or name."""
    fields: dict[str, Any] = {
        "id": id or hash_of(uid or name),
        "user_hash": None,
        "uid": uid,
        "name": name,
        "kind": "keyed_process",
        "parallelism": 1,
        "parallelism_configured": False,
        "max_parallelism": 128,
        "max_parallelism_configured": False,
        "vertex": hash_of(f"vertex of {name}"),
        "node": 1,
        "position": 0,
        "chained_outputs": 0,
        "inputs": (),
        "source": at,
        "states": (value_state(),),
        "states_unknown": None,
        "has_state": True,
        "detail": {},
    }
    return Operator(**(fields | more))


def program(name: str, *operators: Operator, kind: str = "program", **more: Any) -> Program:
    """A program of these operators."""
    fields: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "job_name": "counting",
        "flink": "2.3",
        "operators": operators,
        "vertices": (),
        "settings": {"parallelism.default": "1"},
    }
    return Program(**(fields | more))


def finding(rule: str = "CMP102", level: Level = Level.ERROR, title: str = "it is wrong", **more: Any) -> Finding:
    """A finding with a sentence in each field."""
    fields: dict[str, Any] = {"consequence": "Flink refuses the restore.", "reason": "The id has moved."}
    return Finding(rule=rule, level=level, title=title, **(fields | more))


def report(
    verdict: Verdict,
    *findings: Finding,
    mapping: tuple[MappingRow, ...] = (),
    old: Program | None = None,
    new: Program | None = None,
    **more: Any,
) -> Report:
    """A report on two programs that bear the names of the word count."""
    return Report(
        old=old or program(OLD_FILE),
        new=new or program(NEW_FILE),
        verdict=verdict,
        findings=findings,
        mapping=mapping,
        **more,
    )


def moved_report() -> Report:
    """The word count after an edit that moved an id: one error, one warning, three rows of mapping."""
    old = operator("Count", id=hash_of("before"), at=SourceLine(OLD_FILE, 6))
    new = operator("Count", id=hash_of("after"), at=SourceLine(NEW_FILE, 7))
    alert = operator("KEYED PROCESS", uid="alert", at=SourceLine(NEW_FILE, 10))
    lines = operator("Source: lines", at=SourceLine(OLD_FILE, 3))
    fix = Fix(text="pin the operator to its old id", call=f'.set_uid_hash("{old.id}")', at=SourceLine(NEW_FILE, 7))
    moved = finding(
        title="the id of 'Count' has moved",
        consequence=f"Flink refuses the restore: it cannot map the state of operator {old.id} to the new program.",
        reason="The operator has no uid, and a filter was inserted before it.",
        old=old,
        new=new,
        fixes=(fix,),
    )
    empty = finding(
        "CMP107",
        Level.WARNING,
        "'KEYED PROCESS' (uid 'alert') starts empty",
        consequence="It starts without state.",
        reason="OLD has no operator of this uid.",
        new=alert,
    )
    return report(
        Verdict.INCOMPATIBLE,
        moved,
        empty,
        mapping=(
            MappingRow(old=lines, new=lines, fate=Fate.RESTORED, by="generated id"),
            MappingRow(old=old, new=None, fate=Fate.REFUSED, by="", note="moved"),
            MappingRow(old=None, new=alert, fate=Fate.EMPTY, by=""),
        ),
        suppressed=(
            finding("CMP304", Level.WARNING, "the max parallelism is derived", ignored="ignored in the settings"),
        ),
        notes=("compat.baseline.json: CMP401 a state went is not found any more",),
    )
