"""The parts of its states' values that a function reads, as far as its text shows it.

A use that cannot be followed (by a library's function, of a result) is a reading of the whole value.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any

from compat.plan.guards import guards_of, in_try, is_converted, key_asked
from compat.plan.methods import methods_of
from compat.plan.put import Values, is_json
from compat.plan.texts import Text, texts_of
from compat.state.model.contents import Reading, Reads, Step

_ONE = ("value", "get")
_OTHER_CALLS = frozenset(
    {"update", "add", "add_all", "put", "put_all", "clear", "remove", "contains", "is_empty", "keys"}
)
"""Calls of a state that read no value."""
_TOLERANT = frozenset({"str", "repr", "bool", "print", "id", "format", "isinstance", "callable"})
_OF_ELEMENTS = frozenset("sum min max any all set enumerate dict zip map filter len".split())
_GIVING = frozenset({"get", "setdefault", "pop", "popleft"})
"""Methods that give a part."""
_PLAIN_RESULTS = frozenset(
    [
        *dir(str),
        *dir(bytes),
        *dir(float),
        *dir(set),
        "append",
        "appendleft",
        "extend",
        "insert",
        "sort",
        "reverse",
        "keys",
    ]
) - {"copy", "pop", "union", "difference", "intersection", "symmetric_difference"}
"""Methods that give nothing of what is in a value."""
_SAME = frozenset({"list", "tuple", "sorted", "iter", "reversed"})
"""Functions that give the elements of their argument again."""
_ASKING = frozenset({"type", "hasattr", "vars", "dir"})
_JSON = Step(kind="json")
_NUMBER = Step(kind="kind", name="number")
_NUMBERS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow)
_DEPTH = 4
_MOST = 400
_Steps = tuple[Step, ...]
_Site = tuple[tuple[Text, ast.Call], ...]
"""The calls by which code got to a function, each with the text in which it stands."""
_MANY, _DIGITS, _ASKED, _ELEMENT, _ANY, _THERE = (
    Step(kind=kind) for kind in ("many", "digits", "asked", "element", "any", "there")
)


def reads_of(function: Any, fields: Mapping[str, str], several: Mapping[str, str]) -> dict[str, Reads]:
    """What the methods of a function read of its states, by the states' names; those whose uses are not all seen are missing.

    ``fields`` are the names of the states by the attributes that hold them, ``several`` the kinds (``list``, ``map``) of
    those that hold several values.
    """
    follow, unseen = dict[str, _Follow](), set[str]()
    for text in texts_of(function, methods_of(function)):
        for node in ast.walk(text.tree):
            if not isinstance(node, ast.Attribute | ast.Call) or (state := text.state_in(node, fields)) is None:
                continue
            if not _is_read(text, node, follow.setdefault(state, _Follow(state, fields)), several.get(state, "")):
                unseen.add(state)
    complete = ((state, one.found) for state, one in follow.items() if one.complete and state not in unseen)
    return {state: tuple(dict.fromkeys(found)) for state, found in complete}


def reads_folded(function: Any) -> Reads | None:
    """What an aggregating function reads of its accumulators; None if that is not seen."""
    follow = _Follow()
    for name, places in (("add", (1,)), ("get_result", (0,)), ("merge", (0, 1))):
        text = Text.of(getattr(function, name, None), function)
        if text is None or len(text.parameters) <= max(places):
            return None
        for place in places:
            follow.name(text, text.parameters[place], (), ())
    return tuple(dict.fromkeys(follow.found)) if follow.complete else None


def reads_of_reducing(function: Any, reads: Reads) -> Reads | None:
    """What is read of the values of a reducing state, which its function gets first; None if that is not seen."""
    function = getattr(function, "function", function)
    text = Text.of(getattr(function, "reduce", function))
    if text is None or not text.parameters:
        return None
    follow = _Follow()
    follow.name(text, text.parameters[0], (), ())
    return (*reads, *dict.fromkeys(follow.found)) if follow.complete else None


def reads_of_windows(function: Any) -> Reads | None:
    """What the function of a window reads of its elements; None if that is not seen."""
    method = getattr(function, "process", None) or getattr(function, "apply", None)
    text = None if method is None else Text.of(method)
    if text is None or not text.parameters:
        return None
    follow = _Follow()
    follow.name(text, text.parameters[-1], (Step(kind="listed"),), ())
    return tuple(dict.fromkeys(follow.found)) if follow.complete else None


def _is_read(text: Text, node: ast.expr, follow: _Follow, several: str) -> bool:
    """Follow what is read from a state that an expression gives; whether its use is seen."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return True
    outer = text.parents.get(node)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1:
        target = outer.targets[0]
        alias = isinstance(target, ast.Name) and len(text.values[target.id]) == 1
        if isinstance(target, ast.Attribute) or not alias:
            return isinstance(target, ast.Attribute) and isinstance(node, ast.Call)  # open() fills a field
        assert isinstance(target, ast.Name)
        uses = (one for one in ast.walk(text.tree) if isinstance(one, ast.Name) and one.id == target.id)
        seen = [_is_read(text, one, follow, several) for one in uses if isinstance(one.ctx, ast.Load)]
        return all(seen)
    call = text.parents.get(outer) if isinstance(outer, ast.Attribute) else None
    if not isinstance(outer, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not outer:
        return False
    first = _first_step(outer.attr, several)
    if first is not None:
        follow.use(text, call, first, ())
    return first is not None or outer.attr in _OTHER_CALLS


def _first_step(call: str, several: str) -> _Steps | None:
    """What a call of a state gives; None for one that reads nothing."""
    if several == "list" or call == "values":
        return (Step(kind="listed"),) if call in ("get", "values") else None
    if call == "items":
        return (Step(kind="entries"),)
    return () if call in _ONE else None


class _Follow:
    """Follows values through a text, and notes how they are read; ``complete`` unless there was too much."""

    def __init__(self, state: str = "", fields: Mapping[str, str] | None = None) -> None:
        self._state, self._fields = state, fields or {}
        self.found: list[Reading] = []
        self.complete = True
        self._seen: set[tuple[int, _Steps, tuple[int, ...]]] = set()

    def _note(self, *steps: Step) -> None:
        self.found.append(Reading(steps=steps))
        self.complete = self.complete and len(self.found) < _MOST

    def use(self, text: Text, node: ast.AST, steps: _Steps, site: _Site) -> None:
        """Note how code reads the value of an expression."""
        key = id(node), steps, tuple(id(call) for _, call in site)
        if key in self._seen or not self.complete:
            return
        self._seen.add(key)
        outer = text.parents.get(node)
        match outer:
            case ast.Attribute():
                self._attribute(text, outer, steps, site)
            case ast.Subscript() if outer.value is node:
                self._subscript(text, outer, steps, site)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                for target in outer.targets if isinstance(outer, ast.Assign) else (outer.target,):
                    self._target(text, target, steps, site)
                if isinstance(outer, ast.NamedExpr):
                    self.use(text, outer, steps, site)
            case ast.Tuple() if isinstance(over := text.parents.get(outer), ast.Assign) and _is_alike(over, outer):
                target = over.targets[0]
                assert isinstance(target, ast.Tuple | ast.List)
                self._target(text, target.elts[[id(one) for one in outer.elts].index(id(node))], steps, site)
            case ast.For() | ast.comprehension() if outer.iter is node:
                self._note(*steps, _MANY)
                self._target(text, outer.target, (*steps, _ELEMENT), site)
            case ast.IfExp() if outer.test is not node:
                self.use(text, outer, steps, site)
            case ast.BoolOp():
                self.use(text, outer, steps, site)
            case (
                ast.IfExp() | ast.If() | ast.While() | ast.Assert() | ast.FormattedValue(format_spec=None) | ast.Expr()
            ):
                pass
            case ast.UnaryOp():
                if not isinstance(outer.op, ast.Not):
                    self._note(*steps, _NUMBER)
            case ast.Compare():
                self._compared(outer, node, steps)
            case ast.BinOp():
                self._combined(text, outer, node, steps)
            case ast.keyword() if isinstance(over := text.parents.get(outer), ast.Call):
                self._given(text, over, outer, steps, site)
            case ast.Call() if outer.func is not node:
                self._given(text, outer, node, steps, site)
            case ast.Return() | ast.Lambda() if site and (isinstance(outer, ast.Return) or outer is text.tree):
                around, call = site[-1]
                self.use(around, call, steps, site[:-1])
            case _:
                self._note(*steps)

    def name(self, text: Text, name: str, steps: _Steps, site: _Site) -> None:
        """Follow a value through all uses of a name for it."""
        again = [one for one in text.values.get(name, ()) if _names(name, one)]
        if not all(is_converted(text, one, name) for one in again):
            self._note(*steps, _ASKED)  # it becomes what was made of it
            return
        converted = {inner for one in again for inner in ast.walk(one)}
        for one in ast.walk(text.tree):
            if isinstance(one, ast.Name) and one.id == name and one not in converted and not _is_another(text, one):
                guards = tuple(guards_of(text, one))
                if in_try(text, one):
                    self._note(*steps, *guards, _ASKED)
                elif isinstance(one.ctx, ast.Load):
                    self.use(text, one, (*steps, *guards), site)
                elif isinstance(outer := text.parents.get(one), ast.AugAssign):
                    kinds = {shape.kind for shape in Values(text).of(outer.value)}
                    self._note(*steps, *guards, *(Step(kind="kind", name=kind) for kind in kinds if len(kinds) == 1))

    def _attribute(self, text: Text, outer: ast.Attribute, steps: _Steps, site: _Site) -> None:
        call = text.parents.get(outer)
        found = (*steps, Step(kind="attribute", name=outer.attr))
        self._note(*found, _THERE)
        if not isinstance(call, ast.Call) or call.func is not outer:
            self.use(text, outer, found, site)
            return
        key = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if outer.attr in ("items", "values") and not call.args:
            self.use(text, call, (*steps, Step(kind=outer.attr)), site)
        elif outer.attr in _GIVING and isinstance(key, str):
            needed = outer.attr == "pop" and len(call.args) == 1
            part = (*steps, Step(kind="key" if needed else "maybe", name=key))
            self._note(*part, _THERE)
            self.use(text, call, part, site)
        elif outer.attr in _GIVING:
            self.use(text, call, (*steps, _ANY), site)
        elif outer.attr == "copy":
            self.use(text, call, steps, site)
        elif outer.attr not in _PLAIN_RESULTS and not isinstance(text.parents.get(call), ast.Expr):
            self._note(*steps)

    def _subscript(self, text: Text, outer: ast.Subscript, steps: _Steps, site: _Site) -> None:
        try:
            key = ast.literal_eval(outer.slice)
        except (ValueError, SyntaxError):
            key = None
        changing = not isinstance(outer.ctx, ast.Load)
        if changing:
            self._note(*steps, Step(kind="attribute", name="__setitem__"), _THERE)
        if isinstance(outer.ctx, ast.Del) and isinstance(key, str):
            self._note(*steps, Step(kind="key", name=key), _THERE)
        if changing and not isinstance(text.parents.get(outer), ast.AugAssign):
            return
        if isinstance(key, str):
            self._at(text, outer, (*steps, Step(kind="key", name=key)), site)
        elif isinstance(key, int):
            self._at(text, outer, (*steps, Step(kind="item", place=key)), site)
        else:
            self._note(*steps, Step(kind="attribute", name="__getitem__"), _THERE)
            if isinstance(outer.slice, ast.Slice):
                self._note(*steps)
            else:
                self._at(text, outer, (*steps, _ANY), site)

    def _at(self, text: Text, outer: ast.Subscript, steps: _Steps, site: _Site) -> None:
        self._note(*steps, _THERE)
        if isinstance(outer.ctx, ast.Load):
            self.use(text, outer, steps, site)
        else:
            self._note(*steps)

    def _target(self, text: Text, target: ast.expr, steps: _Steps, site: _Site) -> None:
        """What a value is assigned to."""
        if isinstance(target, ast.Name):
            self.name(text, target.id, steps, site)
        elif isinstance(target, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in target.elts):
            self._note(*steps, Step(kind="parts", place=len(target.elts)), _THERE)
            for place, one in enumerate(target.elts):
                self._target(text, one, (*steps, Step(kind="item", place=place)), site)
        else:
            self._note(*steps)

    def _compared(self, outer: ast.Compare, node: ast.AST, steps: _Steps) -> None:
        if key_asked(outer) is not None and outer.left is not node:
            self._note(*steps, _MANY)
        elif not all(isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) for op in outer.ops):
            self._note(*steps)

    def _combined(self, text: Text, outer: ast.BinOp, node: ast.AST, steps: _Steps) -> None:
        other = outer.right if outer.left is node else outer.left
        kinds = {shape.kind for shape in Values(text).of(other)}
        if isinstance(outer.op, _NUMBERS) and kinds <= {"number"}:
            self._note(*steps, _NUMBER)
        elif isinstance(outer.op, ast.Add) and len(kinds) == 1:
            self._note(*steps, Step(kind="kind", name=kinds.pop()))
        else:
            self._note(*steps)

    def _given(self, text: Text, call: ast.Call, node: ast.AST, steps: _Steps, site: _Site) -> None:
        """What a function does with a value that it is given."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        called = text.resolve(call.func)
        if isinstance(called, FunctionType | MethodType) and len(site) < _DEPTH:
            inner = Text.of(called)
            names = [] if inner is None else [one for one in [_parameter(inner, call, node)] if one]
            for one in names:
                assert inner is not None
                self.name(inner, one, steps, (*site, (text, call)))
            if names:
                return
        if isinstance(call.func, ast.Attribute) and text.state_in(call.func.value, self._fields) == self._state:
            return  # it is put into the state again
        if is_json(called, "loads") and call.args[:1] == [node]:
            self._note(*steps, _JSON, _THERE)
            self.use(text, call, (*steps, _JSON), site)
        elif called is None or name == "" or (not hasattr(called, "__self__") and not isinstance(called, type)):
            self._note(*steps)
        elif name == "getattr" and len(call.args) > 1:
            self._asked_attribute(text, call, steps, site)
        elif name in ("int", "float"):
            self._note(*steps, _DIGITS)
        elif name in ("abs", "round"):
            self._note(*steps, _NUMBER)
        elif name == "len" and isinstance(text.parents.get(call), ast.Compare):
            self._note(*steps, _ASKED)
        elif name == "next":
            self.use(text, call, (*steps, _ELEMENT), site)
        elif name in _SAME | _OF_ELEMENTS:
            self._note(*steps, _MANY)
            if name == "sorted":
                self._note(*steps, _ELEMENT)
            if name in _SAME:
                self.use(text, call, steps, site)
            elif name != "len":
                self._note(*steps, _ELEMENT, *([_NUMBER] if name == "sum" else []))
        elif name not in _TOLERANT:
            self._note(*steps, *([_ASKED] if name in _ASKING else []))

    def _asked_attribute(self, text: Text, call: ast.Call, steps: _Steps, site: _Site) -> None:
        """``getattr``, which may have a default."""
        key = call.args[1].value if isinstance(call.args[1], ast.Constant) else None
        if len(call.args) == 2 and isinstance(key, str):
            found = (*steps, Step(kind="attribute", name=key))
            self._note(*found, _THERE)
            self.use(text, call, found, site)
        elif len(call.args) == 2:
            self._note(*steps, _ASKED)


def _parameter(text: Text, call: ast.Call, node: ast.AST) -> str | None:
    """The parameter of a function that gets an argument of a call."""
    if isinstance(node, ast.keyword):
        return node.arg
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    place = [id(one) for one in call.args].index(id(node))
    return text.parameters[place] if place < len(text.parameters) else None


def _is_alike(outer: ast.Assign, given: ast.Tuple) -> bool:
    target = outer.targets[0]
    return len(outer.targets) == 1 and isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(given.elts)


def _names(name: str, given: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(given))


def _is_another(text: Text, node: ast.Name) -> bool:
    """Whether a name is that of a parameter of a function within this one."""
    outer: ast.AST = node
    while outer is not text.tree:
        outer = text.parents[outer]
        inner = isinstance(outer, ast.Lambda | ast.FunctionDef) and outer is not text.tree
        if inner and node.id in {one.arg for one in outer.args.args}:  # type: ignore[attr-defined]
            return True
    return False
