"""Where the parts of a value come from: what an expression computes of records and states, however variables are called."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import FunctionType, MethodType
from typing import NamedTuple

from compat.plan.reached import Reached
from compat.plan.texts import Text
from compat.state.model.contents import Shapes

Place = int | str
_FROM = "from_"
_OWN, _SAME = "own", "same"
"""What the state holds, and the part of it that a new part takes the place of."""
_MOST = 300


class Around(NamedTuple):
    """What is known where an expression stands: its text, what the parameters are and the structures of those that are records,
    and a test for what gives the state's old value.
    """

    text: Text
    parameters: Mapping[str, ast.expr]
    records: Mapping[str, Shapes]
    is_own: Callable[[ast.expr], bool]


def digest_of(given: ast.expr, place: Place | None, around: Around) -> str:
    """A digest of what an expression computes that is put at a place of a value; empty for constants and what is not known."""
    try:
        found = _Said(place, around).visit(deepcopy(given))
    except _Unknown:
        return ""
    if not any(isinstance(one, ast.Name) for one in ast.walk(found)):
        return ""
    return _hashed(ast.unparse(ast.fix_missing_locations(found)))


def of_part(source: str) -> str:
    """The digest of an expression that takes a part of a record as it is, which has this source."""
    return _hashed(_FROM + source)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class _Unknown(Exception):
    """The text does not show it."""


class _Said(ast.NodeTransformer):
    """Replaces each variable by the expression that it is given."""

    def __init__(self, place: Place | None, around: Around, left: int = _MOST) -> None:
        self._place, self._around, self._left = place, around, left
        self._text = around.text
        self._open: set[str] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        """Replace variables and parts of records; an expression that gets too large is not known."""
        self._left -= 1
        if self._left < 0:
            raise _Unknown
        if isinstance(node, ast.expr) and self._around.is_own(node):
            return ast.Name(_OWN, ast.Load())
        found: ast.AST = super().visit(node)
        return found

    def _expression(self, node: ast.expr) -> ast.expr:
        found = self.visit(deepcopy(node))
        assert isinstance(found, ast.expr)
        return found

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Names within it are others."""
        raise _Unknown

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """What a variable was given, and what was added to it since; other names are those of the program."""
        name = node.id
        if name in self._text.elsewhere:
            raise _Unknown
        if isinstance(around := self._text.resolve(node), str | bytes | int | float):
            return ast.Constant(around)
        values = self._text.values.get(name, ())
        parameter = self._around.parameters.get(name)
        if name in self._open or self._text.is_holder(node) or not (values or parameter):
            return node
        self._open.add(name)
        parts = [] if parameter is None else [parameter]
        parts += map(self._expression, values)
        found = parts[0] if len(parts) == 1 else ast.BoolOp(ast.Or(), parts)
        for one in self._text.augmented.get(name, ()):
            found = ast.BinOp(found, one.op, self._expression(one.value))
        self._open.discard(name)
        return found

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A function of the program counts by its code, one of a library by its full name; ``get`` takes a part."""
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and len(node.args) == 1
            and not node.keywords
        ):
            return self.visit(ast.Subscript(value=node.func.value, slice=node.args[0], ctx=ast.Load()))
        args = [self._expression(one) for one in node.args]
        called = self._text.resolve(node.func)
        if (
            isinstance(called, FunctionType | MethodType)
            and not node.keywords
            and (text := Text.of(called)) is not None
        ):
            returned = text.returned_once()
            if returned is not None and len(text.parameters) == len(args):
                inner = Around(text, dict(zip(text.parameters, args, strict=True)), {}, lambda _: False)
                walk = _Said(self._place, inner, self._left)
                found = walk.visit(deepcopy(returned))
                self._left = walk._left
                return found
        func = (
            self._expression(node.func)
            if called is None
            else ast.Name(f"code_{_hashed(Reached(called).text)}", ast.Load())
        )
        return ast.Call(func, args, [ast.keyword(one.arg, self._expression(one.value)) for one in node.keywords])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A field of a record is what was put there."""
        return self._part(node.value, node.attr) or self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """The part of a record is what was put there; the old part at the same place is the same one everywhere."""
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if (part := self._part(node.value, place)) is not None:
            return part
        found = self.generic_visit(node)
        own = any(isinstance(one, ast.Name) and one.id == _OWN for one in ast.walk(found))
        return ast.Name(_SAME, ast.Load()) if own and place is not None and place == self._place else found

    def _part(self, whole: ast.expr, place: object) -> ast.Name | None:
        """What was put at a place of a record, where the functions before show it."""
        if not isinstance(whole, ast.Name) or whole.id in self._text.values:
            return None
        shapes = self._around.records.get(whole.id, ())
        source = shapes[0].at_places.get(repr(place)) if len(shapes) == 1 else None
        return ast.Name(_FROM + source, ast.Load()) if source else None
