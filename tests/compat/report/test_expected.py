"""The output of each format, kept as files. ``python -m tests.compat.report.test_expected`` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.report import FORMATS
from tests.compat.report.cases import CASES, CONTEXT

EXPECTED = Path(__file__).parent / "expected"
PRINTED = [*(name for name in FORMATS if name != "html"), "verbose"]
"""The page has tests of its own, in tests/compat/view; most of its text is scripts. ``verbose`` is the text in full."""


def printed(form: str, case: str) -> str:
    if form == "verbose":
        return FORMATS["text"](CASES[case], replace(CONTEXT, verbose=True))
    return FORMATS[form](CASES[case], CONTEXT)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", PRINTED)
def test_printed_report(form: str, case: str) -> None:
    assert printed(form, case) == (EXPECTED / f"{case}.{form}").read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == {f"{case}.{form}" for case in CASES for form in PRINTED}


if __name__ == "__main__":
    for each in CASES:
        for one in PRINTED:
            (EXPECTED / f"{each}.{one}").write_text(printed(one, each), encoding="utf-8")
