"""What tests in a function say of a value where it is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from compat.plan.guards import guards_of, in_try, is_converted, key_asked
from compat.plan.texts import Text
from tests.compat.plan.programs import made


def text_of(body: str, folder: Path) -> Text:
    lines = body.replace("\n", "\n        ")
    found = Text.of(made(f"class F:\n    def m(self, v, other):\n        {lines}\n", folder).m)
    assert found is not None
    return found


def used(text: Text) -> ast.Name:
    """Where the value is printed, or else its last use."""
    names = [one for one in ast.walk(text.tree) if isinstance(one, ast.Name) and one.id == "v"]
    return next(
        (one for one in names if isinstance(text.parents[one], ast.Call) and _prints(text.parents[one])), names[-1]
    )


def _prints(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("print(v)", []),
        ("if isinstance(v, tuple):\n    print(v)", [("is", "tuple")]),
        ("if not isinstance(v, tuple):\n    print(v)", [("is not", "tuple")]),
        ("if isinstance(v, (str, list)):\n    print(v)", [("is", "list, text")]),
        ("if isinstance(v, tuple): pass\nelse: print(v)", [("is not", "tuple")]),
        ("if isinstance(v, tuple): pass\nelif isinstance(v, dict): print(v)", [("is", "dict"), ("is not", "tuple")]),
        ("if isinstance(v, tuple): return\nprint(v)", [("is not", "tuple")]),
        ("if isinstance(v, tuple): print(1)\nprint(v)", []),
        ("if not isinstance(v, tuple): v = (0, 0)\nprint(v)", [("is", "tuple")]),
        ("for one in other:\n    if isinstance(v, tuple): continue\n    print(v)", [("is not", "tuple")]),
        ("while isinstance(v, tuple): print(v)", [("is", "tuple")]),
        ("isinstance(v, tuple) and print(v)", [("is", "tuple")]),
        ("isinstance(v, tuple) or print(v)", [("is not", "tuple")]),
        ("if isinstance(v, tuple) and other:\n    print(v)", [("is", "tuple")]),
        ("if isinstance(v, tuple) or other:\n    print(v)", []),
        ("if 'a' in v:\n    print(v)", [("with", "a")]),
        ("if 'a' not in v:\n    print(v)", [("without", "a")]),
        ("if other in v:\n    print(v)", []),
        ("if isinstance(other, tuple):\n    print(v)", []),
    ],
)
def test_what_is_known_of_a_value(body: str, told: list[tuple[str, str]], tmp_path: Path) -> None:
    text = text_of(body, tmp_path)
    assert [(one.kind, one.name or ", ".join(one.names)) for one in guards_of(text, used(text))] == told


@pytest.mark.parametrize(
    ("body", "caught"),
    [
        ("try: print(v)\nexcept ValueError: pass", True),
        ("try: pass\nexcept ValueError: print(v)", False),
        ("try: print(v)\nfinally: pass", False),
    ],
)
def test_failures_that_are_caught(body: str, caught: bool, tmp_path: Path) -> None:
    text = text_of(body, tmp_path)
    assert in_try(text, used(text)) is caught


@pytest.mark.parametrize(
    ("body", "converted"),
    [
        ("if not isinstance(v, tuple): v = (v, 0)", True),
        ("if other: v = (v, 0)", False),
        ("v = (v, 0)", False),
        ("if not isinstance(v, tuple): pass\nelse: v = (v, 0)", False),
    ],
)
def test_conversions_behind_a_test(body: str, converted: bool, tmp_path: Path) -> None:
    text = text_of(body, tmp_path)
    (value,) = text.values["v"]
    assert is_converted(text, value, "v") is converted


@pytest.mark.parametrize(
    ("test", "key"), [("'a' in v", "a"), ("'a' not in v", "a"), ("1 in v", None), ("'a' == v", None)]
)
def test_keys_that_are_asked_for(test: str, key: str | None) -> None:
    compared = ast.parse(test, mode="eval").body
    assert isinstance(compared, ast.Compare)
    assert key_asked(compared) == key
