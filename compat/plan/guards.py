"""What tests in a function say of a value where it is used: ``isinstance``, ``in``, and what is behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from compat.plan.texts import Text
from compat.state.model.contents import Step

_KINDS = {
    **{name: name for name in ("tuple", "list", "dict", "set", "bytes")},
    "str": "text",
    "Row": "row",
    "frozenset": "set",
}


def in_try(text: Text, node: ast.AST) -> bool:
    """Whether a failure there is caught."""
    while node is not text.tree:
        outer = text.parents[node]
        if isinstance(outer, ast.Try) and outer.handlers and node in outer.body:
            return True
        node = outer
    return False


def guards_of(text: Text, name: ast.Name) -> Iterator[Step]:
    """What ``isinstance`` says of a value where it is used."""
    node: ast.AST = name
    while node is not text.tree:
        outer = text.parents[node]
        match outer:
            case ast.If(test=test, body=body) | ast.While(test=test, body=body) if node is not test:
                yield from _told(test, name.id, node in body)
            case ast.IfExp(test=test, body=body) if node is not test:
                yield from _told(test, name.id, node is body)
            case ast.BoolOp(op=op, values=values):
                for one in values[: values.index(node)]:  # type: ignore[arg-type]
                    yield from _told(one, name.id, isinstance(op, ast.And))
        for block in (getattr(outer, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                yield from _told_before(block[: block.index(node)], name.id)
        node = outer


def _told_before(statements: Iterable[ast.stmt], name: str) -> Iterator[Step]:
    """What is known behind statements that end the function, or the turn of a loop, otherwise."""
    for one in statements:
        ends = isinstance(one, ast.If) and isinstance(one.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
        if isinstance(one, ast.If) and (ends or any(_assigns(inner, name) for inner in one.body)):
            yield from _told(one.test, name, False)


def _assigns(one: ast.stmt, name: str) -> bool:
    targets = one.targets if isinstance(one, ast.Assign) else ()
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def is_converted(text: Text, value: ast.expr, name: str) -> bool:
    """Whether a name gets another value only if a test says that its own is of another class."""
    assigned = text.parents[value]
    around = text.parents.get(assigned)
    inside = isinstance(around, ast.If) and isinstance(assigned, ast.Assign) and assigned in around.body
    return inside and isinstance(around, ast.If) and any(_told(around.test, name, True))


def _told(test: ast.expr, name: str, holds: bool) -> Iterator[Step]:
    """What it says of a value if a test holds, or if it does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _told(operand, name, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            for one in values:
                yield from _told(one, name, holds)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=given), classes]) if given == name:
            parts = classes.elts if isinstance(classes, ast.Tuple) else [classes]
            names = [one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in parts]
            yield Step(kind="is" if holds else "is not", names=tuple(sorted({_KINDS.get(one, one) for one in names})))
        case ast.Compare(ops=[ast.In() | ast.NotIn() as op], comparators=[ast.Name(id=given)]) if given == name:
            if (key := key_asked(test)) is not None:
                yield Step(kind="with" if isinstance(op, ast.In) is holds else "without", name=key)


def key_asked(test: ast.Compare) -> str | None:
    """The text of which a comparison asks whether it is in something."""
    asks = len(test.ops) == 1 and isinstance(test.ops[0], ast.In | ast.NotIn) and isinstance(test.left, ast.Constant)
    key = test.left.value if asks and isinstance(test.left, ast.Constant) else None
    return key if isinstance(key, str) else None
