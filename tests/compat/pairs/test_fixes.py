"""Every error of the table names an edit, and ``compat check --fix`` makes those that are safe."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.check.code_suggestions import NON_RESTORED, REMAP
from compat.check.findings import Level
from compat.cli import main
from compat.fix.edits import SAFE, has_edit
from tests.compat.pairs.judging import CLUSTER, Judged, comparison_of
from tests.compat.pairs.model import Pair, Saved
from tests.compat.pairs.table import PAIRS

CASES = pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in PAIRS])
FAILING = {"error": {Level.ERROR}, "warning": {Level.ERROR, Level.UNKNOWN, Level.MIGRATE, Level.WARNING}}

REPAIRED = {
    "finished_source_renamed": 1,
    "uid_changed": 1,
    "uid_twice": 1,
    "user_hash_no_hash": 1,
    "states_of_two_operators_under_one": 2,
    "max_parallelism_set": 1,
}
"""The pairs whose errors all have a safe edit, with the number of lines that it changes."""

REPAIRED_TO_THE_LAST_WARNING = {
    "no_uids": 1,
    "chain_that_ends_renamed": 1,
    "user_hash_of_an_old_id": 1,
    "parallelism_at_max": 1,
    "derived_max_parallelism_moves": 1,
}
"""The pairs whose warnings all have one too."""


@CASES
def test_every_error_names_the_code_to_write(pair: Pair, judged: dict[str, Judged]) -> None:
    for finding in judged[pair.name].findings:
        if finding.level is Level.ERROR:
            assert any(fix.call or fix.code for fix in finding.fixes), finding


def _repairable(level: str, judged: dict[str, Judged]) -> set[str]:
    failing = {
        name: [finding for finding in found.findings if finding.level in FAILING[level]]
        for name, found in judged.items()
    }
    return {name for name, findings in failing.items() if findings and all(map(has_edit, findings))}


def test_no_pair_that_can_be_repaired_is_left_out(judged: dict[str, Judged]) -> None:
    assert _repairable("error", judged) == REPAIRED.keys()
    assert _repairable("warning", judged) - REPAIRED.keys() == REPAIRED_TO_THE_LAST_WARNING.keys()


def test_what_no_call_reaches_is_moved_in_the_savepoint_or_read_by_another_source(judged: dict[str, Judged]) -> None:
    moved, kept = judged["text_file_moved"].findings, judged["text_file_kept"].findings
    (wrong,) = (finding for finding in moved if finding.rule == "CMP103")
    assert [fix.code for fix in wrong.fixes[:2]] == [REMAP, NON_RESTORED]
    for findings in (moved, kept):
        (unpinned,) = (finding for finding in findings if finding.rule == "CMP104")
        assert "FileSource" in unpinned.fixes[0].text
        assert not has_edit(unpinned)


@pytest.mark.parametrize(
    ("name", "lines", "level"),
    [
        *[(name, lines, "error") for name, lines in REPAIRED.items()],
        *[(name, lines, "warning") for name, lines in REPAIRED_TO_THE_LAST_WARNING.items()],
    ],
)
def test_the_repair_leads_to_success_and_changes_only_the_lines_needed(
    name: str, lines: int, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (pair,) = (pair for pair in PAIRS if pair.name == name)
    assert not isinstance(pair.new, Saved)
    given = comparison_of(pair, tmp_path / "programs")
    before = Path(given.new).read_text(encoding="utf-8").splitlines()
    cluster = [argument for key, value in CLUSTER.items() for argument in ("-D", f"{key}={value}")]
    names = [] if given.names is None else ["--names", given.names]
    result = CliRunner().invoke(
        main, ["check", given.old, given.new, *names, "--fix", "--fail-on", level, "--flink", pair.flink, *cluster]
    )
    assert result.exit_code == 0, result.output
    after = Path(given.new).read_text(encoding="utf-8").splitlines()
    assert len(after) == len(before)
    changed = [line for was, line in zip(before, after, strict=True) if was != line]
    assert len(changed) == lines
    assert all(any(f".{method}(" in line for method in SAFE) for line in changed)
