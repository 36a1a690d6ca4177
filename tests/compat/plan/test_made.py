"""The classes of a program that a function may put into pickles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from compat.plan.made import classes_known, classes_made, classes_written

JOB = """
import models
from models import Pair as P

class Own: pass

class Function:
    def process(self, n): return P(n, 1), models.Kind.A, Own()
"""
MODELS = """
import enum, typing, decimal

class Pair(typing.NamedTuple):
    count: int
    last: int

class Kind(enum.Enum):
    A = 1

class Unused: pass
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A program of two modules."""
    (tmp_path / "job_of_two.py").write_text(JOB)
    (tmp_path / "models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield __import__("job_of_two")
    for name in ("job_of_two", "models"):
        sys.modules.pop(name, None)


def test_classes_of_other_modules_count_where_a_function_mentions_them(job: ModuleType) -> None:
    function = job.Function()
    assert classes_made(function) == ["job_of_two:Own", "models:Kind", "models:Pair"]
    assert "models:Unused" in classes_known(function)
    assert classes_written(function).keys() == {"job_of_two:Own", "models:Kind", "models:Pair"}


def test_the_classes_of_libraries_do_not(job: ModuleType) -> None:
    assert {name.partition(":")[0] for name in classes_known(job.Function())} == {"job_of_two", "models"}


def test_fields_in_another_order_are_written_otherwise(job: ModuleType) -> None:
    before = classes_written(job.Function())["models:Pair"]
    sys.modules["models"].Pair._fields = ("last", "count")  # type: ignore[attr-defined]
    assert classes_written(job.Function())["models:Pair"] != before
