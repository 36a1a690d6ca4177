"""The public names of `compat.state.flink`, and the modules that it keeps away from."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import compat.state.flink as package
from compat.state.flink import DamagedSavepoint, SavepointError, errors

MODULES = sorted(Path(package.__file__).parent.glob("*.py"))

OF_RECORDS = {"Struct", "field", "replace", "to_builtins"}
"""What records are made and changed with: msgspec's decoders are not among it."""

OF_THE_CREW = OF_RECORDS | {"msgpack"}
"""Machines that write one savepoint together read each other's results: as records of a given type, never as objects."""


@pytest.mark.parametrize("name", package.__all__)
def test_public_names_are_there_and_documented(name: str) -> None:
    assert getattr(package, name).__doc__


def test_public_names_are_sorted_and_unique() -> None:
    assert package.__all__ == sorted(set(package.__all__))


def test_no_other_names() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        package.nothing_of_the_kind  # noqa: B018


def test_the_error_tree_is_drawn_completely() -> None:
    drawn = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, SavepointError):
            assert name in drawn
            assert name in package.__all__


def test_an_error_says_what_where_why_and_what_to_do() -> None:
    error = DamagedSavepoint("3 legs", path="s/_metadata", offset=9, why="tables have 4")
    assert str(error) == f"s/_metadata, byte 9: 3 legs (tables have 4). {DamagedSavepoint.advice}"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.stem)
def test_only_the_standard_library_and_records_and_no_deserialization(module: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in {"msgspec", "msgspec.structs"}:
            assert {alias.name for alias in node.names} <= (OF_THE_CREW if module.stem == "crew" else OF_RECORDS)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    roots = {name.split(".")[0] for name in imported if not name.startswith("compat.state")}
    # Other storage than the file system, and faster readers of compressed state and checksums where they are installed.
    doors = {"remote": {"fsspec"}, "snappy": {"pyarrow"}, "checksums": {"google_crc32c", "xxhash"}}
    door = doors.get(module.stem, set())
    assert roots <= set(sys.stdlib_module_names) | door
    assert not roots & {"pickle", "marshal", "shelve", "socket", "subprocess", "http", "ctypes"}


def test_importing_the_package_imports_little() -> None:
    code = "import sys, compat.state.flink; print(*(m for m in sys.modules if m.startswith('compat.state.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["compat.state.flink", "compat.state.flink.errors"]
