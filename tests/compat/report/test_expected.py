"""The output of each format, kept as files. ``python -m tests.compat.report.test_expected`` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.report import FORMATS
from tests.compat.report.cases import CASES, CONTEXT

EXPECTED = Path(__file__).parent / "expected"
PRINTED = [name for name in FORMATS if name != "html"]
"""The page has tests of its own, in tests/compat/view; most of its text is scripts."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", PRINTED)
def test_printed_report(name: str, case: str) -> None:
    assert FORMATS[name](CASES[case], CONTEXT) == (EXPECTED / f"{case}.{name}").read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == {f"{case}.{name}" for case in CASES for name in PRINTED}


if __name__ == "__main__":
    for each in CASES:
        for form in PRINTED:
            (EXPECTED / f"{each}.{form}").write_text(FORMATS[form](CASES[each], CONTEXT), encoding="utf-8")
