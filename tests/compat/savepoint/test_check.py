"""``compat check`` with savepoints, as a person calls it: exit codes, formats, names, folders, missing files."""

from __future__ import annotations

import json
import shlex
import shutil
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from compat.cli import main
from tests.compat.savepoint.conftest import GOLDEN, SAVEPOINTS, saved

SMALL = "small_uid_p2_canonical"
UNNAMED = "small_uid_p2_canonical_as_v3"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "count.py"
    path.write_text(saved(SMALL)["program"], encoding="utf-8")
    return path


def run(*arguments):
    result = CliRunner().invoke(main, ["check", "-D", "parallelism.default=2", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def quoted(path):
    return shlex.quote(str(path))


def words(result):
    """The output without line breaks: paragraphs are wrapped, and names of folders may be long."""
    return " ".join(result.stdout.split())


def moved(program):
    """The program with another uid on the operator that counts."""
    program.write_text(program.read_text(encoding="utf-8").replace('uid("count")', 'uid("total")'), encoding="utf-8")
    return program


def test_compatible_names_the_command_to_run(program):
    result = run(SAVEPOINTS / SMALL, program)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"COMPATIBLE: {program} restores the state of {SAVEPOINTS / SMALL} (2 operators")
    assert result.stdout.splitlines()[-1] == (
        f"Next: flink run -s {quoted(SAVEPOINTS / SMALL)} -Dparallelism.default=2 -py {quoted(program)}"
    )


def test_the_metadata_itself_and_a_file_uri_mean_the_savepoint(program):
    assert run(SAVEPOINTS / SMALL / "_metadata", program).exit_code == 0
    assert run(f"file://{SAVEPOINTS / SMALL}", program).exit_code == 0


def test_every_format_takes_a_savepoint(program):
    formats = ("text", "concise", "json", "github", "sarif", "junit", "markdown", "html")
    folder = program.parent
    outputs = [option for name in formats for option in ("--output", f"{name}={folder / name}")]
    assert run(SAVEPOINTS / SMALL, moved(program), *outputs).exit_code == 1
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in formats}
    metadata = str(SAVEPOINTS / SMALL / "_metadata")
    assert f"{metadata} -> {program}:" in " ".join(texts["text"].split())
    (finding,) = [one for one in json.loads(texts["json"])["findings"] if one["rule"] == "CMP102"]
    assert finding["old_line"] == {"file": metadata, "line": None}
    assert finding["new_line"]["file"] == str(program)
    assert json.loads(texts["json"])["old"]["kind"] == "savepoint"
    assert "relatedLocations" in json.loads(texts["sarif"])["runs"][0]["results"][0]
    assert ElementTree.fromstring(texts["junit"]).get("failures") == "1"  # one a job
    assert all("CMP102" in text for text in texts.values())


def test_a_cut_savepoint_is_undecided_and_says_at_which_byte(program, tmp_path):
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "_metadata").write_bytes((SAVEPOINTS / SMALL / "_metadata").read_bytes()[:2000])
    result = run(tmp_path / "cut", program)
    assert result.exit_code == 2
    assert "CMP501" in result.stdout
    assert "_metadata, byte " in words(result)
    assert "What to do: Copy the savepoint again" in words(result)
    assert result.stdout.splitlines()[-1] == "Next: compat rule CMP501"


@pytest.mark.parametrize("name", ["s3://bucket/savepoint-1", "file:///nowhere/at/all"])
def test_what_is_not_there_is_undecided(name, program):
    result = run(name, program)
    assert result.exit_code == 2
    assert "CMP501" in result.stdout


def test_a_folder_without_savepoint_says_what_to_name(program, tmp_path):
    (tmp_path / "empty").mkdir()
    result = run(tmp_path / "empty", program)
    assert result.exit_code == 2
    assert "has no file _metadata" in result.stdout


def test_missing_state_files_are_an_error(tmp_path):
    written = saved("broadcast_p2_native_files")
    (tmp_path / "job.py").write_text(written["program"], encoding="utf-8")
    folder = shutil.copytree(written["path"], tmp_path / "savepoint")
    gone = sorted(path.name for path in folder.iterdir() if path.name != "_metadata")[0]
    (folder / gone).unlink()
    result = run(folder, tmp_path / "job.py")
    assert result.exit_code == 1
    assert "error CMP502 savepoint-incomplete" in result.stdout
    assert gone in result.stdout
    assert f"{gone} (missing)" in words(result)


def test_state_on_other_storage_is_told_and_not_fetched(tmp_path):
    written = saved("small_rocksdb_incremental_checkpoint")
    (tmp_path / "job.py").write_text(written["program"], encoding="utf-8")
    data = (written["path"] / "_metadata").read_bytes()
    assert b"file:/" in data
    (tmp_path / "chk-5").mkdir()
    # Of equal length, so that nothing else moves.
    (tmp_path / "chk-5" / "_metadata").write_bytes(data.replace(b"file:/", b"s3:///"))
    same = tmp_path / "job.py"
    result = run(tmp_path / "chk-5", same, "-D", "state.backend.type=rocksdb", "--names", same)
    assert result.exit_code == 0  # the header with the states stands in the metadata
    assert "note CMP502" in result.stdout
    assert "2 state files are on other storage and were not looked at" in words(result)


# Names


def test_without_names_an_operator_is_called_by_its_id(program):
    result = run(SAVEPOINTS / UNNAMED, moved(program))
    assert result.exit_code == 1
    assert "operator b71731f1 [" in result.stdout or "'operator b71731f1'" in result.stdout
    assert "is a guess" in words(result)
    assert '.set_uid_hash("b71731f1c0df9c3076c4a455334d0ad6")' in result.stdout


