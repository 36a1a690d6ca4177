"""States that a function asks for while it processes, and not in ``open()``, found in the text of its methods.

A window's function gets the states of a window, and those of all windows of a key, from the context of each call (PyFlink:
``window_state``, ``global_state``), a trigger those of a window (``get_partitioned_state``), an assigner those of a key
(``get_runtime_context``); any function may keep its runtime context and ask that. The states are known if the descriptors are
made with PyFlink's own names, or were made before. This calls no code of the program.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from msgspec import Struct

from compat.compiler.own_code import is_our_module
from compat.plan.methods import methods_of
from compat.state.descriptors import StateDescriptor

_GETS = frozenset({"get_state", "get_list_state", "get_map_state", "get_reducing_state", "get_aggregating_state"})
OF_A_WINDOW = "window_state"
PER_WINDOW_CALLS = frozenset({OF_A_WINDOW, "global_state"})
_OF_A_CALL = "get_runtime_context"
_TRIGGER_GETS = frozenset({"get_partitioned_state", "merge_partitioned_state"})
_KNOWN_BEFORE = frozenset({"__init__", "open"})
"""Methods that have run before states are asked for."""
_IN_DESCRIPTORS = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.Call,
    ast.keyword,
    ast.List,
    ast.Tuple,
    ast.UnaryOp,
    ast.BinOp,
    ast.unaryop,
    ast.operator,
    ast.expr_context,
)


class Asked(Struct, frozen=True):
    """A requested state; ``per_window`` if each window has its own."""

    descriptor: StateDescriptor
    per_window: bool


class _CannotTell(Exception):
    """What is asked for depends on more than can be seen."""


def asked_while_processing(function: Any, kept_contexts: frozenset[str]) -> tuple[Asked, ...] | None:
    """The states that an opened function object asks for in its other methods; None if that is unknown.

    ``kept_contexts`` are its fields that hold the runtime context.
    """
    try:
        asked = [
            each
            for method in methods_of(function)
            if method.__name__ not in _KNOWN_BEFORE
            for each in _Method(method, function, kept_contexts).asked()
        ]
    except Exception:  # whatever the text holds, or there is none
        return None
    return tuple({each.descriptor.name: each for each in asked}.values())


class _Method:
    """The text of a method, whose states are looked for."""

    def __init__(self, method: FunctionType, function: Any, kept_contexts: frozenset[str]) -> None:
        self.tree = _tree(method)
        self.kept_contexts = kept_contexts
        self.scope = {**method.__globals__, **inspect.getclosurevars(method).nonlocals}
        if names := method.__code__.co_varnames[: method.__code__.co_argcount]:
            self.scope[names[0]] = function
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        stored = [node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and _is_stored(node)]
        self.locals = {
            node.targets[0].id: node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
            if stored.count(node.targets[0].id) == 1
        }
        self.unknown = frozenset(method.__code__.co_varnames[1:]) - self.locals.keys()

    def asked(self) -> Iterator[Asked]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and node.attr in PER_WINDOW_CALLS:
                yield from self._of_store(self._called(node), per_window=node.attr == OF_A_WINDOW)
            elif isinstance(node, ast.Attribute) and node.attr in self.kept_contexts:
                yield from self._of_store(node, per_window=False)
            elif isinstance(node, ast.Attribute) and node.attr == _OF_A_CALL:
                yield from self._of_store(self._called(node), per_window=False)
            elif isinstance(node, ast.Attribute) and node.attr in _TRIGGER_GETS:
                yield Asked(self._given(self._called(node)), per_window=True)

    def _of_store(self, store: ast.expr, *, per_window: bool) -> Iterator[Asked]:
        """What is asked of an expression that gives states, or of the name that it gets."""
        parent = self.parents[store]
        if isinstance(parent, ast.Assign):
            (name,) = (name for name, value in self.locals.items() if value is store)
            for use in ast.walk(self.tree):
                if isinstance(use, ast.Name) and use.id == name and not _is_stored(use):
                    yield from self._of_store(use, per_window=per_window)
        elif not isinstance(parent, ast.Attribute):
            raise _CannotTell
        elif parent.attr in _GETS:
            yield Asked(self._given(self._called(parent)), per_window)
        elif parent.attr not in self.kept_contexts and store not in self._contexts():
            raise _CannotTell

    def _contexts(self) -> set[ast.AST]:
        """The expressions that give the runtime context, of which other things than states may be asked."""
        named = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
        kept: set[ast.AST] = {node for node in named if node.attr in self.kept_contexts}
        return kept | {self.parents[node] for node in named if node.attr == _OF_A_CALL}

    def _called(self, attribute: ast.Attribute) -> ast.Call:
        call = self.parents[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            raise _CannotTell
        return call

    def _given(self, call: ast.Call) -> StateDescriptor:
        (given,) = (*call.args, *(keyword.value for keyword in call.keywords))
        return self._descriptor(given)

    def _descriptor(self, given: ast.expr) -> StateDescriptor:
        if isinstance(given, ast.Name) and given.id in self.locals:
            uses = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == given.id)
            for use in uses:
                if not _is_stored(use) and not self._is_asked_with(use):
                    raise _CannotTell  # it may be given a time to live
            given = self.locals[given.id]
        made = self._value(given)
        if not isinstance(made, StateDescriptor):
            raise _CannotTell
        return made

    def _is_asked_with(self, name: ast.Name) -> bool:
        call = self.parents[name]
        return (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in _GETS | _TRIGGER_GETS
        )

    def _value(self, expression: ast.expr) -> Any:
        """What an expression gives that calls nothing of the program's."""
        for node in _parts(expression):
            if not isinstance(node, (*_IN_DESCRIPTORS, ast.Lambda)):
                raise _CannotTell
            if isinstance(node, ast.Name) and node.id in self.unknown | self.locals.keys():
                raise _CannotTell
            if isinstance(node, ast.Call) and not is_our_module(self._evaluated(node.func).__module__):
                raise _CannotTell
        return self._evaluated(expression)

    def _evaluated(self, expression: ast.expr) -> Any:
        code = compile(ast.Expression(copy.deepcopy(expression)), self.scope.get("__file__", "<descriptor>"), "eval")
        return eval(code, self.scope)


def _tree(method: FunctionType) -> ast.AST:
    """The text of a method, with its lines as they are in the file."""
    lines, first = inspect.getsourcelines(method)
    inside = lines[0][:1].isspace()
    tree = ast.parse("".join(["if True:\n", *lines] if inside else lines))
    return ast.increment_lineno(tree, first - (2 if inside else 1))


def _parts(expression: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression, without what is in functions without a name."""
    yield expression
    if not isinstance(expression, ast.Lambda):
        for child in ast.iter_child_nodes(expression):
            yield from _parts(child)


def _is_stored(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)
