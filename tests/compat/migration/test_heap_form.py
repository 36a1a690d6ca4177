"""What real Flink read of migrated state that was in the heap's own form, as it was recorded; `heap_form` records it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[2] / "golden"


def lines(*place: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.joinpath(*place).read_text().splitlines()]


RECORDS = lines("heap_form", "restored.jsonl")


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: f"{one['name']}-{one['version']}")
def test_flink_read_what_it_reads_of_the_canonical_savepoint_after_the_same_recipe(record: dict[str, Any]) -> None:
    (same,) = (
        one
        for one in lines("migrations", "results.jsonl")
        if (one["name"], one["version"]) == (record["name"], record["version"])
    )
    found, expected = record["read"]["hashmap"], same["read"]["hashmap"]
    assert "failed" not in found
    assert {key: value for key, value in found.items() if key != "src.offset -"} == {
        key: value for key, value in expected.items() if key != "src.offset -"
    }


def test_names_fields_keys_and_kinds_were_restored_in_both_versions() -> None:
    assert {record["version"] for record in RECORDS} == {"2.3.0", "1.20.0"}
    assert {record["name"] for record in RECORDS} >= {"state_renamed", "pojo_field_renamed", "key_tuple_to_single"}