def test_a_table_of_uids_gives_names_back(program, tmp_path):
    (tmp_path / "uids.csv").write_text("# uid, name\ncount, Count\nn\nunheard-of\n", encoding="utf-8")
    result = run(SAVEPOINTS / UNNAMED, moved(program), "--names", tmp_path / "uids.csv")
    assert result.exit_code == 1
    assert "'Count' (uid 'count')" in result.stdout


def test_the_program_that_wrote_it_gives_names_lines_and_types(program, tmp_path):
    old = shutil.copy(program, tmp_path / "old.py")
    result = run(SAVEPOINTS / UNNAMED, moved(program), "--names", old)
    assert result.exit_code == 1
    assert "the id of 'Count' (uid 'count') has moved" in result.stdout
    assert f"{old}:" in words(result)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no names"),
        ("a,b,c", "a line is a uid"),
        (",name", "a line is a uid"),
        ('"open', "not a line of a table"),
    ],
)
def test_a_table_that_is_none_is_undecided(text, says, program, tmp_path):
    (tmp_path / "uids.txt").write_text(text, encoding="utf-8")
    result = run(SAVEPOINTS / UNNAMED, program, "--names", tmp_path / "uids.txt")
    assert result.exit_code == 2
    assert says in words(result)


def test_a_program_of_names_that_fails_is_undecided(program, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    result = run(SAVEPOINTS / UNNAMED, program, "--names", tmp_path / "broken.py")
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stdout


# Folders of savepoints


def test_all_savepoints_of_a_folder_are_judged_and_the_worst_decides(program, tmp_path):
    for name in (SMALL, UNNAMED, "stateless_keyed_canonical"):
        shutil.copytree(SAVEPOINTS / name, tmp_path / "all" / name)
    good = run("--savepoints", tmp_path / "all", program, "--output", "json")
    assert good.exit_code == 1
    verdicts = {
        report["old"]["name"].rpartition("/")[2]: report["verdict"] for report in json.loads(good.stdout)["reports"]
    }
    assert verdicts == {SMALL: "compatible", UNNAMED: "compatible", "stateless_keyed_canonical": "incompatible"}
    shutil.rmtree(tmp_path / "all" / "stateless_keyed_canonical")
    assert run("--savepoints", tmp_path / "all", program).exit_code == 0
    (tmp_path / "all" / SMALL / "_metadata").write_bytes(b"\x49\x60\x67\x2d\0\0\0\x63")
    mixed = run("--savepoints", tmp_path / "all", program, "--output", "concise")
    assert mixed.exit_code == 2
    (failure,) = mixed.stdout.splitlines()
    assert "CMP501 failure" in failure


def test_a_checkpoint_folder_is_found_below_the_jobs(program, tmp_path):
    shutil.copytree(GOLDEN / "savepoints" / "small_file_merging_checkpoint", tmp_path / "checkpoints" / "job")
    result = run("--savepoints", tmp_path / "checkpoints", program, "--output", "json")
    assert json.loads(result.stdout)["old"]["name"].endswith("job/chk-5")


def test_a_folder_without_savepoints_is_a_usage_error(program, tmp_path):
    (tmp_path / "empty").mkdir()
    result = run("--savepoints", tmp_path / "empty", program)
    assert result.exit_code == 2
    assert "There is no savepoint below" in result.stderr


def test_a_new_program_that_fails_is_told_once(tmp_path):
    shutil.copytree(SAVEPOINTS / SMALL, tmp_path / "all" / SMALL)
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    result = run("--savepoints", tmp_path / "all", tmp_path / "broken.py")
    assert result.exit_code == 2
    assert result.stdout.count("ZeroDivisionError") == 1  # the message; a traceback of one line would repeat it


def compared(*arguments):
    return CliRunner().invoke(main, ["check", *map(str, arguments)], catch_exceptions=False)


def test_a_savepoint_may_be_held_against_another_one():
    same = compared(SAVEPOINTS / SMALL, SAVEPOINTS / SMALL)
    assert same.exit_code == 0, same.output
    other = compared(SAVEPOINTS / SMALL, SAVEPOINTS / "all_states_hashmap_canonical")
    assert other.exit_code == 1
    assert "error CMP101" in other.stdout


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "markdown", "html", "github", "concise"])
def test_every_format_takes_two_savepoints(tmp_path, form):
    result = compared(SAVEPOINTS / SMALL, SAVEPOINTS / SMALL, "--output", f"{form}={tmp_path / form}")
    assert result.exit_code == 0, result.output
    assert (tmp_path / form).exists()


def test_serializers_that_differ_leave_it_open():
    java = GOLDEN / "java" / "2.3.0"
    result = compared(
        java / "pojo_field_added" / "savepoint", GOLDEN / "java" / "rehearsed" / "kryo_field_removed" / "savepoint"
    )
    assert result.exit_code == 2, result.output
    assert "The state 'st' of 'val' has another serializer. PojoFieldAdded$P became KryoFieldRemoved$P." in words(
        result
    )
    assert "Name the program that is to restore it: compat check SAVEPOINT new.jar." in words(result)


def test_a_savepoint_is_no_program_that_a_program_becomes(program):
    result = run(program, SAVEPOINTS / SMALL)
    assert result.exit_code == 2
    assert "it can be NEW only where OLD is a savepoint of Flink too" in words(result)
    assert run(SAVEPOINTS / SMALL, program, "--rollback").exit_code == 2
