"""Imports go down the stream only."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ORDER = ("datastream", "transformations", "streamgraph", "jobgraph", "executiongraph", "spark")
MAY_IMPORT_UP = {
    # The call get_execution_plan() of the API prints a graph; the runtime runs functions of the API.
    "compiler/datastream/stream_execution_environment.py",
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("layer", ORDER[1:-1])
def test_a_graph_layer_knows_nothing_of_what_comes_after_it(layer):
    later = {f"compat.compiler.{name}" for name in ORDER[ORDER.index(layer) + 1 :]}
    for path in (ROOT / "compiler" / layer).rglob("*.py"):
        found = {name for name in imports(path) if any(name == x or name.startswith(x + ".") for x in later)}
        assert not found, path


def test_state_knows_neither_compiler_nor_compat():
    for path in (ROOT / "state").rglob("*.py"):
        assert not {
            name for name in imports(path) if name.startswith("compat.") and not name.startswith("compat.state.")
        }, path


def test_the_compiler_knows_nothing_of_what_a_person_touches():
    for path in (ROOT / "compiler").rglob("*.py"):
        ours = {name for name in imports(path) if name.partition(".")[0] == "compat"}
        assert not {name for name in ours if not name.startswith(("compat.compiler", "compat.state"))}, path


def test_the_short_names_of_the_folders_are_not_imported():
    for folder in ("compat", "compiler", "state", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not {name for name in imports(path) if name.partition(".")[0] in ("compiler", "state")}, path
