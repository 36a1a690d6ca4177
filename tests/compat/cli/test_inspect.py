"""``compat inspect`` of real savepoints: the output and the exit codes."""

from __future__ import annotations

import json
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
