"""Savepoints that Flink wrote, and the programs that wrote them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Report
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from tests.compat.savepoint.golden import GOLDEN, SAVEPOINTS, saved

__all__ = ["CLUSTER", "GOLDEN", "SAVEPOINTS", "Check", "check", "pairs", "saved"]

CLUSTER = {"parallelism.default": "2", "python.execution-mode": "process"}

Check = Callable[..., Report | Undecided]


def pairs() -> list[dict[str, Any]]:
    """The recorded pairs of programs, with what a real restore did; OLD's savepoint is in ``savepoints_of_pairs``."""
    with gzip.open(GOLDEN / "pyflink-2.3" / "pairs.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Checks a savepoint against the text of a program; ``names`` is the text of the program that wrote it."""

    def run(
        savepoint: Path, program: str, *, names: str | None = None, options: dict[str, str] | None = None, **more: Any
    ):
        new = tmp_path / "new.py"
        new.write_text(program, encoding="utf-8")
        if names is not None:
            (tmp_path / "old.py").write_text(names, encoding="utf-8")
            more["names"] = str(tmp_path / "old.py")
        load = LoadOptions(options={**CLUSTER, **(options or {})}, flink=more.pop("flink", "2.3"))
        (outcome,) = compare(Comparison(str(savepoint), str(new), load=load, **more)).outcomes
        return outcome

    return run
