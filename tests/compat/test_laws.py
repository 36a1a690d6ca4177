"""Laws of every program: ids depend on what a job does, and the verdict on nothing but the ids and states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compat.check.findings import Level, Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.process import finish, start
from compat.loader.request import Loaded, Request
from compat.plan.writing import plain
from tests.compat.programs import STYLES, Job, Step, Style, jobs, source

EXAMPLES = pytest.mark.parametrize("examples", [12, pytest.param(300, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laws")


def plans(folder: Path, sources: list[str], hash_seed: int = 0) -> list[dict[str, Any]]:
    """The plan of each program."""
    requests = []
    for number, text in enumerate(sources):
        path = folder / f"job{number}.py"
        path.write_text(text, encoding="utf-8")
        requests.append(Request(path=str(path), shown=path.name))
    result = []
    for outcome in finish(start(requests, hash_seed=hash_seed)):
        assert isinstance(outcome, Loaded)
        assert outcome.crash is None, outcome.crash
        result.append(plain(outcome.plans[0]))
    return result


def ids(plan: dict[str, Any]) -> Any:
    """All ids of a plan, and where they stand; of a program that Flink refuses, why."""
    if plan["error"] is not None:
        return plan["error"]["class"], plan["error"]["message"]
    vertices = [(vertex["id"], [one["id"] for one in vertex["operators"]]) for vertex in plan["job_graph"]["vertices"]]
    return plan["hashes"], plan["user_hashes"], vertices


def check(folder: Path, old: str, new: str) -> Report | Undecided:
    (folder / "old.py").write_text(old, encoding="utf-8")
    (folder / "new.py").write_text(new, encoding="utf-8")
    return report(str(folder / "old.py"), str(folder / "new.py"))


def report(old: str, new: str) -> Report | Undecided:
    (outcome,) = compare(Comparison(old=old, new=new)).outcomes
    return outcome


def told(outcome: Report | Undecided) -> Any:
    """A report without the names of its two sides."""
    if isinstance(outcome, Undecided):
        return [(one.rule, one.side) for one in outcome.failures]
    findings = sorted(
        (one.rule, one.level.value, one.state or "", _id(one.old), _id(one.new)) for one in outcome.findings
    )
    rows = sorted((_id(row.old), _id(row.new), row.fate.value, row.by) for row in outcome.mapping)
    return outcome.verdict, findings, rows


def _id(operator: Any) -> str:
    return "" if operator is None else operator.id


@EXAMPLES
def test_ids_do_not_depend_on_how_a_program_is_written(folder: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(job=jobs(), styles=st.lists(STYLES, min_size=1, max_size=3), seed=st.integers(1, 4_000_000_000))
    def law(job: Job, styles: list[Style], seed: int) -> None:
        first, *others = plans(folder, [source(job), *(source(job, style) for style in styles)])
        (elsewhere,) = plans(folder, [source(job)], hash_seed=seed)

        for other in (*others, elsewhere):
            assert ids(other) == ids(first)

    law()


@EXAMPLES
def test_a_uid_pins_the_id_through_any_edit(folder: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(job=jobs(pinned=True), data=st.data())
    def law(job: Job, data: st.DataObject) -> None:
        edited = job
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(edited.steps)))
            kind = data.draw(st.sampled_from(["map", "filter", "count", "rebalance"]))
            edited = edited.with_step(place, Step(kind))
        before, after = plans(folder, [source(job), source(edited)])
        assume("operators" in before and "operators" in after)  # Flink refuses some unions of unlike parallelism

        pinned = {one["uid"]: one["operator_id"] for one in before["operators"] if one["uid"]}
        found = {one["uid"]: one["operator_id"] for one in after["operators"] if one["uid"]}
        both = pinned.keys() & found.keys()
        assert {uid: found[uid] for uid in both} == {uid: pinned[uid] for uid in both}
        merged = {one["uid"] for operator in after["operators"] for one in operator["merged"]}
        assert set(pinned) <= set(found) | merged

    law()


@EXAMPLES
def test_a_program_is_compatible_with_itself(folder: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(job=jobs(), style=STYLES)
    def law(job: Job, style: Style) -> None:
        outcome = check(folder, source(job), source(job, style))

        if isinstance(outcome, Undecided):
            assert {one.rule for one in outcome.failures} == {"CMP901"}, outcome.failures
            return
        assert outcome.verdict is Verdict.COMPATIBLE, outcome.findings
        assert not [one for one in outcome.findings if one.level is Level.ERROR]

    law()


@EXAMPLES
def test_snapshots_say_what_programs_say(folder: Path, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(old=jobs(most=4), new=jobs(most=4))
    def law(old: Job, new: Job) -> None:
        from_programs = check(folder, source(old), source(new))
        snapshots = []
        for name, plan in zip(("old", "new"), plans(folder, [source(old), source(new)]), strict=True):
            path = folder / f"{name}.plan.json"
            path.write_text(json.dumps(plan), encoding="utf-8")
            snapshots.append(str(path))

        assert told(report(*snapshots)) == told(from_programs)

    law()
