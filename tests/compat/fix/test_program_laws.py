"""Laws of repairs of programs: nothing is left but what has no safe edit, and only what is named changes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from compat.check.findings import Finding, Level, Report
from compat.comparison import Comparison, Outcomes, decide
from compat.fix.edits import SAFE, has_edit
from compat.fix.repair import repair
from compat.loader.process import finish, start
from compat.loader.request import Request
from tests.compat.fix.generated import Program, edited, in_graph, programs, text

EXAMPLES = pytest.mark.parametrize("examples", [12, pytest.param(150, marks=pytest.mark.slow)])
HAS_NO_EDIT = {"CMP101", "CMP106", "CMP413"}
"""Rules about state that is lost whatever the program says: of an operator that is gone, be it that its id is another one's
now, and of keyed reduce."""


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Program, Program]:
    old = draw(programs())
    return old, draw(edited(old))


def plans(*paths: Path) -> list[dict[str, Any]]:
    """The plan of each program."""
    outcomes = finish(start([Request(path=str(path.absolute()), shown=path.name) for path in paths]))
    return [outcome.plans[0] for outcome in outcomes]  # type: ignore[union-attr]


def errors(outcome: Any) -> list[Finding]:
    assert isinstance(outcome, Report)
    return [finding for finding in outcome.findings if finding.level is Level.ERROR]


def statements(path: Path) -> list[tuple[range, str]]:
    """The lines that each statement takes, and its text."""
    source = path.read_text(encoding="utf-8")
    return [
        (range(node.lineno, (node.end_lineno or 0) + 1), ast.get_source_segment(source, node) or "")
        for node in ast.parse(source).body
    ]


def named(findings: list[Finding], path: Path) -> set[int]:
    """The statements that make the operators that findings name."""
    places = [fix.at for finding in findings for fix in finding.fixes]
    places += [finding.new.source for finding in findings if finding.new is not None]
    lines = {place.line for place in places if place is not None}
    return {number for number, (span, _) in enumerate(statements(path)) if lines & set(span)}


@EXAMPLES
def test_a_repair_leaves_what_has_no_safe_edit_and_changes_what_is_named(
    examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    old, new = Path("old.py"), Path("new.py")

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(pair=pairs())
    def law(pair: tuple[Program, Program]) -> None:
        old.write_text(text(pair[0]), encoding="utf-8")
        new.write_text(text(pair[1]), encoding="utf-8")
        before = statements(new)
        old_plan, new_plan = plans(old, new)
        touched: set[int] = set()

        def again(plan: dict[str, Any] | None = None) -> list[Outcomes]:
            outcome = decide(old_plan, plan or plans(new)[0], Comparison("old.py", "new.py"), {})
            touched.update(named(errors(outcome), new))
            return [Outcomes((outcome,), {})]

        told: list[str] = []
        (result,) = repair(again(new_plan), "new.py", again, lambda level: level is Level.ERROR, told.append)

        left = errors(result.outcomes[0])
        note("\n".join([text(pair[0]), *told, *(finding.title for finding in left)]))
        assert not any(has_edit(finding) for finding in left), (left, told)
        assert {finding.rule for finding in left} <= HAS_NO_EDIT, (left, told)
        stateful = {op.number: op.kind for op in pair[0] if op.stateful and op.number in in_graph(pair[0])}
        if stateful.keys() <= in_graph(pair[1]) and "reduce" not in stateful.values():
            assert left == [], told
        after = statements(new)
        assert len(after) == len(before)
        changed = {number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0][1] != pair[1][1]}
        assert changed <= touched, told
        calls = {number: _without_settings(ast.parse(after[number][1])) for number in changed}
        assert calls == {number: _without_settings(ast.parse(before[number][1])) for number in changed}

    law()


def _without_settings(tree: ast.AST) -> str:
    """A statement without the calls that a repair may write."""

    class Writer(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            inner = self.generic_visit(node)
            if isinstance(node.func, ast.Attribute) and node.func.attr in SAFE:
                return node.func.value
            return inner

    return ast.dump(Writer().visit(tree))
