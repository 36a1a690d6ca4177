"""``compat inspect`` of real savepoints: the output and the exit codes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.savepoint.recorded import read
from tests.state.flink import writer as w

SAVEPOINTS = Path(__file__).parents[2] / "golden" / "savepoints"
SMALL = SAVEPOINTS / "small_uid_p2_canonical"
FILES = SAVEPOINTS / "broadcast_p2_native_files"


def run(*arguments):
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_table_has_a_line_for_each_operator_and_state():
    lines = run(SMALL).stdout.splitlines()
    (count,) = [line for line in lines if line.startswith("Count  uid=count")]
    assert "b71731f1c0df9c3076c4a455334d0ad6  2 of at most 128  64 a subtask, 4 with data  3,130" in count
    (state,) = [line for line in lines if line.startswith("  python-state-count")]
    assert state.split() == ["python-state-count", "KEY_VALUE", "124"]
    assert lines[0].endswith("savepoint, canonical, format 6, checkpoint 1; 4 operators, 3,676 bytes")


@pytest.mark.parametrize(("version", "tail"), [(3, b""), (6, w.JAVA_STREAM + w.JAVA_NULL)])
def test_metadata_without_properties_is_called_neither_savepoint_nor_checkpoint(version, tail, tmp_path):
    """Flink keeps no properties before version 4, and writes null where it has none."""
    (tmp_path / "_metadata").write_bytes(w.metadata(version=version, tail=tail))
    assert f": snapshot, format {version}, checkpoint 7;" in run(tmp_path).stdout
    assert "is_savepoint" not in run(tmp_path, "--format", "json").stdout
    assert read(str(tmp_path)).is_savepoint is None


def test_the_tree_has_keys_and_serializers():
    text = run(SMALL, "--format", "tree").stdout
    assert "├── key  RowSerializer<LongSerializer>" in text
    assert "value_serializer: ListSerializer<BytePrimitiveArraySerializer>" in text
    assert "coordinator  16 bytes" in text


def test_the_tree_says_what_could_not_be_read(tmp_path):
    folder = shutil.copytree(FILES, tmp_path / "savepoint")
    for path in folder.iterdir():
        if path.name != "_metadata":
            path.write_bytes(b"\xff" * path.stat().st_size)
    result = run(folder, "--format", "tree")
    assert result.exit_code == 0
    assert "not read: backend header version -1" in result.stdout


@pytest.mark.parametrize("form", ["text", "tree", "json"])
def test_missing_files_are_named_and_end_with_1(form, tmp_path):
    folder = shutil.copytree(FILES, tmp_path / "savepoint")
    gone = sorted(path.name for path in folder.iterdir() if path.name != "_metadata")[0]
    (folder / gone).unlink()
    result = run(folder, "--format", form)
    assert result.exit_code == 1
    if form == "json":
        assert [file["name"] for file in json.loads(result.stdout)["missing_files"]] == [gone]
    else:
        assert "CMP502: 1 state file is missing:" in result.stdout
        assert f"  {gone} (missing)" in result.stdout


def test_a_moved_checkpoint_finds_its_files(tmp_path):
    folder = shutil.copytree(SAVEPOINTS / "small_rocksdb_incremental_checkpoint", tmp_path / "elsewhere")
    result = run(folder / "chk-5")
    assert result.exit_code == 0
    assert "2 state files" in result.stdout
    shutil.rmtree(folder / "shared", ignore_errors=True)
    shutil.rmtree(folder / "chk-5" / "shared", ignore_errors=True)


def test_what_cannot_be_read_ends_with_2_and_says_at_which_byte(tmp_path):
    data = (SMALL / "_metadata").read_bytes()
    (tmp_path / "_metadata").write_bytes(data[:1000])
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "CMP501" in result.stderr
    assert "byte " in result.stderr
    assert result.stdout == ""


def test_names_cannot_write_to_the_terminal(tmp_path):
    data = (SMALL / "_metadata").read_bytes()
    (tmp_path / "_metadata").write_bytes(data.replace(b"Count", b"\x1b[31m"))
    assert "\x1b" not in run(tmp_path).stdout
    assert "\\x1b[31m  uid=count" in run(tmp_path).stdout


UNNAMED = SAVEPOINTS / "flink_1_20_small_uid_canonical"


def first_lines(*arguments):
    above, _, _ = run(*arguments).stdout.partition("\n\n")
    return dict(line.split(maxsplit=1) for line in above.splitlines()[1:])


def test_what_is_asked_first_stands_first(tmp_path):
    folder = shutil.copytree(SMALL, tmp_path / "savepoint")
    os.utime(folder / "_metadata", (1_767_225_600, 1_767_225_600))
    assert first_lines(folder) == {
        "written": "2026-01-01 00:00:00 UTC (the file's time), by Flink 2.1 or later",
        "largest": "Count 3,130 bytes (python-state-count 124); Source: n 546 bytes (SourceReaderState 62)",
        "keys": "Count by Row<Long>",
        "missing": "nothing",
    }
    folder = shutil.copytree(FILES, tmp_path / "files")
    next(path for path in folder.iterdir() if path.name != "_metadata").unlink()
    assert first_lines(folder)["missing"] == "1 state file, see below"


@pytest.mark.parametrize(
    ("version", "by"),
    [(2, "1.3 to 1.10"), (3, "1.11 to 1.14"), (4, "1.15 to 1.20"), (5, "2.0"), (6, "2.1 or later")],
)
def test_the_format_of_the_metadata_tells_which_flink_wrote_it(version, by, tmp_path):
    (tmp_path / "_metadata").write_bytes(
        w.metadata(version=version, tail=b"" if version < 4 else w.JAVA_STREAM + w.JAVA_NULL)
    )
    assert first_lines(tmp_path)["written"].endswith(f", by Flink {by}")


def test_names_come_from_a_table_or_from_the_program_that_wrote_it(tmp_path):
    assert "names" in first_lines(UNNAMED)
    (tmp_path / "uids.csv").write_text("count,Counter\nn\n")
    told = run(UNNAMED, "--names", tmp_path / "uids.csv").stdout
    assert "Counter  uid=count  " in told
    assert first_lines(UNNAMED, "--names", tmp_path / "uids.csv")["keys"] == "Counter by Row<Long>"
    job = tmp_path / "job.json"
    op = {"id": "n", "kind": "source", "uid": "n", "name": "Numbers"}
    job.write_text(json.dumps({"ops": [op, {"id": "o", "kind": "sink", "inputs": ["n"]}]}))
    found = json.loads(run(UNNAMED, "--names", job, "--format", "json").stdout)
    assert {one["uid"]: one["name"] for one in found["operators"]}["n"] == "Source: Numbers"


def test_names_that_cannot_be_read_end_with_2(tmp_path):
    result = run(UNNAMED, "--names", tmp_path / "no.csv")
    assert result.exit_code == 2
    assert "no.csv: cannot be read" in result.stderr
