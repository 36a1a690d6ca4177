"""The names that each line of a program's file loads, and their uses, from its source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from types import CodeType

from msgspec import Struct

_Position = tuple[int, int, int, int]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NOTHING_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError"})
_ALL_CAUGHT = frozenset({"Exception", "BaseException"})


class Use(Enum):
    """The use of a loaded name."""

    HINT = "an annotation"
    ALIAS = "another name for it, or a default"
    SHAPE = "a base class or a decorator, or an argument of one"
    TYPE = "an argument of what may build type hints"
    FIELD = "a field of a class, or an argument of one"
    EXCEPT = "an except clause"
    VALUE = "its value"


class Load(Struct, frozen=True, kw_only=True):
    """A name that a line loads, with the attributes taken from it, and its use.

    ``taker`` is the name with attributes that uses it (a base class, a decorator or a builder of hints), empty for none.
    """

    line: int
    name: str
    attributes: tuple[str, ...]
    use: Use
    taker: tuple[str, ...] = ()


class Source:
    """A file of the program."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._scopes: dict[tuple[str, int], list[ast.AST]] = {}
        self._decorators: list[_Position] = []
        self._subscripts: dict[_Position, tuple[str, ...]] = {}
        self._at: dict[int, list[ast.AST]] = {}
        self._crowded = {line for node in ast.walk(tree) for line in _crowded(node)}
        self.metaclasses: set[str] = set()
        renamed = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt | ast.ExceptHandler):
                self._at.setdefault(node.lineno, []).append(node)
            if isinstance(node, ast.ImportFrom):
                renamed.update({alias.asname: alias.name for alias in node.names if alias.asname})
            if isinstance(node, _SCOPED):
                self._scopes.setdefault(_key(node), []).append(node)
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                self._decorators += [_position(one) for one in node.decorator_list]
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                self._subscripts[_position(node)] = _chain(node.value)
            if isinstance(node, ast.keyword) and node.arg == "metaclass":
                self.metaclasses.update(_chain(node.value)[-1:])
        self.metaclasses |= {renamed[name] for name in self.metaclasses if name in renamed}

    def loads(self, code: CodeType) -> dict[int, list[Load]]:
        """The names that a code object loads, by line; for definitions within it, only the names that the definition
        itself loads.
        """
        found: dict[int, list[Load]] = {}
        for scope in self._scopes.get((code.co_name, code.co_firstlineno), ()):
            for node in _own(scope):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    load = self._load(node)
                    found.setdefault(load.line, []).append(load)
        return found

    def class_of(self, code: CodeType) -> list[list[tuple[str, ...]]]:
        """The bases, keywords and decorators of the classes whose body a code object may be: names with attributes."""
        scopes = self._scopes.get((code.co_name, code.co_firstlineno), ())
        return [
            [
                _chain(one)
                for value in (*scope.bases, *(keyword.value for keyword in scope.keywords), *scope.decorator_list)
                for one in ast.walk(value)
                if _chain(one)
            ]
            for scope in scopes
            if isinstance(scope, ast.ClassDef)
        ]

    def decorates(self, position: tuple[int | None, int | None, int | None, int | None]) -> bool:
        """Whether the code at a position (line, last line, column, last column) is part of a decorator."""
        line, last, column, end = position
        if line is None or last is None or column is None or end is None:
            return False
        return any(
            (first, start) <= (line, column) and (last, end) <= (final, stop)
            for first, start, final, stop in self._decorators
        )

    def subscripted(self, position: tuple[int | None, int | None, int | None, int | None]) -> tuple[str, ...]:
        """The object that the code at a position subscripts by ``[]``: a name with attributes, empty for anything else."""
        line, last, column, end = position
        if line is None or last is None or column is None or end is None:
            return ()
        return self._subscripts.get((line, column, last, end), ())

    def guarded(self, line: int) -> bool:
        """Whether the program handles a failing import on a line, or imports all names at once. So does a line that
        goes on with code that may use the names, as a line is only looked at once.
        """
        return (
            line in self._crowded
            or any(
                (isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names))
                or self._handled(node, isinstance(node, ast.Import | ast.ImportFrom))
                for node in self._at.get(line, ())
            )
            or self._handled_around(line)
        )

    def _handled_around(self, line: int) -> bool:
        """The same for a line within a statement that begins before it."""
        return any(
            isinstance(node, ast.Try) and _within(node.body, line) and _catches(node, _NOTHING_CAUGHT)
            for node in ast.walk(self._tree)
        )

    def _handled(self, node: ast.AST, is_import: bool) -> bool:
        names = _NOTHING_CAUGHT | _ALL_CAUGHT if is_import else _NOTHING_CAUGHT
        while (parent := self._parents.get(node)) is not None:
            if isinstance(parent, ast.Try) and node in parent.body and _catches(parent, names):
                return True
            if isinstance(parent, ast.With) and node in parent.body and _suppresses(parent, names):
                return True
            if isinstance(parent, (*_FUNCTIONS, ast.Lambda)):
                return False
            node = parent
        return False

    def _load(self, name: ast.Name) -> Load:
        node: ast.AST = name
        attributes = []
        while isinstance(parent := self._parents[node], ast.Attribute) and isinstance(parent.ctx, ast.Load):
            attributes.append(parent.attr)
            node = parent
        use, taker = self._use(node)
        return Load(line=name.lineno, name=name.id, attributes=tuple(attributes), use=use, taker=taker)

    def _use(self, node: ast.AST) -> tuple[Use, tuple[str, ...]]:
        """What an expression is for, by what it is part of."""
        if self._is_alias(node):
            return Use.ALIAS, ()
        taker: tuple[str, ...] = ()
        while (parent := self._parents.get(node)) is not None:
            match parent:
                case ast.arg():
                    return Use.HINT, ()
                case ast.AnnAssign() if node is parent.annotation:
                    return Use.HINT, ()
                case ast.FunctionDef() | ast.AsyncFunctionDef() if node is parent.returns:
                    return Use.HINT, ()
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if _shapes(parent, node):
                    return Use.SHAPE, taker
                case ast.ExceptHandler() if node is parent.type:
                    return Use.EXCEPT, ()
                case ast.Assign() | ast.AnnAssign() | ast.Expr():
                    if self._in_class(parent):
                        return Use.FIELD, ()
                    return (Use.TYPE if taker and isinstance(parent, ast.Assign) else Use.VALUE), taker
                case ast.Subscript() if node is parent.slice:
                    taker = _chain(parent.value)
                case ast.Call() if node is not parent.func:
                    taker = _chain(parent.func) or _chain_called(parent.func)
                case _ if not isinstance(parent, _PASSING):
                    return Use.VALUE, ()
            node = parent
        return Use.VALUE, ()

    def _is_alias(self, node: ast.AST) -> bool:
        """``name = node`` outside a class, or the default of a parameter; what is taken out of a stand-in is one, too."""
        parent = self._parents[node]
        while isinstance(parent, ast.Subscript) and node is parent.value:
            node, parent = parent, self._parents[parent]
        if isinstance(parent, ast.arguments):
            return True
        if isinstance(parent, ast.Assign):
            targets = parent.targets
        elif isinstance(parent, ast.AnnAssign) and node is parent.value:
            targets = [parent.target]
        else:
            return False
        is_alone = parent.lineno not in self._crowded and all(isinstance(target, ast.Name) for target in targets)
        return is_alone and not self._in_class(parent)

    def _in_class(self, node: ast.AST) -> bool:
        while not isinstance(node, ast.Module):
            node = self._parents[node]
            if isinstance(node, ast.ClassDef):
                return True
            if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
                return False
        return False


