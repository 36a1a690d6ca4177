"""Finds the calls of a program that create and configure operators, in its concrete syntax tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from compat.check.findings import SAFE, SETTERS
from compat.state.model.source_line import End

_ENVIRONMENT = "get_execution_environment"


class Calls:
    """A module's calls by their end positions, and the operator that each setting belongs to."""

    def __init__(self, module: cst.Module) -> None:
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._positions: Mapping[cst.CSTNode, CodeRange] = wrapper.resolve(PositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        calls = [node for node in self._positions if isinstance(node, cst.Call)]
        self._by_end: dict[End, cst.Call] = {}
        for call in calls:
            end = self._positions[call].end
            self._by_end[end.line, end.column] = call
        self._setters = [call for call in calls if method_of(call) in SAFE]
        self._environments = set(self._environment_names(calls))

    def ending_at(self, end: End) -> cst.Call | None:
        """The call whose closing parenthesis is right before a place (line from 1, column from 0, in characters)."""
        return self._by_end.get(end)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node that a node is part of."""
        return self._parents[node]

    def settings_of(self, call: cst.Call, method: str) -> list[cst.Call]:
        """The calls of ``method`` on the result of ``call``: chained to it, or on the variable that it is assigned to."""
        found = []
        top = call
        for top in self._chain(call):
            if method_of(top) == method:
                found.append(top)
        variable = self._variable(top)
        if variable is not None:
            scope = self._scope(call)
            found += [
                setter
                for setter in self._setters
                if method_of(setter) == method
                and setter not in found
                and self._is_on(setter, variable)
                and self._scope(setter) is scope
            ]
        return found

    def on_the_environment(self, method: str) -> list[cst.Call]:
        """The calls of ``method`` on the environment or its configuration."""
        return [
            setter
            for setter in self._setters
            if method_of(setter) == method
            and (
                (isinstance(root := _root(setter), cst.Name) and root.value in self._environments)
                or (isinstance(root, cst.Call) and method_of(root) == _ENVIRONMENT)
            )
        ]

    def _chain(self, call: cst.Call) -> Iterator[cst.Call]:
        """The call itself and the settings chained to it."""
        yield call
        while True:
            attribute = self._parents[call]
            if not isinstance(attribute, cst.Attribute) or attribute.value is not call:
                return
            following = self._parents[attribute]
            if not isinstance(following, cst.Call) or attribute.attr.value not in SETTERS:
                return
            call = following
            yield call

    def _variable(self, node: cst.CSTNode) -> str | None:
        statement = self._parents[node]
        target: cst.CSTNode | None = None
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
        elif isinstance(statement, cst.AnnAssign | cst.NamedExpr):
            target = statement.target
        return target.value if isinstance(target, cst.Name) else None

    def _is_on(self, setter: cst.Call, variable: str) -> bool:
        root = _root(setter)
        return isinstance(root, cst.Name) and root.value == variable and variable not in self._environments

    def _scope(self, node: cst.CSTNode) -> cst.CSTNode:
        while not isinstance(node, cst.FunctionDef | cst.Lambda | cst.ClassDef | cst.Module):
            node = self._parents[node]
        return node

    def _environment_names(self, calls: list[cst.Call]) -> Iterator[str]:
        yield "env"
        for call in calls:
            if method_of(call) == _ENVIRONMENT:
                name = self._variable(call)
                if name is not None:
                    yield name


def method_of(call: cst.Call) -> str | None:
    """The name of the called method, or None."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else None


def _root(call: cst.Call) -> cst.BaseExpression:
    """The expression that a chain of settings begins with."""
    node: cst.BaseExpression = call
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = node.func.attr.value
        if name not in SETTERS and name != "get_config" and not name.startswith(("set_", "enable_", "disable_")):
            return node
        node = node.func.value
    return node
