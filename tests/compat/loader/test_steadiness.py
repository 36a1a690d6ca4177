"""Programs that may differ between two starts are built twice, and only those."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from compat import comparison
from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.steadiness import is_steady

STEADY = {
    "nothing": "",
    "a function": "def count(word):\n    return word, 1\n",
    "text": "import json, re\nname = f'count {json.dumps(1)}'\n",
    "a function object": "class F:\n    def open(self, context):\n        self.x = context.id\n",
    "the examples": Path(__file__).parents[3].joinpath("compat/examples/word_count/v2.py").read_text(encoding="utf-8"),
    "items of a dict": "for key, value in {}.items():\n    print(key, value + 1)\n",
    "a dict": "totals = {}\nfor key in sorted(totals):\n    pass\n",
}
UNSTEADY = {
    "a set": "names = set(['a', 'b'])",
    "a set display": "names = {a, b}",
    "a walk over constants": "for name in {'a', 'b'}:\n    print(name)",
    "a set comprehension": "names = {n for n in []}",
    "keys that two dicts have": "names = a.keys() & b.keys()",
    "items that one dict has": "def f(a, b):\n    return a.items() - b.items()",
    "a set by another name": "from builtins import set as unordered",
    "random": "import random",
    "uuid, from inside": "def f():\n    from uuid import uuid4\n    return uuid4()",
    "time": "import time",
    "hash": "x = hash('a')",
    "id in a method": "class A:\n    def f(self):\n        return [id(self) for _ in 'ab']",
    "the environment": "import os",
}


@pytest.mark.parametrize("source", STEADY.values(), ids=STEADY)
def test_what_cannot_differ(source: str) -> None:
    assert is_steady(compile(source, "job.py", "exec"), [])


@pytest.mark.parametrize("source", UNSTEADY.values(), ids=UNSTEADY)
def test_what_may_differ(source: str) -> None:
    assert not is_steady(compile(source, "job.py", "exec"), [])


def test_a_module_without_code_may_differ() -> None:
    assert not is_steady(compile("", "job.py", "exec"), [ModuleType("native")])


JOB = """
{imports}
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1])
{body}
stream.print()
env.execute()
"""
RANDOM_UID = ("import uuid", "stream = stream.map(lambda x: x).uid(str(uuid.uuid4()))")
SET_ORDER = ("", "for name in {'alpha', 'beta', 'gamma', 'delta'}:\n    stream = stream.map(lambda x: x).uid(name)")
PLAIN = ("", "stream = stream.map(lambda x: x).uid('one')")
IMPORTED = ("from helper import name", "stream = stream.map(lambda x: x).uid(name)")


def outcome_of(folder: Path, parts: tuple[str, str]) -> Report:
    job = folder / "job.py"
    job.write_text(JOB.format(imports=parts[0], body=parts[1]), encoding="utf-8")
    (outcome,) = compare(Comparison(old=str(job), new=str(job))).outcomes
    assert isinstance(outcome, Report)
    return outcome


@pytest.mark.parametrize(
    "parts", [RANDOM_UID, SET_ORDER, IMPORTED], ids=["random uid", "order of a set", "in a module"]
)
def test_ids_that_differ_between_two_builds_are_found(tmp_path: Path, parts: tuple[str, str]) -> None:
    (tmp_path / "helper.py").write_text("import secrets\nname = secrets.token_hex(8)\n", encoding="utf-8")

    assert "CMP108" in {finding.rule for finding in outcome_of(tmp_path, parts).findings}


def test_a_steady_program_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    start = comparison.start
    monkeypatch.setattr(comparison, "start", lambda *a, **k: seeds.append(k.get("hash_seed", 0)) or start(*a, **k))

    assert "CMP108" not in {finding.rule for finding in outcome_of(tmp_path, PLAIN).findings}
    assert seeds == [0]

    outcome_of(tmp_path, SET_ORDER)
    assert seeds == [0, 0, comparison.SECOND_HASH_SEED]
