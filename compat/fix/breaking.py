"""Breaks a statement that an added call made too long, in the style of black and ruff.

A chain of calls that is assigned gets one line per call, in parentheses; otherwise the arguments of the last call that
begins within the line go to a separate line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

DEFAULT_WIDTH = 88
"""The default line width: that of black and ruff."""

_STEP = "    "
_SETTINGS = (
    ("pyproject.toml", ("tool", "ruff")),
    ("pyproject.toml", ("tool", "black")),
    ("ruff.toml", ()),
    (".ruff.toml", ()),
)


def width_of(path: Path) -> int:
    """The line width that a file's project configures for its formatter."""
    for folder in path.resolve().parents:
        for name, keys in _SETTINGS:
            found = _table(folder / name)
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
            width = found.get("line-length") if isinstance(found, dict) else None
            if isinstance(width, int) and width > 0:
                return width
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            break
    return DEFAULT_WIDTH


def _table(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def broken(
    statement: cst.SimpleStatementLine, before: cst.SimpleStatementLine, indent: str, width: int
) -> cst.SimpleStatementLine:
    """The statement on several lines if an edit of ``before`` made its line too long, else unchanged. A statement that
    was too long or on several lines before stays as it is, as its style is unknown.
    """
    text, old = _code(statement), _code(before)
    if "\n" in text or len(indent + text) <= width or len(indent + old) > width or len(statement.body) != 1:
        return statement
    (small,) = statement.body
    value = small.value if isinstance(small, cst.Assign | cst.AnnAssign | cst.Expr | cst.Return) else None
    if not isinstance(value, cst.Call) or value.lpar:
        return statement
    if not isinstance(small, cst.Expr) and len(list(_dots(value))) > 1:
        rows: cst.Call | None = _fluent(value, len(indent), width)
    else:
        rows = _hanging(value, text.index(_text(value)) + len(indent), len(indent), width)
    return statement if rows is None else statement.with_deep_changes(small, value=rows)


def _code(statement: cst.SimpleStatementLine) -> str:
    """A statement's own text, without the lines above it and anything that follows on its line."""
    bare = statement.with_changes(leading_lines=(), trailing_whitespace=cst.TrailingWhitespace())
    return cst.Module(body=[bare]).code.rstrip("\n")


def _text(node: cst.BaseExpression) -> str:
    return cst.Module(body=[]).code_for_node(node)


def _chain(value: cst.Call) -> Iterator[cst.Call]:
    """The calls of a chain, the last first."""
    node: cst.BaseExpression = value
    while True:
        if isinstance(node, cst.Call):
            yield node
            node = node.func
        elif isinstance(node, cst.Attribute):
            node = node.value
        else:
            return


def _dots(value: cst.Call) -> Iterator[cst.Attribute]:
    """The attributes after which the calls of a chain come."""
    for call in _chain(value):
        if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Call):
            yield call.func


def _newline(indent: str) -> cst.ParenthesizedWhitespace:
    return cst.ParenthesizedWhitespace(
        first_line=cst.TrailingWhitespace(), indent=True, last_line=cst.SimpleWhitespace(indent)
    )


def _fluent(value: cst.Call, indent: int, width: int) -> cst.Call:
    """The chain with one line per call, in parentheses."""

    def row(node: cst.BaseExpression) -> cst.BaseExpression:
        if isinstance(node, cst.Call):
            start = node.func.value if isinstance(node.func, cst.Attribute) else None
            call = node.with_changes(func=row(node.func))
            own = _text(node) if not isinstance(start, cst.Call) else _text(node)[len(_text(start)) :]
            return _with_hanging(call, _STEP) if indent + len(_STEP) + len(own) > width and node.args else call
        if isinstance(node, cst.Attribute):
            behind = isinstance(node.value, cst.Call)
            dot = node.dot.with_changes(whitespace_before=_newline(_STEP)) if behind else node.dot
            return node.with_changes(value=row(node.value), dot=dot)
        return node

    made = row(value)
    assert isinstance(made, cst.Call)
    return made.with_changes(
        lpar=[cst.LeftParen(whitespace_after=_newline(_STEP))], rpar=[cst.RightParen(whitespace_before=_newline(""))]
    )


def _hanging(value: cst.Call, start: int, indent: int, width: int) -> cst.Call | None:
    """The chain with the arguments of one call on a separate line; None if that does not help."""
    whole = _text(value)
    for call in _chain(value):
        head = len(_text(call.func)) + 1
        arguments = _text(call)[head:-1]
        tail = whole[len(_text(call)) :]
        fits = (
            start + head <= width and indent + len(_STEP) + len(arguments) <= width and indent + 1 + len(tail) <= width
        )
        if call.args and fits:
            changed = value.deep_replace(call, _with_hanging(call, ""))
            assert isinstance(changed, cst.Call)
            return changed
    return None


def _with_hanging(call: cst.Call, indent: str) -> cst.Call:
    *others, last = call.args
    last = last.with_changes(whitespace_after_arg=_newline(indent), comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=[*others, last], whitespace_before_args=_newline(indent + _STEP))
