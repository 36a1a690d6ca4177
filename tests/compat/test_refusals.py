"""A program that Flink refuses was compared with nothing: nothing makes that pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from compat.cli import main
from compat.compiler.configuration import CHECKPOINT_INTERVAL
from compat.compiler.errors import ErrorCode
from compat.loader.topology import plan_of
from compat.plan.facts import Program
from compat.refusals import refused
from compat.state.model.job import Plan, Refused
from tests.compat.pairs.identity import two
from tests.compat.pairs.programs import value

IGNORED = "  # compat: ignore[CMP105] they are alike"


@pytest.fixture
def versions(tmp_path: Path) -> tuple[str, str]:
    """OLD, and a NEW with one uid twice and an ignore comment on every line."""
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(value("L"))
    lines = two(('"second"', '"keep"')).split("\n")
    new.write_text("\n".join(line + IGNORED if ".key_by(" in line else line for line in lines))
    return str(old), str(new)


@pytest.mark.parametrize("options", [(), ("--baseline", "known.json")], ids=["comment", "baseline"])
def test_a_refusal_cannot_be_ignored(
    versions: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compat.toml").write_text('ignore = ["CMP105"]\n')
    CliRunner().invoke(main, ["check", *versions, "--write-baseline", "--baseline", "known.json"])
    result = CliRunner().invoke(main, ["check", *versions, *options])
    assert result.exit_code == 1, result.output
    assert result.output.startswith("INCOMPATIBLE")
    assert "error CMP105" in result.output


def source(id: str, **more: object) -> dict[str, object]:
    return {"id": id, "kind": "source", **more}


REFUSED = {
    "CMP105": (
        ErrorCode.DUPLICATE_UID,
        [source("a", uid="u"), {"id": "b", "kind": "map", "inputs": ["a"], "uid": "u"}],
    ),
    "CMP109": (ErrorCode.MALFORMED_UID_HASH, [source("a", uidHash="abc")]),
    "CMP202": (
        ErrorCode.FORWARD_CHANGES_PARALLELISM,
        [
            source("a"),
            {"id": "f", "kind": "forward", "inputs": ["a"]},
            {"id": "b", "kind": "map", "inputs": ["f"], "parallelism": 3},
        ],
    ),
    "CMP305": (
        ErrorCode.PARALLELISM_ABOVE_MAX,
        [source("a"), {"id": "b", "kind": "map", "inputs": ["a"], "parallelism": 4, "maxParallelism": 2}],
    ),
}
NOTHING = Program(name="old", kind="program", job_name="", flink="2.3", operators=(), vertices=(), settings={})


def refusal_of(ops: list[dict[str, object]]) -> Refused:
    plan = plan_of({"ops": ops}, "2.3", {})
    assert isinstance(plan, Refused)
    return plan


@pytest.mark.parametrize("rule", REFUSED)
def test_a_refusal_goes_by_its_code_and_not_by_its_sentence(rule: str) -> None:
    code, ops = REFUSED[rule]
    plan = refusal_of(ops)
    assert plan.error.code == code.value, plan.error
    said = replace(plan.error, message="Said otherwise by the next Flink.")
    report = refused(replace(plan, error=said), "new.py", NOTHING)
    assert report is not None
    assert [finding.rule for finding in report.findings] == [rule]


@pytest.mark.parametrize("rule", [rule for rule in REFUSED if rule != "CMP305"])
def test_version_0_1_0_wrote_refusals_without_codes(rule: str) -> None:
    plan = refusal_of(REFUSED[rule][1])
    before = replace(plan, error=replace(plan.error, code=None, value=None))
    assert refused(before, "new.py", NOTHING) == refused(plan, "new.py", NOTHING)


def test_a_refusal_that_no_rule_is_about_is_no_finding() -> None:
    plan = refusal_of([])
    assert plan.error.code == ErrorCode.ILLEGAL_STATE.value
    assert refused(plan, "new.py", NOTHING) is None


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        (
            '{"id": "in", "kind": "source"},\n  {"id": "on", "kind": "mapp", "inputs": ["in"]}',
            "No job can be made of it: ",
        ),
        (
            '{"id": "in", "kind": "source"},\n  {"id": "on", "kind": "map", "uidHash": "no hash", "inputs": ["in"]}',
            "Flink refuses the program (build): ",
        ),
    ],
    ids=["not a topology", "refused"],
)
def test_only_what_flink_refuses_is_said_to_be_refused_by_flink(tmp_path: Path, ops: str, said: str) -> None:
    job = tmp_path / "job.json"
    job.write_text(f'{{"ops": [\n  {ops}\n]}}\n')
    shown = CliRunner().invoke(main, ["plan", str(job)])
    assert shown.stderr.startswith(f"{job}:3: {said}")
    checked = CliRunner().invoke(main, ["check", str(job), str(job)])
    assert (shown.exit_code, checked.exit_code) == (2, 2)
    assert f"CMP901 program-failed: {said}" in checked.output
    assert f"source: {job}:3" in " ".join(checked.output.split())


@pytest.mark.parametrize("interval", ["1000", "10 ms", None])
def test_the_advice_on_a_loop_with_checkpoints_is_no_option_that_flink_refuses(interval: str | None) -> None:
    loop = [source("a"), {"id": "it", "kind": "iterate", "inputs": ["a"]}, {"id": "m", "kind": "map", "inputs": ["it"]}]
    ops = [*loop, {"id": "end", "kind": "close_with", "inputs": ["it", "m"]}]
    plan = plan_of({"ops": ops}, "1.20", {} if interval is None else {CHECKPOINT_INTERVAL: interval})
    if interval is None:  # what is advised
        assert isinstance(plan, Plan)
        return
    assert isinstance(plan, Refused)
    report = refused(plan, "new.py", NOTHING)
    assert report is not None
    (fix,) = report.findings[0].fixes
    assert fix.code == f"# {CHECKPOINT_INTERVAL}:"
    assert f"{CHECKPOINT_INTERVAL} out" in fix.text
