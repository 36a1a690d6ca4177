"""``compat remap``: the command, its output and its exit codes; a check of what it wrote is the one of a repaired program."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.compiler.streamgraph.hashing import uid_hash
from compat.state.flink import read_metadata

GOLDEN = Path(__file__).parents[2] / "golden"
SMALL = GOLDEN / "savepoints" / "small_uid_p2_canonical"
OF_1_20 = GOLDEN / "savepoints" / "flink_1_20_small_uid_canonical"
FILES = GOLDEN / "savepoints" / "broadcast_p2_native_files"
PAIRS = GOLDEN / "savepoints_of_pairs"
PROGRAMS = GOLDEN / "pyflink-2.3" / "programs" / "pairs"
COUNT = "b71731f1c0df9c3076c4a455334d0ad6"


def run(*arguments, command="remap"):
    result = CliRunner().invoke(main, [command, *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ids(folder):
    return {operator.id for operator in read_metadata(folder).operators}


def test_it_shows_what_was_mapped_and_what_to_run_next(tmp_path):
    result = run(SMALL, tmp_path / "out", "--map", "count=counter")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"{tmp_path}/out holds {SMALL} with other ids for 1 of 4 operators; all else is the same."
    (new,) = ids(tmp_path / "out") - ids(SMALL)
    assert new == uid_hash("counter")
    assert lines[1] == f"  'Count' ({COUNT}) -> {new} (uid 'counter')"
    out = shlex.quote(f"{tmp_path}/out")
    assert lines[-1] == f"Next: compat check {out} new.py, then: flink run -s {out}"
    assert len(lines) == 3


def test_there_and_back_gives_the_same_bytes(tmp_path):
    assert run(SMALL, tmp_path / "there", "--map", "count=counter").exit_code == 0
    assert run(tmp_path / "there", tmp_path / "back", "--map", "counter=count").exit_code == 0
    assert (tmp_path / "back" / "_metadata").read_bytes() == (SMALL / "_metadata").read_bytes()


def test_an_old_savepoint_knows_no_names_and_still_a_uid(tmp_path):
    assert run(OF_1_20, tmp_path / "out", "--map", "count=counter").exit_code == 0
    assert len(ids(tmp_path / "out") - ids(OF_1_20)) == 1


@pytest.mark.parametrize(
    "pair", ["uids_added", "branches_swapped_no_uid", "operator_inserted_no_uid"], ids=lambda pair: pair
)
def test_a_report_tells_the_map_and_the_check_then_passes(pair, tmp_path):
    old, new = PROGRAMS / pair / "old.py", PROGRAMS / pair / "new.py"
    report, out = tmp_path / "report.json", tmp_path / "out"
    assert run(PAIRS / pair, new, "--names", old, "--output", f"json={report}", command="check").exit_code == 1
    result = run(PAIRS / pair, out, "--from-check", report)
    assert result.exit_code == 0, result.stderr
    assert f"compat check {shlex.quote(str(out))} {shlex.quote(str(new))}" in result.stdout
    assert run(out, new, command="check").exit_code == 0


def test_state_without_an_heir_is_named(tmp_path):
    pair, report = "operator_removed", tmp_path / "report.json"
    run(PAIRS / pair, PROGRAMS / pair / "new.py", "--output", f"json={report}", command="check")
    result = run(PAIRS / pair, tmp_path / "out", "--from-check", report, "--map", "count=counter")
    assert "not mapped, as the report knows no operator of NEW for it: 'count3'" in result.stdout
    result = run(PAIRS / pair, tmp_path / "again", "--from-check", report)
    assert (result.exit_code, "nothing to map" in result.stderr) == (2, True)


def test_names_come_from_the_program_that_wrote_it(tmp_path):
    pair = "branches_swapped_no_uid"
    named = ["--map", "by three=a", "--map", "by four=b"]
    result = run(PAIRS / pair, tmp_path / "out", *named, "--names", PROGRAMS / pair / "old.py")
    assert result.exit_code == 0, result.stderr
    assert {operator.uid for operator in read_metadata(tmp_path / "out").operators} >= {"a", "b"}


def test_a_dry_run_writes_nothing(tmp_path):
    result = run(SMALL, tmp_path / "out", "--map", "count=counter", "--dry-run")
    assert result.exit_code == 0
    assert "'Count'" in result.stdout
    assert "Nothing was written." in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_state_files_are_referred_to(tmp_path):
    savepoint = shutil.copytree(FILES, tmp_path / "savepoint")
    result = _any_operator(savepoint, tmp_path)
    assert f"It refers to the state files of {savepoint}" in result.stdout
    assert run(tmp_path / "out", command="inspect").exit_code == 0
    shutil.rmtree(savepoint)
    assert run(tmp_path / "out", command="inspect").exit_code == 1


def test_state_files_are_copied(tmp_path):
    savepoint = shutil.copytree(FILES, tmp_path / "savepoint")
    result = _any_operator(savepoint, tmp_path, "--copy")
    assert "state files were copied" in result.stdout
    shutil.rmtree(savepoint)
    assert run(tmp_path / "out", command="inspect").exit_code == 0


def test_a_location_is_where_flink_finds_the_files(tmp_path):
    shutil.copy(FILES / "_metadata", tmp_path)
    assert _any_operator(tmp_path, tmp_path, "--location", "s3://bucket/savepoint-1").exit_code == 0
    assert b"s3://bucket/savepoint-1/" in (tmp_path / "out" / "_metadata").read_bytes()


def _any_operator(savepoint, folder, *options):
    operator = read_metadata(savepoint).operators[0]
    return run(savepoint, folder / "out", "--map", f"{operator.id}=other", *options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SMALL, "out"], "--map OLD=NEW, or --from-check REPORT"),
        ([SMALL, "out", "--map", "count"], "not of the form OLD=NEW"),
        ([SMALL, "out", "--map", "cuont=x"], "Nearest: 'count'"),
        ([SMALL, "out", "--map", "count=x", "--copy", "--location", "s3://b"], "--location says where"),
        ([SMALL, "out", "--map", "count=x", "--location", "b"], "--location 'b'"),
        ([SMALL, "nosuch://b/out", "--map", "count=x"], "this storage cannot be reached"),
        ([SMALL, SMALL, "--map", "count=x"], "something is there already"),
        (["nowhere", "out", "--map", "count=x"], "CMP501"),
        (["missing", "out", "--map", "count=x"], "CMP501"),
        ([SMALL, "out", "--map", "count=x", "--names", "nowhere.py"], "nowhere.py"),
        ([SMALL, "out", "--from-check", "report.json"], "no report of compat check"),
    ],
)
def test_what_cannot_be_ends_with_2_and_writes_nothing(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FILES, tmp_path / "missing")
    for path in (tmp_path / "missing").iterdir():
        if path.name != "_metadata":
            path.unlink()
    operator = read_metadata("missing").operators[0].id
    Path("report.json").write_text("{}")
    before = sorted(Path().rglob("*"))
    given = [str(one).replace("count=x", f"{operator}=x") if arguments[0] == "missing" else one for one in arguments]
    result = run(*given)
    assert result.exit_code == 2
    assert said in result.stderr
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("end", [8, 500, -1], ids=str)
def test_metadata_that_is_cut_is_refused(end, tmp_path):
    (tmp_path / "_metadata").write_bytes((SMALL / "_metadata").read_bytes()[:end])
    result = run(tmp_path, tmp_path / "out", "--map", "count=x")
    assert (result.exit_code, result.stderr.startswith("CMP501")) == (2, True)
    assert not (tmp_path / "out").exists()


def test_names_of_others_act_on_no_terminal(tmp_path):
    data = (SMALL / "_metadata").read_bytes()
    assert data.count(b"\0\5Count") == 1
    (tmp_path / "_metadata").write_bytes(data.replace(b"\0\5Count", b"\0\5\x1b[1mC"))
    result = run(tmp_path, tmp_path / "out", "--map", "count=\x1b[2J")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\\x1b[1mC" in result.stdout


def test_it_needs_neither_spark_nor_a_jvm(tmp_path):
    script = (
        "import sys; from compat.cli import main\n"
        f"main(['remap', {str(SMALL)!r}, {str(tmp_path / 'out')!r}, '--map', 'count=x'], standalone_mode=False)\n"
        "print(sorted({'pyspark', 'pandas', 'deltalake', 'jpype', 'deepdiff'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("names", [True, False])
def test_a_report_names_the_heirs_that_are_certain(names, tmp_path):
    pair, report = PROGRAMS / "uids_added", tmp_path / "report.json"
    told = ["--names", pair / "old.py"] if names else []
    run(PAIRS / "uids_added", pair / "new.py", *told, "--output", f"json={report}", command="check")
    rows = json.loads(report.read_text())["mapping"]
    heirs = {row["old"]["name"]: row["successor"]["uid"] for row in rows if row["successor"] is not None}
    assert heirs == {"Source: numbers": "numbers"} | ({"KEYED PROCESS": "count"} if names else {})
