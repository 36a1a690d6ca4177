"""Functions of the Table API are written with equal bytes for equal code, wherever and whenever that is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

needs.module("cloudpickle", "pyflink")

CLIENT = Path(__file__).parents[5] / "compat" / "loader" / "jvm" / "pyflink"
WRITES = """
import hashlib, sys, types
sys.path.insert(0, {client!r})
import alike
import cloudpickle
main = sys.modules["__main__"]
main.__file__ = {file!r}
exec(compile({source!r}, {file!r}, "exec"), main.__dict__)
print(hashlib.sha256(alike.dumped(main.made)).hexdigest(), main.__file__ == {file!r})
"""
AGGREGATE = """
RATE = 2

class Total:
    def add(self, sum, value):
        return sum + [one * RATE for one in value]

made = Total()
"""


def written(source: str, file: str = "/a/old.py") -> str:
    script = WRITES.format(client=str(CLIENT), source=source, file=file)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    digest, kept = done.stdout.split()
    assert kept == "True"
    return digest


def test_where_code_stands_is_no_difference() -> None:
    assert written(AGGREGATE) == written(f"# moved\n\n{AGGREGATE}", "/b/new.py")


@pytest.mark.parametrize("edit", [("* RATE", "+ RATE"), ("RATE = 2", "RATE = 3"), ("class Total", "class Sum")])
def test_other_code_is_a_difference(edit: tuple[str, str]) -> None:
    edited = AGGREGATE.replace(*edit).replace("Total()", "Sum()" if edit[1] == "class Sum" else "Total()")
    assert written(edited) != written(AGGREGATE)


def test_a_lambda_is_written_alike_too() -> None:
    assert written("made = lambda one: one + 1") == written("\nmade = lambda one: one + 1", "/b.py")
