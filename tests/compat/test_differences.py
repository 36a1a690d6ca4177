"""Restores that a check could judge wrongly: it says what Flink did, from the old program and from its savepoint alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import Struct, field

from compat.check.findings import Fate, Report
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions

DIFFERENCES = Path(__file__).parents[1] / "golden" / "differences"


class Case(Struct, frozen=True):
    """The verdict that tells what Flink did, the rule that tells it, and what becomes of the state that it names.

    ``rule`` is None where Flink restored everything. ``settings`` are those of the cluster. ``only_from_savepoint`` marks what
    two programs cannot tell; ``without_names`` is the verdict on the savepoint and the program that wrote it.
    Where two programs are told by another rule, it is ``rule_of_programs``.
    """

    verdict: str
    rule: str | None
    fate: Fate
    settings: dict[str, str] = field(default_factory=dict)
    only_from_savepoint: bool = False
    rule_of_programs: str | None = None
    without_names: str = "compatible"

    def told_by(self, old: str) -> str | None:
        """The rule, for a program or a savepoint as OLD."""
        return self.rule_of_programs or self.rule if old == "program" else self.rule


WRONG_HANDS = Case("incompatible", "CMP103", Fate.WRONG_HANDS)
RESTORED = Case("compatible", None, Fate.RESTORED)
CASES = {
    "batch_mode": Case("incompatible", "CMP112", Fate.LOST),
    "forst_backend": Case("incompatible", "CMP503", Fate.REFUSED, only_from_savepoint=True),
    "py_sav_process_to_reduce": WRONG_HANDS,
    "py_sav_types": Case("incompatible", "CMP505", Fate.REFUSED, rule_of_programs="CMP404", without_names="unknown"),
    "py_thread_sav_broadcast": Case("compatible", None, Fate.RESTORED, {"python.execution-mode": "thread"}),
    "sav120_insert": WRONG_HANDS,
    "sav_key_long": Case("incompatible", "CMP406", Fate.REFUSED),
    "sav_kind_reduce": WRONG_HANDS,
    "sav_map_cmp103": RESTORED,
    "sav_states_gone": Case("compatible", "CMP401", Fate.RESTORED),
    "topo_state_added_cmp103": RESTORED,
    "uid_swap": WRONG_HANDS,
}

REFUSED = {"maxpar_zero": "The maximum parallelism must be greater than 0."}
"""By folder, what Flink says of a program that it does not take."""


def program(name: str, which: str) -> Path | None:
    return next(iter(sorted((DIFFERENCES / name).glob(f"{which}.[jp]*"))), None)


def checked(old: Path, new: Path, case: Case) -> Report:
    (report,) = compare(Comparison(str(old), str(new), load=LoadOptions(options=case.settings))).outcomes
    assert isinstance(report, Report), report
    return report


ELSEWHERE = {"cmp103_state_added"}
"""Recorded without a savepoint: told of in the tests of the check."""


def test_every_folder_is_a_case() -> None:
    assert {path.name for path in DIFFERENCES.iterdir() if path.is_dir()} == CASES.keys() | REFUSED.keys() | ELSEWHERE


@pytest.mark.parametrize("old", ["old.json", "savepoint"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_flink_refuses_is_no_success(name: str, old: str) -> None:
    folder = DIFFERENCES / name
    did = json.loads((folder / "flink.json").read_text(encoding="utf-8"))["false"]
    assert did["outcome"] == "build"
    assert REFUSED[name] in did["error"]
    (outcome,) = compare(Comparison(str(folder / old), str(folder / "new.json"))).outcomes
    assert isinstance(outcome, Undecided)
    (failure,) = outcome.failures
    assert failure.rule == "CMP901"
    assert REFUSED[name] in failure.message


@pytest.mark.parametrize("old", ["program", "savepoint"])
@pytest.mark.parametrize("name", CASES)
def test_what_flink_did_is_told(name: str, old: str) -> None:
    case = CASES[name]
    rule = case.told_by(old)
    wrote = program(name, "old")
    assert wrote is not None
    before = wrote if old == "program" else DIFFERENCES / name / "savepoint"
    new = program(name, "new")
    if new is not None and not (case.only_from_savepoint and old == "program"):
        report = checked(before, new, case)
        told = [finding for finding in report.findings if finding.rule == rule]
        assert report.verdict.value == case.verdict
        assert bool(told) == (rule is not None)
        fates = {row.old.id: row.fate for row in report.mapping if row.old is not None}
        named = {finding.old.id for finding in told if finding.old is not None} or fates.keys()
        assert {fates[id] for id in named} == {case.fate}
    again = checked(before, wrote, case)
    assert again.verdict.value == ("compatible" if old == "program" else case.without_names)
    assert rule not in {finding.rule for finding in again.findings}
