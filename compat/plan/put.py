"""What a function puts into its pickled states, as far as its text shows the structure of the values.

A pickle is read whatever was put in: whether the code that reads it expects another structure, only the code can tell. What
text does not show (a parameter, an element, what another function gives) may be anything.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from compat.plan.methods import methods_of
from compat.state.model.behaviour import Shape, Shapes

_PUT = (
    "update",
    "add",
    "add_all",
    "put",
    "put_all",
)
_OF_LISTS = (
    "add_all",
    "update",
)
_FOLDS = ("create_accumulator", "add", "merge")
_NUMBER, _TEXT, _BYTES = (Shape(kind=kind) for kind in ("number", "text", "bytes"))
_CALLS: Mapping[str, str] = {
    **dict.fromkeys(("int", "float", "len", "sum", "abs", "round", "bool"), "number"),
    **dict.fromkeys(("str", "repr"), "text"),
    **dict.fromkeys(("list", "sorted"), "list"),
    **{name: name for name in ("tuple", "dict", "set", "frozenset", "bytes")},
}
_DEPTH = 6
_ANYTHING: Shapes = ()


def shapes_put(function: Any, fields: Mapping[str, str], lists: Iterable[str]) -> dict[str, Shapes]:
    """What the methods of a function put into its states, by the states' names; states that it fills in other ways are missing.

    ``fields`` are the names of the states by the attributes that hold them, ``lists`` those of lists.
    """
    of_lists, found = set(lists), dict[str, list[Shapes]]()
    for method in methods_of(function):
        for attribute, call, text in _puts(method):
            if (state := fields.get(attribute)) is None:
                continue
            given = list(_given(call, text, state in of_lists))
            found.setdefault(state, []).extend(given)
    # One value that is not known leaves it open what all of them are.
    return {state: _ANYTHING if _ANYTHING in shapes else _any_of(shapes) for state, shapes in found.items()}


def shapes_folded(function: Any) -> Shapes:
    """The accumulators of an aggregating function: what it begins with, and what its methods give."""
    found: list[Shapes] = []
    for name in _FOLDS:
        method = getattr(function, name, None)
        text = _Text.of(method) if method is not None else None
        if text is None:
            return _ANYTHING
        found += [text.shapes(one.value) for one in ast.walk(text.tree) if isinstance(one, ast.Return) and one.value]
    # What only adds to its accumulator gives it back: it has the shape that it began with.
    return _any_of(found)


def _puts(method: FunctionType) -> Iterator[tuple[str, ast.Call, _Text]]:
    """The calls of a method that put something into an attribute of ``self``."""
    text = _Text.of(method)
    for one in ast.walk(text.tree) if text is not None else ():
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _PUT:
            holder = text.once(one.func.value) if text is not None else one.func.value
            if isinstance(holder, ast.Attribute) and isinstance(holder.value, ast.Name) and text is not None:
                yield holder.attr, one, text


def _given(call: ast.Call, text: _Text, into_list: bool) -> Iterator[Shapes]:
    """What a call puts in: of a list or a map that is put in as a whole, its elements or entries."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [*call.args, *(one.value for one in call.keywords)]
    if not given:
        yield _ANYTHING
        return
    last = given[-1]
    if name == "put_all":
        yield from map(text.shapes, last.values if isinstance(last, ast.Dict) else [])
    elif into_list and name in _OF_LISTS:
        yield from map(text.shapes, last.elts if isinstance(last, ast.List | ast.Tuple) else [])
    else:
        yield text.shapes(last)


class _Text:
    """The text of a method, and what its names stand for."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree = tree
        self._values: dict[str, list[ast.expr]] = {}
        self._keys: dict[str, set[str]] = {}
        for one in ast.walk(tree):
            self._note(one)

    @classmethod
    def of(cls, method: Any) -> _Text | None:
        """None for a method without a text."""
        try:
            return cls(ast.parse(textwrap.dedent(inspect.getsource(method))))
        except (OSError, TypeError, SyntaxError, IndentationError):
            return None

    def _note(self, one: ast.AST) -> None:
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and one.value is not None:
            for target in one.targets if isinstance(one, ast.Assign) else (one.target,):
                if isinstance(target, ast.Name):
                    self._values.setdefault(target.id, []).append(one.value)
                elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
                    self._keys.setdefault(target.value.id, set()).update([key] if isinstance(key, str) else [])

    def once(self, given: ast.expr) -> ast.expr:
        """What a name stands for that is given a value once."""
        values = self._values.get(given.id, ()) if isinstance(given, ast.Name) else ()
        return values[0] if len(values) == 1 else given

    def shapes(self, given: ast.expr, depth: int = 0) -> Shapes:
        """What an expression may give; ``_ANYTHING`` if that is not known."""
        if depth > _DEPTH:
            return _ANYTHING
        match given:
            case ast.Constant(value=value):
                return _of_constant(value)
            case ast.JoinedStr():
                return (_TEXT,)
            case ast.Tuple(elts=parts):
                return (Shape(kind="tuple", parts=tuple(self.shapes(one, depth + 1) for one in parts)),)
            case ast.List() | ast.ListComp():
                return (Shape(kind="list"),)
            case ast.Set() | ast.SetComp():
                return (Shape(kind="set"),)
            case ast.Dict(keys=keys):
                names = {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                return (Shape(kind="dict", keys=tuple(sorted(names)), whole=len(names) == len(keys)),)
            case ast.DictComp():
                return (Shape(kind="dict", whole=False),)
            case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
                return (Shape(kind=_CALLS[name], whole=False),)
            case ast.UnaryOp(operand=operand):
                return self.shapes(operand, depth + 1)
            case ast.BinOp(left=left, right=right):
                return self._either((left, right), depth)
            case ast.BoolOp(values=values):
                return self._either(values, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return self._either((body, orelse), depth)
            case ast.Name(id=name):
                return self._of_name(name, depth)
        return _ANYTHING

    def _either(self, parts: Iterable[ast.expr], depth: int) -> Shapes:
        """What is known of several: ``old or 0`` is a number, whatever ``old`` is."""
        return _any_of(self.shapes(one, depth + 1) for one in parts)

    def _of_name(self, name: str, depth: int) -> Shapes:
        found = self._either(self._values.get(name, ()), depth)
        keys = self._keys.get(name)
        if keys is None:
            return found
        dicts = [one for one in found if one.kind == "dict"] or [Shape(kind="dict", whole=False)]
        return tuple(Shape(kind="dict", keys=tuple(sorted({*one.keys, *keys})), whole=one.whole) for one in dicts)


def _any_of(given: Iterable[Shapes]) -> Shapes:
    return tuple(sorted({shape for shapes in given for shape in shapes}, key=repr))


def _of_constant(value: Any) -> Shapes:
    if isinstance(value, str):
        return (_TEXT,)
    if isinstance(value, bytes):
        return (_BYTES,)
    return _ANYTHING if value is None or value is Ellipsis else (_NUMBER,)
