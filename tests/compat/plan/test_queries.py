"""What Flink says of the operators of queries, in its parts."""

from __future__ import annotations

import pytest

from compat.plan.queries import Description, description, items
from tests.compat.builders import operator


@pytest.mark.parametrize(
    ("told", "keyed"),
    [
        ("[6]:GroupAggregate(groupBy=[k, k2], select=[k, k2, COUNT(*) AS n])", {"groupBy=[k, k2"}),
        ("[6]:Join(joinType=[InnerJoin], where=[(k = d)], select=[k, d])", {"where=[(k = d)"}),
        ("[1]:TableSourceScan(table=[[c, d, src]], fields=[id])", {"table=[[c, d, src"}),
        ("[1]:TableSourceScan(table=[[c, d, src, project=[id]]], fields=[id])", {"table=[[c, d, src"}),
        ("[4]:Calc(select=[k])", set()),
    ],
)
def test_the_keys_of_an_operator(told: str, keyed: set[str]) -> None:
    found = description(operator("One", description=told))
    assert found is not None
    assert found.keyed == keyed


def test_commas_in_brackets_are_none_between_items() -> None:
    assert list(items("groupBy=[k, k2], select=[COUNT(a, b)], x")) == ["groupBy=[k, k2]", "select=[COUNT(a, b)]", "x"]
    assert list(items(" ")) == []


def test_what_is_not_numbered_is_any_operators_own() -> None:
    own = operator("Map", description="Map(of=[mine])")
    assert description(own) is None
    assert description(own, numbered=False) == Description("Map", "of=[mine]")
