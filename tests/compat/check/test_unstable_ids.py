"""Ids that two starts of a program give to different operators."""

from __future__ import annotations

import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.state.model.operators import Operator
from tests.compat.builders import operator, program


def counter(uid: str, label: str) -> Operator:
    """A counter that was made with a label."""
    return operator("Map", uid=uid, detail={"function": "Count", "made_with": {"label": label}})


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ([("u", "a"), ("v", "b")], [("u", "b"), ("v", "a")], 2),
        ([("u", "a"), ("v", "b")], [("u", "a"), ("v", "b")], 0),
        # A value that is drawn anew, such as the time of the start.
        ([("u", "a"), ("v", "b")], [("u", "c"), ("v", "d")], 0),
        ([("u", "a"), ("v", "b"), ("w", "c")], [("u", "a"), ("v", "c"), ("w", "b")], 2),
    ],
)
def test_an_id_of_another_operator_at_the_next_start(
    first: list[tuple[str, str]], second: list[tuple[str, str]], told: int
) -> None:
    one, again = (program("v1", *(counter(*each) for each in build)) for build in (first, second))
    report = check(one, one, CheckOptions(), {"old": again})
    assert [finding.rule for finding in report.findings if finding.rule == "CMP108"] == ["CMP108"] * told
