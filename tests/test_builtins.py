"""No comprehension's variable hides a builtin that its function calls: Python 3.12.0 to 3.12.2 take the builtin for unbound."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILTINS = frozenset(dir(builtins))


def hidden(source: str) -> set[str]:
    """The builtins that a function calls and one of its comprehensions hides."""
    found: set[str] = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes = list(ast.walk(function))
            targets = [node.target for node in nodes if isinstance(node, ast.comprehension)]
            variables = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
            found |= variables & calls & BUILTINS
    return found


@pytest.mark.parametrize("folder", ["compat", "compiler", "state"])
def test_no_comprehension_hides_a_builtin_that_is_called(folder: str) -> None:
    links = [path for path in (ROOT / folder).iterdir() if path.is_symlink()]
    files = [path for path in (ROOT / folder).rglob("*.py") if not any(link in path.parents for link in links)]
    assert files
    assert {str(path): names for path in files if (names := hidden(path.read_text(encoding="utf-8")))} == {}


def test_one_that_does_is_seen() -> None:
    assert hidden("def f(x):\n    y = [id for id in x]\n    return {id(one): y for one in x}\n") == {"id"}
    assert hidden("def f(x):\n    return [id(one) for one in x]\n") == set()
