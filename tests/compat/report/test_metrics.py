"""Metrics in words."""

from __future__ import annotations

from typing import Any

import pytest

from compat.report.metrics import metric_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.5, "0.5"),
        ({"sum": 12, "count": 4, "min": 1, "max": 5}, "1 to 5, mean 3.0 of 4"),
        ({"sum": 0, "count": 0}, "none"),
        ([9, 1000, "ValueError: no", None, True], "9 / 1,000 / ValueError: no / – / True"),
        ([[1], {}], "? / ?"),
        ({"count": "many"}, "?"),
        ({"sum": 1, "count": True, "min": 1, "max": 1}, "?"),
    ],
)
def test_words(value: Any, text: str) -> None:
    assert metric_text(value) == text
