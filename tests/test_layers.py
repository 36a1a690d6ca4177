"""Imports go downwards only: compat → compiler → state, and from layer to layer inside each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PACKAGES = ("compat", "compiler", "state")
"""The folders from the top to the bottom."""

LAYERS = {
    "compat": (
        {"__main__", "pytest_plugin", "pyflink"},
        {"cli", "testing", "api"},
        {"cluster", "execution", "service", "fix", "migration", "schemas", "settings"},
        {"report", "view"},
        {"diagnosis"},
        {"comparison", "refusals", "sides"},
        {"check"},
        {"running"},
        {"savepoint", "tables"},
        {"loader"},
        {"plan"},
        {"deployment", "transport"},
        {"__init__", "escaping", "examples"},
    ),
    "compiler": (
        {"spark"},
        {"driver"},
        {"executiongraph"},
        {"jobgraph"},
        {"streamgraph"},
        {"datastream", "topology"},
        {"job", "shipping"},
        {"transformations"},
        {"__init__", "configuration", "control_group", "errors", "gc_policy", "own_code", "versions"},
    ),
    "state": (
        {"assignment", "compatibility", "delta", "flink", "stores"},
        {"serializers"},
        {"descriptors", "types"},
        {"model"},
        {"__init__", "key_groups", "names", "rows", "safe_open", "tar", "time", "ttl"},
    ),
}
"""What each folder holds, from the top to the bottom; what stands on one line may import one another."""

ROOMS = {
    "compiler/spark": (
        {"driver"},
        {"task"},
        {"flink", "operators"},
        {"state"},
        {"connectors"},
        {"plan"},
        {"environment", "resources"},
        {"runtime_api"},
        {"__init__"},
    ),
}
"""The same of folders in which there is much."""

EXCEPTIONS = {
    # get_execution_plan() of PyFlink's API prints the stream graph.
    ("compiler/datastream/stream_execution_environment.py", "compiler/streamgraph"),
    # The package's own names are there without importing anything until somebody asks for them.
    ("compat/__init__.py", "compat/api"),
    ("compat/__init__.py", "compat/check"),
    ("compat/__init__.py", "compat/loader"),
    ("compat/__init__.py", "compat/plan"),
}
"""Imports that go up: a file, and the layer that it imports from."""


def files(package: str) -> Iterator[Path]:
    folder = ROOT / package
    links = [path for path in folder.iterdir() if path.is_symlink()]
    return (path for path in folder.rglob("*.py") if not any(link in path.parents for link in links))


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it; a name out of a package counts as a module of it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def place(module: str) -> tuple[str, str] | None:
    """The folder and the layer that a module of ours belongs to; None for any other."""
    names = module.split(".")
    if names[0] != "compat":
        return None
    if len(names) > 1 and names[1] in PACKAGES:
        return _place(names[1], names[2:])
    return _place("compat", names[1:])


def _place(package: str, below: list[str]) -> tuple[str, str]:
    known = {name for layer in LAYERS[package] for name in layer}
    return package, below[0] if below and below[0] in known else "__init__"


def height(package: str, layer: str) -> int:
    """How far up a layer stands."""
    return next(-number for number, names in enumerate((LAYERS | ROOMS)[package]) if layer in names)


def upwards() -> Iterator[tuple[str, str]]:
    """Every import that goes up: the file, and the layer."""
    for package in PACKAGES:
        for path in files(package):
            layer = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
            for module in imports(path):
                target = place(module)
                if target is None:
                    continue
                if target[0] == package:
                    up = height(*target) > height(package, layer)
                else:
                    up = PACKAGES.index(target[0]) < PACKAGES.index(package)
                if up:
                    yield str(path.relative_to(ROOT)), "/".join(target)


@pytest.mark.parametrize("package", [*PACKAGES, *ROOMS])
def test_every_part_has_a_layer(package: str) -> None:
    found = {path.relative_to(ROOT / package).parts[0].removesuffix(".py") for path in files(package)}
    listed = [name for layer in (LAYERS | ROOMS)[package] for name in layer]
    assert sorted(listed) == sorted(found)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_down_within_a_room(room: str) -> None:
    known, prefix = {name for layer in ROOMS[room] for name in layer}, f"compat.{room.replace('/', '.')}."
    up = [
        (str(path.relative_to(ROOT)), module)
        for path in files(room)
        for module in imports(path)
        if (target := module.removeprefix(prefix).partition(".")[0]) in known and module.startswith(prefix)
        if height(room, target) > height(room, path.relative_to(ROOT / room).parts[0].removesuffix(".py"))
    ]
    assert up == []


def test_imports_go_down_but_for_the_exceptions_and_each_of_these_is_used() -> None:
    assert set(upwards()) == EXCEPTIONS


@pytest.mark.parametrize("layer", ["plan", "loader", "savepoint", "check"])
def test_what_decides_knows_nothing_of_reports_and_the_command_line(layer: str) -> None:
    for path in (ROOT / "compat" / layer).rglob("*.py"):
        assert not {name for name in imports(path) if name.startswith(("compat.report", "compat.cli"))}, path


def test_the_service_answers_without_reports_and_the_command_line() -> None:
    for path in (ROOT / "compat" / "service" / "api").rglob("*.py"):
        assert not {name for name in imports(path) if name.startswith(("compat.report", "compat.cli"))}, path


def test_the_short_names_of_the_folders_are_not_imported() -> None:
    for folder in (*PACKAGES, "tests"):
        for path in files(folder):
            assert not {name for name in imports(path) if name.partition(".")[0] in ("compiler", "state")}, path


def homemade_records(path: Path) -> Iterator[str]:
    """The classes of a file that are immutable data classes, and its makers of records."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for decorator in getattr(node, "decorator_list", ()):
            name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]
            given = {each.arg for each in decorator.keywords} if isinstance(decorator, ast.Call) else set()
            if name == "dataclass_transform" or (name == "dataclass" and "frozen" in given):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_immutable_records_are_structs(package: str) -> None:
    assert [found for path in files(package) for found in homemade_records(path)] == []


def test_what_is_no_struct_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "one.py"
    written.write_text(
        "@dataclass(frozen=True)\nclass A: ...\n@dataclasses.dataclass(slots=True, frozen=True)\nclass B: ...\n"
        "@dataclass(slots=True)\nclass C: ...\n@typing.dataclass_transform()\ndef record(cls): ...\n",
        encoding="utf-8",
    )
    monkeypatch.setattr("tests.test_layers.ROOT", tmp_path)
    assert sorted(homemade_records(written)) == ["one.py:2 A", "one.py:4 B", "one.py:8 record"]
