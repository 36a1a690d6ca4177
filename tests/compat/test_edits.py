"""Edits that change nothing are compatible, and those that give old state another meaning are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Verdict
from compat.comparison import Comparison, compare

FILE = Path(__file__).parents[1] / "golden" / "drawn" / "edits.json"
EDITS: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def verdict(folder: Path, one: dict[str, Any]) -> Verdict:
    """What is said of a program and the same with other words in places."""
    old, new = folder / "old.py", folder / "new.py"
    text: str = EDITS["programs"][one["program"]]
    old.write_text(text, encoding="utf-8")
    for before, after in one["edits"]:
        assert before in text, before
        text = text.replace(before, after)
    new.write_text(text, encoding="utf-8")
    (report,) = compare(Comparison(str(old), str(new))).outcomes
    return report.verdict


@pytest.mark.parametrize("name", EDITS["same"])
def test_the_same_in_other_words(name: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, EDITS["same"][name]) is Verdict.COMPATIBLE


@pytest.mark.parametrize("name", EDITS["other"])
def test_another_meaning(name: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, EDITS["other"][name]) in (Verdict.INCOMPATIBLE, Verdict.UNKNOWN)
