"""Files of Python: which are programs, and which are modules that others import."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_HARMLESS = ("sys.path.", "logging.", "warnings.")
"""Calls on the first level of a file that modules make, too."""

_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SIMPLE = (*_DEFINED, ast.Import, ast.ImportFrom, ast.Pass, ast.Delete, ast.Raise)


def is_program(source: bytes) -> bool:
    """Whether a file does something when it is run, besides defining names. True for what cannot be read."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    own = {node.name for node in ast.walk(tree) if isinstance(node, _DEFINED)}
    return any(_does(statement, own) for statement in tree.body)


def _does(statement: ast.stmt, own: set[str]) -> bool:
    if isinstance(statement, _SIMPLE):
        return False
    match statement:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call() as call):
            return not ast.unparse(call.func).startswith(_HARMLESS)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return any(
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in own
                for node in ast.walk(statement)
            )
        case ast.If(test=test) if "__main__" in ast.unparse(test):
            return True
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
            return any(_does(one, own) for one in _within(statement))
    return True


def _within(statement: ast.stmt) -> Iterator[ast.stmt]:
    bodies: Sequence[ast.AST] = list(ast.iter_child_nodes(statement))
    for node in bodies:
        if isinstance(node, ast.stmt):
            yield node
        elif isinstance(node, ast.ExceptHandler):
            yield from node.body
