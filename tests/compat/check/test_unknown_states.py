"""States that could not be found out: the advice fits who could have told them."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from tests.compat.builders import operator, program

QUERY = "[3]:PythonGroupAggregate(groupBy=[k], select=[k, total(v) AS s])"


@pytest.mark.parametrize(
    ("language", "description", "words"),
    [
        ("java", None, "Ask for all states in open()"),
        ("python", None, "Ask for all states in open()"),
        ("python", QUERY, "get_accumulator_type()"),
        ("sql", QUERY, "open() of the functions that it calls"),
    ],
)
def test_what_to_do_about_states_that_are_not_known(language: str, description: str | None, words: str) -> None:
    sides = (
        program(
            name,
            operator("Aggregate", uid="a", states=None, states_unknown="open() failed", description=description),
            language=language,
        )
        for name in ("old", "new")
    )
    (finding,) = (one for one in check(*sides).findings if one.rule == "CMP410")
    assert words in finding.fixes[0].text
