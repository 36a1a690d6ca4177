"""Savepoints under other ids that Flink restored: made again they have the same bytes, and its operators find their state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.state.flink import read_metadata
from tests import needs
from tests.needs import Need

GOLDEN = Path(__file__).parents[2] / "golden" / "savepoints_remapped"
CASES = json.loads((GOLDEN / "results.json").read_text())
REMAPPED = [(name, way) for name, case in CASES.items() for way in case["maps"]]
EVERY = {"left 0": 500, "left 1": 500, "left 2": 500} | {f"right {rest}": 300 for rest in range(5)}


def remap(name: str, out: Path, way: str, *options: str) -> None:
    maps = [part for change in CASES[name]["maps"][way] for part in ("--map", change)]
    result = CliRunner().invoke(main, ["remap", str(GOLDEN / CASES[name]["saved"]), str(out), *maps, *options])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("name", "way"), REMAPPED)
def test_made_again_it_has_the_bytes_that_flink_restored(name: str, way: str, tmp_path: Path) -> None:
    options = ["--copy"] if way == "copied" else ["--location", CASES[name]["written_at"]]
    remap(name, tmp_path / "out", way, *options)
    assert (tmp_path / "out" / "_metadata").read_bytes() == (GOLDEN / name / way / "_metadata").read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_flink_refused_the_savepoint_as_it_was(name: str) -> None:
    refused = CASES[name]["restores"]["without_remap"]
    assert not refused["restored"]
    assert "Cannot map checkpoint/savepoint state for operator" in refused["message"]


@pytest.mark.parametrize(("name", "way"), REMAPPED)
def test_flink_restored_all_state(name: str, way: str) -> None:
    """The source went on where it was, every count is that of a job that never stopped, and files hold each line once."""
    before, restored = CASES[name]["lines_before"], CASES[name]["restores"][way]
    assert 0 < before < restored["lines"] == 3000
    assert (restored["every_line_once"], restored["counts"], restored["seen"]) == (True, EVERY, 1500)


def test_flink_handed_state_to_the_wrong_operators_before_they_changed_places() -> None:
    for case in CASES.values():
        if "swapped" in case["maps"]:
            assert case["restores"]["unswapped"]["restored"]
            assert not case["restores"]["unswapped"]["every_line_once"]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.20.0", "2.3.0"])
def test_flinks_operators_restore_it(version: str, tmp_path: Path) -> None:
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.java import find_java
    from compat.loader.jvm.messages import JarProgram, Limit, Restore
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import built, flink_of

    try:
        java = find_java()
    except JvmError as error:
        needs.without(Need.JAVA, error)
    jar = str(GOLDEN / f"counting-{version}.jar")
    program = JarProgram(path=jar, main_class="Counting", arguments=("finish", "hashmap", "/nowhere", "new"))
    names = [name for name, case in CASES.items() if case["version"] == version]
    folders = [GOLDEN / CASES[name]["saved"] for name in names]
    for name in names:
        # Of merged files there are only references, to where they were.
        if "copied" in CASES[name]["maps"]:
            remap(name, tmp_path / name, "copied", "--copy")
            folders.append(tmp_path / name)
    limit = Limit(entries=1000, seconds=60)
    wanted = [
        Restore(metadata=(folder / "_metadata").read_bytes(), folder=str(folder), limit=limit) for folder in folders
    ]
    (outcome,) = built([(program, wanted)], flink_of(version), java, JvmOptions(options={}))
    answers = outcome.restored
    assert [answer.failure for answer in answers] == [""] * len(folders)
    before, after = answers[: len(names)], answers[len(names) :]
    assert [answer.operators for answer in before] == [()] * len(names)
    for folder, answer in zip(folders[len(names) :], after, strict=True):
        ids = {operator.id for operator in read_metadata(folder).operators}
        assert {operator.operator_id for operator in answer.operators} <= ids
        tried = [attempt for operator in answer.operators for attempt in operator.attempts]
        assert [attempt.failure for attempt in tried] == [None] * len(tried)
        assert not any(state.missing for operator in answer.operators for state in operator.states)
        rehearsed = [state for operator in answer.operators for state in operator.rehearsal.states]
        assert [state.failure for state in rehearsed] == [None] * len(rehearsed)
        kept = [state.read for state in rehearsed if state.name == "count"]
        assert kept
        assert sorted(kept) == sorted([3, 5] * (len(kept) // 2))


def test_a_checkpoint_with_merged_files_restores_into_the_program_that_wrote_it(flink, java) -> None:
    (chk,) = (GOLDEN / "2.3.0-merging").glob("*/chk-*")
    program = [str(GOLDEN / "counting-2.3.0.jar"), "--main-class", "Counting"]
    arguments = ["--new-args", "finish hashmap /nowhere old", "--classpath", ":".join(flink.classpath)]
    result = CliRunner().invoke(main, ["check", str(chk), *program, *arguments])
    assert result.exit_code == 0, result.output
    assert "CMP418" not in result.output
