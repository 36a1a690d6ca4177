"""Settings written into a program: what changes is what is needed, in the style of the lines around it."""

from __future__ import annotations

import ast

import pytest

from compat.check.findings import Fix
from compat.fix.python import rewrite

FIX = Fix(text="Do it.")


def end_of(source: str, code: str) -> tuple[int, int]:
    """Where the first call of that code ends, in bytes: the way in which Python tells it."""
    position = source.index(code) + len(code)
    before = source[:position].encode()
    return before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1)


def edited(source: str, call: str, **settings: str) -> tuple[str, list[str]]:
    calls = {end_of(source, call): {method: (value, FIX) for method, value in settings.items()}}
    result = rewrite(source.encode(), calls, {})
    ast.parse(result.source)
    return result.source.decode(), [refusal.reason for refusal in result.refused]


CASES = {
    "at the end of a line": (
        "s.map(f).process(P())  # counts\n",
        's.map(f).process(P()).uid("a")  # counts\n',
    ),
    "within a line": (
        "s.map(f).process(P()).name('x').print()\n",
        "s.map(f).process(P()).uid(\"a\").name('x').print()\n",
    ),
    "a line of its own": (
        "x = (\n    s.map(f)\n    .process(P())\n    .name('x')\n)\n",
        "x = (\n    s.map(f)\n    .process(P())\n    .uid(\"a\")\n    .name('x')\n)\n",
    ),
    "at the end of the parentheses": (
        "x = (\n    s.map(f)\n    .process(P())\n)\n",
        'x = (\n    s.map(f)\n    .process(P())\n    .uid("a")\n)\n',
    ),
    "a comment stays where it is": (
        "x = (\n    s\n    .process(P())  # counts\n    # and names\n    .name('x')\n)\n",
        "x = (\n    s\n    .process(P())  # counts\n    .uid(\"a\")\n    # and names\n    .name('x')\n)\n",
    ),
    "a comment before the end stays where it is": (
        "x = (\n    s\n    .process(P())  # counts\n)\n",
        'x = (\n    s\n    .process(P())  # counts\n    .uid("a")\n)\n',
    ),
    "backslashes": (
        "x = s \\\n    .process(P()) \\\n    .name('x')\n",
        "x = s \\\n    .process(P()) \\\n    .uid(\"a\") \\\n    .name('x')\n",
    ),
    "an argument of another call": (
        "show(\n    s\n    .process(P()),  # counts\n    2,\n)\n",
        'show(\n    s\n    .process(P()).uid("a"),  # counts\n    2,\n)\n',
    ),
    "arguments on lines of their own": (
        "x = s.key_by(k).process(\n    P(),\n)\n",
        'x = s.key_by(k).process(\n    P(),\n).uid("a")\n',
    ),
    "parentheses around": ("x = (s.process(P()))\n", 'x = (s.process(P()).uid("a"))\n'),
    "another argument": ("s.process(P()).name('n').uid('b')\n", "s.process(P()).name('n').uid(\"a\")\n"),
    "on the variable": (
        "def main():\n    x = s.process(P())\n    x.name('n').uid('b')\n",
        "def main():\n    x = s.process(P())\n    x.name('n').uid(\"a\")\n",
    ),
    "another function's variable is another one": (
        "def main():\n    x = s.process(P())\n\ndef other(x):\n    x.uid('b')\n",
        "def main():\n    x = s.process(P()).uid(\"a\")\n\ndef other(x):\n    x.uid('b')\n",
    ),
    "letters beyond ASCII": ("é = s.map('ü').process(P())\n", "é = s.map('ü').process(P()).uid(\"a\")\n"),
    "line ends of Windows": ("x = 1\r\ns.process(P())\r\n", 'x = 1\r\ns.process(P()).uid("a")\r\n'),
    "no line end at the end": ("s.process(P())", 's.process(P()).uid("a")'),
    "in a lambda": ("f = lambda s: s.process(P())\n", 'f = lambda s: s.process(P()).uid("a")\n'),
    "in a comprehension": ("[s.process(P()) for s in all]\n", '[s.process(P()).uid("a") for s in all]\n'),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_the_call_is_put_behind_the_one_that_makes_the_operator(before: str, after: str) -> None:
    assert edited(before, "process(\n    P(),\n)" if "\n    P()" in before else "process(P())", uid='"a"') == (
        after,
        [],
    )


def test_several_settings_keep_their_order_and_the_comment() -> None:
    before = "x = (\n    s\n    .process(P())  # counts\n)\n"
    after = 'x = (\n    s\n    .process(P())  # counts\n    .uid("a")\n    .set_uid_hash("b")\n)\n'
    assert edited(before, "process(P())", uid='"a"', set_uid_hash='"b"') == (after, [])


def test_calls_of_one_line_are_told_apart() -> None:
    source = "s.process(A()).process(B())\n"
    calls = {
        end_of(source, "process(A())"): {"uid": ('"a"', FIX)},
        end_of(source, "process(B())"): {"uid": ('"b"', FIX)},
    }
    assert rewrite(source.encode(), calls, {}).source == b's.process(A()).uid("a").process(B()).uid("b")\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("env = E.get_execution_environment()\nenv.set_max_parallelism(256)\n", "env.set_max_parallelism(128)"),
        ("e = E.get_execution_environment()\ne.set_parallelism(2).set_max_parallelism(MOST)\n", "(2).set_max_parallelism(128)"),
        ("env.get_config().set_max_parallelism(max_parallelism=256)\n", "set_max_parallelism(max_parallelism=128)"),
        ("E.get_execution_environment().set_max_parallelism(256)\n", "set_max_parallelism(128)"),
        ("env.set_max_parallelism(9)\nx = f()\nx.set_max_parallelism(9)\n", "(128)\nx = f()\nx.set_max_parallelism(9)"),
    ],
)  # fmt: skip
def test_the_environment_s_setting(before: str, after: str) -> None:
    result = rewrite(before.encode(), {}, {"set_max_parallelism": ("128", FIX)})
    assert result.refused == ()
    assert after in result.source.decode()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = s.process(P())\nx.uid('a')\nx.uid('b')\n", "called 2 times"),
        ("s.process(P()).uid(*names)\n", "not a single value"),
        ("makers[0].process(P())\n"[:-2] + "\n", "could not be read as Python"),
        ("\n", "no call ends"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(source: str, reason: str) -> None:
    place = (1, len("s.process(P())") + 4 * source.startswith("x = "))
    result = rewrite(source.encode(), {place: {"uid": ('"a"', FIX)}}, {})
    assert result.source == source.encode()
    assert reason in result.refused[0].reason


def test_an_environment_that_the_program_does_not_set_is_refused() -> None:
    result = rewrite(b"env = make()\n", {}, {"set_max_parallelism": ("128", FIX)})
    assert "an option of the cluster may set it" in result.refused[0].reason


def test_a_file_of_another_encoding() -> None:
    source = "# -*- coding: latin-1 -*-\nx = 'é'.process(P())\n"
    end = (2, len("x = 'é'.process(P())".encode()))
    good = rewrite(source.encode("latin-1"), {end: {"uid": ('"ü"', FIX)}}, {})
    assert good.source.decode("latin-1") == source.replace("(P())", '(P()).uid("ü")')
    bad = rewrite(source.encode("latin-1"), {end: {"uid": ('"字"', FIX)}}, {})
    assert "lacks a character" in bad.refused[0].reason
