"""A reason is told once: not below a title that has it already."""

from __future__ import annotations

import pytest

from compat.check.findings import Level
from compat.report.summary import short_reason
from tests.compat.builders import finding


@pytest.mark.parametrize(
    ("title", "reason", "told"),
    [
        (
            "2 operators have other ids: its uid was changed from 'a' to 'b'",
            "Its uid was changed from 'a' to 'b'.",
            False,
        ),
        ("the id of 'Count' has moved", "Its uid was changed from 'a' to 'b'.", True),
    ],
)
def test_a_title_that_has_the_reason(title: str, reason: str, told: bool) -> None:
    one = finding("CMP102", Level.ERROR, title, reason=reason)
    assert short_reason(one) == (reason if told else "")
