"""Laws of every repair: the fix of a finding removes it, and pinned operators get their own state back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.check.decision import check
from compat.check.findings import Fate, Level, Report
from compat.comparison import Outcomes
from compat.fix import topology
from compat.fix.edits import collect
from compat.fix.repair import repair
from compat.loader.topology import entry_locations, plan_of
from compat.plan.facts import Program, facts_of
from compat.report import following
from compat.report.context import ReportContext
from compat.state.model.job import Plan

Spec = dict[str, Any]

MOST = 2000
EXAMPLES = pytest.mark.parametrize("examples", [60, pytest.param(MOST, marks=pytest.mark.slow)])
STATELESS = ("map", "filter", "rebalance", "flat_map")


@st.composite
def topologies(draw: st.DrawFn) -> Spec:
    """A job of up to nine steps behind a source; operators with state have names of their own, and maybe uids."""
    ops: list[Spec] = [{"id": "s", "kind": "source", "name": "numbers", **draw(pins("s"))}]
    for place in range(draw(st.integers(1, 9))):
        before = draw(st.sampled_from([op["id"] for op in ops if op["kind"] != "key_by"]))
        if draw(st.booleans()):
            ops.append({"id": f"k{place}", "kind": "key_by", "inputs": [before]})
            counted = {"id": f"c{place}", "kind": "keyed_process", "name": f"count {place}", "inputs": [f"k{place}"]}
            state = {"name": f"n{place}", "kind": "value", "type": "Long"}
            ops.append(counted | {"states": [state], **draw(pins(f"c{place}"))})
        else:
            ops.append({"id": f"m{place}", "kind": draw(st.sampled_from(STATELESS)), "inputs": [before]})
    env = draw(st.sampled_from([{}, {"maxParallelism": 64}, {"parallelism": 2}]))
    return {"env": dict(env), "ops": ops}


@st.composite
def pins(draw: st.DrawFn, label: str) -> Spec:
    """The ties of an operator: nothing, a uid, or a max parallelism."""
    return draw(st.sampled_from([{}, {}, {"uid": f"uid-{label}"}, {"maxParallelism": 32}]))


@st.composite
def edited(draw: st.DrawFn, spec: Spec) -> Spec:
    """The job after some edits, of which none takes away an operator that has state."""
    new: Spec = json.loads(json.dumps(spec))
    for number in range(draw(st.integers(1, 4))):
        ops = new["ops"]
        op = draw(st.sampled_from(ops))
        match draw(st.sampled_from(["insert", "uid", "maximum", "environment", "order", "drop"])):
            case "insert" if op.get("inputs"):
                fresh = {"id": f"new{number}", "kind": draw(st.sampled_from(STATELESS)), "inputs": op["inputs"]}
                op["inputs"] = [fresh["id"]]
                ops.insert(ops.index(op), fresh)
            case "uid" if "name" in op:
                op["uid"] = draw(st.sampled_from([None, f"other-{op['id']}"]))
            case "maximum" if op["kind"] == "keyed_process":
                op["maxParallelism"] = draw(st.sampled_from([None, 16, 256]))
            case "environment":
                new["env"] = draw(st.sampled_from([{}, {"maxParallelism": 100}, {"parallelism": 3}]))
            case "order":
                new["ops"] = draw(orders(ops))
            case "drop" if op["kind"] in STATELESS:
                ops.remove(op)
                for other in ops:
                    other["inputs"] = [op["inputs"][0] if one == op["id"] else one for one in other.get("inputs", [])]
            case _:
                pass
    return new


@st.composite
def orders(draw: st.DrawFn, ops: list[Spec]) -> list[Spec]:
    """The same calls in another order in which each comes behind its inputs."""
    left, done = list(ops), []
    while left:
        ready = [op for op in left if all(one in {op["id"] for op in done} for one in op.get("inputs", []))]
        chosen = draw(st.sampled_from(ready))
        left.remove(chosen)
        done.append(chosen)
    return done


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Spec, Spec]:
    old = draw(topologies())
    return old, draw(edited(old))


def facts(text: str, name: str) -> Program | None:
    """The facts of a topology; None for one that Flink refuses."""
    plan = plan_of(json.loads(text), "2.3", {}, None, entry_locations(text, name))
    return facts_of(plan, name=name, kind="topology") if isinstance(plan, Plan) else None


def errors(report: Report) -> list[Any]:
    return [finding for finding in report.findings if finding.level is Level.ERROR]


@EXAMPLES
def test_a_repair_gives_every_operator_its_own_state_back(
    examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("new.json")

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(pair=pairs(), indent=st.sampled_from([None, 2]))
    def law(pair: tuple[Spec, Spec], indent: int | None) -> None:
        old = facts(json.dumps(pair[0]), "old.json")
        path.write_text(json.dumps(pair[1], indent=indent), encoding="utf-8")
        if old is None or facts(path.read_text(encoding="utf-8"), "new.json") is None:
            return

        def again() -> list[Outcomes]:
            new = facts(path.read_text(encoding="utf-8"), "new.json")
            assert new is not None
            return [Outcomes((check(old, new),), {})]

        told: list[str] = []
        (result,) = repair(again(), "new.json", again, lambda level: level is Level.ERROR, told.append)
        report = result.outcomes[0]
        assert isinstance(report, Report)
        assert errors(report) == [], (told, [finding.title for finding in errors(report)])
        rows = [row for row in report.mapping if row.old is not None]
        assert all(row.fate is Fate.RESTORED and row.new is not None for row in rows)
        assert all(row.old.name == row.new.name for row in rows if row.old and row.new)

    law()


@EXAMPLES
def test_the_edits_that_the_last_line_names_are_all_that_it_takes(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=examples < MOST)
    @given(pair=pairs())
    def law(pair: tuple[Spec, Spec]) -> None:
        text = json.dumps(pair[1])
        old, new = facts(json.dumps(pair[0]), "old.json"), facts(text, "new.json")
        if old is None or new is None:
            return
        report = check(old, new)
        found = errors(report)
        assert all(any(fix.call is not None for fix in finding.fixes) for finding in found)
        edits = collect([(0, report, found)])
        assert all(one.reason.endswith("you have to decide") for one in edits.refused)
        if edits.refused:
            return  # nothing writes an edit that changes how the job runs
        told = {fix.call for fix in following.edits(report, ReportContext(sources={}))}
        assert told == {fix.call for finding in found for fix in finding.fixes if fix.call is not None}
        rewritten = topology.rewrite(text.encode(), edits.files.get("new.json", {}), edits.environment)
        assert rewritten.refused == ()
        repaired = facts(rewritten.source.decode(), "new.json")
        assert repaired is not None
        left = errors(check(old, repaired))
        assert left == [], (told, [finding.title for finding in left])

    law()
