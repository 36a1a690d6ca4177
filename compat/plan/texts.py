"""The text of a function, and what the names in it stand for."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

from compat.compiler.own_code import is_library, is_our_file
from compat.plan.methods import closure_of
from compat.state.descriptors import StateDescriptor

_ASKS = (
    "get_state",
    "get_list_state",
    "get_map_state",
    "get_reducing_state",
    "get_aggregating_state",
    "get_broadcast_state",
    "get_partitioned_state",
)


class Text:
    """The text of a function: ``tree`` is its definition; ``holder`` is the object whose method it is.

    ``values`` are the expressions that names are given, ``stored`` the keys and values that are put into what they stand for.
    ``changed`` are names whose object methods or ``+=`` may change, ``augmented`` what ``+=`` adds, ``elsewhere`` those that
    also get values by loops and the like.
    """

    def __init__(self, function: FunctionType, tree: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, holder: Any):
        self.function, self.tree, self.holder = function, tree, holder
        self.values: dict[str, list[ast.expr]] = {}
        self.stored: dict[str, list[tuple[ast.expr, ast.expr]]] = {}
        self.changed: set[str] = set()
        self.augmented: dict[str, list[ast.AugAssign]] = {}
        self.elsewhere: set[str] = set()
        self.parents: dict[ast.AST, ast.AST] = {}
        for one in ast.walk(tree):
            self.parents.update((child, one) for child in ast.iter_child_nodes(one))
            self._note(one)

    @staticmethod
    def of(function: Any, holder: Any = None) -> Text | None:
        """The text of a function of the program, or of a method of one of its objects; None if there is none."""
        if isinstance(function, MethodType):
            function, holder = function.__func__, function.__self__
        if not isinstance(function, FunctionType) or is_our_file(function.__code__.co_filename):
            return None
        trees = _trees(function.__code__.co_filename)
        found = [one for one in trees.get(function.__code__.co_firstlineno, ()) if _is_of(one, function)]
        return Text(function, found[0], holder) if len(found) == 1 else None

    def _note(self, one: ast.AST) -> None:
        if isinstance(one, ast.AugAssign):
            if isinstance(one.target, ast.Name):
                self.changed.add(one.target.id)
                self.augmented.setdefault(one.target.id, []).append(one)
            else:
                self._note_value(one.target, one.value)
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.NamedExpr) and one.value is not None:
            for target in one.targets if isinstance(one, ast.Assign) else (one.target,):
                self._note_value(target, one.value)
        elif isinstance(one, ast.For | ast.comprehension | ast.withitem):
            bound = one.optional_vars if isinstance(one, ast.withitem) else one.target
            names = [] if bound is None else [each for each in ast.walk(bound) if isinstance(each, ast.Name)]
            self.elsewhere.update(each.id for each in names)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and isinstance(one.func.value, ast.Name):
            self.changed.add(one.func.value.id)

    def _note_value(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.stored.setdefault(target.value.id, []).append((target.slice, value))
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            for left, right in zip(target.elts, value.elts, strict=False):
                self._note_value(left, right)
        elif isinstance(target, ast.Tuple | ast.List):
            starred = any(isinstance(one, ast.Starred) for one in target.elts)
            for place, one in enumerate(target.elts):
                if starred or not isinstance(one, ast.Name):
                    self.elsewhere.update(each.id for each in ast.walk(one) if isinstance(each, ast.Name))
                else:
                    self._note_value(one, ast.Subscript(value=value, slice=ast.Constant(value=place), ctx=ast.Load()))

    @functools.cached_property
    def parameters(self) -> list[str]:
        """The names of the parameters by position, without the object itself."""
        given = self.tree.args
        names = [one.arg for one in (*given.posonlyargs, *given.args)]
        return names[1:] if self.holder is not None and names else names

    def returned_once(self) -> ast.expr | None:
        """What it returns that has one way to do so; None for others."""
        if isinstance(self.tree, ast.Lambda):
            return self.tree.body
        found = [one for one in ast.walk(self.tree) if isinstance(one, ast.Return | ast.Yield | ast.YieldFrom | ast.If)]
        return found[0].value if len(found) == 1 and isinstance(found[0], ast.Return) else None

    def once(self, given: ast.expr) -> ast.expr:
        """What a name stands for that is given a value once."""
        values = self.values.get(given.id, ()) if isinstance(given, ast.Name) else ()
        return values[0] if len(values) == 1 else given

    def resolve(self, given: ast.expr) -> Any:
        """The object outside of the function that an expression names; None if there is none."""
        if isinstance(given, ast.Name):
            around: Mapping[str, Any] = {**self.function.__globals__, **closure_of(self.function)}
            local = given.id in self.values or given.id in self.function.__code__.co_varnames
            return None if local else around.get(given.id, _BUILT_IN.get(given.id))
        if not isinstance(given, ast.Attribute):
            return None
        if isinstance(given.value, ast.Name) and self.is_holder(given.value):
            member = inspect.getattr_static(self.holder, given.attr, None)
            member = member.__func__ if isinstance(member, staticmethod) else member
            return MethodType(member, self.holder) if isinstance(member, FunctionType) else member
        owner = self.resolve(given.value)
        return None if owner is None else inspect.getattr_static(owner, given.attr, None)

    def is_holder(self, name: ast.Name) -> bool:
        """Whether a name is that of the object whose method this is."""
        own = self.function.__code__.co_varnames[:1]
        return self.holder is not None and own == (name.id,)

    def state_in(self, given: ast.expr, fields: Mapping[str, str]) -> str | None:
        """The name of the state that an expression gives: one in a field, or one that is asked for there."""
        given = self.once(given)
        if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name):
            return fields.get(given.attr)
        asks = isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _ASKS
        if not isinstance(given, ast.Call) or not asks or len(given.args) != 1:
            return None
        descriptor = self.once(given.args[0])
        if isinstance(descriptor, ast.Call) and descriptor.args and isinstance(descriptor.args[0], ast.Constant):
            return str(descriptor.args[0].value)
        known = self.resolve(descriptor)
        return known.name if isinstance(known, StateDescriptor) else None


_BUILT_IN: Mapping[str, Any] = vars(__import__("builtins"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@functools.lru_cache(maxsize=64)
def _parsed(lines: tuple[str, ...]) -> Mapping[int, list[_Function]]:
    found: dict[int, list[_Function]] = {}
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    for one in ast.walk(tree):
        if isinstance(one, _Function):
            first = min((each.lineno for each in getattr(one, "decorator_list", ())), default=one.lineno)
            found.setdefault(first, []).append(one)
    return found


def _trees(file: str) -> Mapping[int, list[_Function]]:
    """The functions in a file by their first lines."""
    return {} if is_library(file) else _parsed(tuple(linecache.getlines(file)))


def _is_of(tree: _Function, function: FunctionType) -> bool:
    """Whether a definition is that of the function: for several lambdas of one line, their places tell."""
    code = function.__code__
    if not isinstance(tree, ast.Lambda):
        return tree.name == code.co_name
    body = tree.body
    place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
    return code.co_name == "<lambda>" and place in set(code.co_positions())


def texts_of(holder: Any, methods: Iterator[FunctionType]) -> Iterator[Text]:
    """The texts of an object's methods; those without one are left out."""
    for method in methods:
        text = Text.of(method, None if holder is method else holder)
        if text is not None:
            yield text
