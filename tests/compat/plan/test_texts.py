"""The text of a function, found by its code."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from compat.plan.methods import methods_of
from compat.plan.texts import Text, texts_of
from tests.compat.plan.programs import made

PROGRAM = """
LIMIT = 3
def outer(by):
    def inner(v): return v + by
    return inner
def decorated(function): return function
SEVERAL = [lambda v: v, lambda v: v + 1]
class F:
    inner = staticmethod(outer(2))
    @decorated
    def m(self, value, ctx):
        n, t = 1, 'a'
        n.b = LIMIT
        again = self.s
        kept = ctx.get_state(descriptor)
        return self.inner
"""


@pytest.fixture
def function(tmp_path: Path) -> Any:
    return made(PROGRAM, tmp_path)


def test_a_text_is_that_of_the_method(function: Any) -> None:
    (text,) = [one for one in texts_of(function, methods_of(function)) if one.function.__name__ == "m"]
    assert isinstance(text.tree, ast.FunctionDef)
    assert text.parameters == ["value", "ctx"]
    assert {name: len(values) for name, values in text.values.items()} == {"n": 1, "t": 1, "again": 1, "kept": 1}


def test_lambdas_of_one_line_are_told_apart(function: Any) -> None:
    texts = [Text.of(one) for one in type(function).m.__globals__["SEVERAL"]]
    assert [ast.unparse(text.tree) for text in texts if text is not None] == ["lambda v: v", "lambda v: v + 1"]


def test_what_has_no_text() -> None:
    assert Text.of(len) is None
    assert Text.of(eval("lambda: 1")) is None
    assert Text.of(Path.exists) is None  # a library's


@pytest.mark.parametrize(
    ("name", "value"), [("LIMIT", 3), ("len", len), ("n", None), ("value", None), ("nothing", None)]
)
def test_names_outside_of_the_function(name: str, value: Any, function: Any) -> None:
    text = Text.of(function.m)
    assert text is not None
    assert text.resolve(ast.parse(name, mode="eval").body) is value


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ("self.s", "state"),
        ("self.other", None),
        ("again", "state"),
        ("ctx.get_state(Descriptor('told'))", "told"),
        ("ctx.get_state(1, 2)", None),
        ("ctx.anything(Descriptor('told'))", None),
    ],
)
def test_the_state_that_an_expression_gives(given: str, state: str | None, function: Any) -> None:
    text = Text.of(function.m)
    assert text is not None
    assert text.state_in(ast.parse(given, mode="eval").body, {"s": "state"}) == state
