"""What real Flink read of a real broker from savepoints whose positions a recipe moved (``record_kafka_moved``)."""

from __future__ import annotations

import json

import pytest

from tests.compat.pairs.record_kafka_moved import ALL_OF_ONE, READ, RECIPES, RECORDS

RECORDED = {
    (connector, name): one
    for connector, records in json.loads(RECORDS.read_text(encoding="utf-8")).items()
    for name, one in records["recipes"].items()
}


def records(*begins: int) -> list[str]:
    """The records of each partition from one on."""
    return [f"{number}:{place}" for number, begin in enumerate(begins) for place in range(begin, ALL_OF_ONE)]


READ_BY = {
    "nothing": records(0, 0),  # the new topic is found, and read from its beginning
    "topic": records(READ[1], READ[0]),  # its partitions have changed places, and their offsets have not
    "partitions": records(*READ),
    "again from the first": records(0, READ[1]),
    "from the end": [],
}


@pytest.mark.parametrize(("connector", "name"), RECORDED)
def test_it_goes_on_where_the_recipe_says(connector: str, name: str) -> None:
    assert RECORDED[connector, name] == {"read": READ_BY[name], "outcome": "runs"}


def test_every_recipe_is_recorded() -> None:
    assert {name for _, name in RECORDED} == READ_BY.keys() == RECIPES.keys()