_COMPREHENSIONS = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
_SCOPED = (*_FUNCTIONS, ast.Lambda, ast.ClassDef, ast.Module, *_COMPREHENSIONS)
_PASSING = (ast.Attribute, ast.Subscript, ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.BinOp)
"""Expressions whose value does not depend on the values in them."""


@cache
def source_of(path: str) -> Source | None:
    """The source in a file; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return Source(ast.parse(file.read()))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _key(node: ast.AST) -> tuple[str, int]:
    if isinstance(node, ast.Module):
        return "<module>", 1
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)])
    assert isinstance(node, ast.expr)
    return _COMPREHENSIONS.get(type(node), "<lambda>"), node.lineno


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a scope does: of definitions within, their decorators, defaults, bases and annotations."""
    if isinstance(scope, (*_FUNCTIONS, ast.Lambda)):
        body = scope.body
        waiting: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    elif isinstance(scope, ast.ClassDef):
        waiting = list(scope.body)
    else:
        waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            waiting += [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        elif isinstance(node, ast.Lambda):
            waiting.append(node.args)
        elif isinstance(node, ast.ClassDef):
            waiting += [*node.decorator_list, *node.bases, *node.keywords]
        else:
            waiting += ast.iter_child_nodes(node)


def _chain(node: ast.AST) -> tuple[str, ...]:
    """A name with attributes, in parts; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def _position(node: ast.expr) -> _Position:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _shapes(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, node: ast.AST) -> bool:
    """Whether an expression is a decorator of a definition, or a base or keyword of a class."""
    bases = [*definition.bases, *definition.keywords] if isinstance(definition, ast.ClassDef) else []
    return node in definition.decorator_list or node in bases


def _chain_called(node: ast.AST) -> tuple[str, ...]:
    """What is called first where the value of a call is called, or an attribute of it."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return _chain(node)


def _crowded(node: ast.AST) -> Iterator[int]:
    """The lines of statements in a node of which one begins on the line where the one before it ends."""
    for _, body in ast.iter_fields(node):
        if isinstance(body, list) and len(body) > 1 and isinstance(body[0], ast.stmt):
            for one, other in pairwise(body):
                if one.end_lineno == other.lineno:
                    yield from range(one.lineno, other.end_lineno + 1)


def _within(body: list[ast.stmt], line: int) -> bool:
    return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in body)


def _catches(node: ast.Try, names: frozenset[str]) -> bool:
    return any(
        handler.type is None or any(_chain(one)[-1:] and _chain(one)[-1] in names for one in ast.walk(handler.type))
        for handler in node.handlers
        if handler.type is not None or names & _ALL_CAUGHT
    )


def _suppresses(node: ast.With, names: frozenset[str]) -> bool:
    return any(
        isinstance(item.context_expr, ast.Call)
        and _chain(item.context_expr.func)[-1:] == ("suppress",)
        and any(_chain(one)[-1:] and _chain(one)[-1] in names for one in item.context_expr.args)
        for item in node.items
    )
