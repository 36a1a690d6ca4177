"""What real Flink read from savepoints that recipes made, as it was recorded; `in_flink` records it anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[2] / "golden" / "migrations"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in (GOLDEN / "results.jsonl").read_text().splitlines()]
UPGRADE = "1.20.0-to-2.3.0"
KEPT = {"rename-state", "rename-operator"}
"""Steps behind which NEW reads what OLD had left, as it was."""

CONVERTED = {
    "date_to_instant": {"val.st 1": "1970-01-01T00:00:01Z", "val.st 2": "1970-01-01T00:00:02Z"},
    "pojo_field_renamed": {"val.st 0": "{n=11,last=30,name=u0,points=110}"},
    "avro_demoted": {"fn.st 0": "{n=100,name=u0}"},
    "avro_field_added_no_default": {"fn.st 1": "{n=101,name=u1,extra=9}"},
    "flinkscala_case_class_field_added": {"account 0": "83 10209"},
    "flinkscala_enumeration_reordered": {"account 0": "High 630", "account 1": "High 590"},
    "kotlin_data_class_field_added": {"account 0": "24 828"},
    "kotlin_enum_reordered": {"account 0": "HIGH 759", "account 1": "LOW 782"},
    "kotlin_pojo_to_data_class": {"account 0": "22 693"},
    "kotlin_type_changed": {"account 0": "694"},
    "scala213_enumeration_reordered": {"account 0": "High 693", "account 1": "Low 715"},
    "scala213_case_class_field_added": {"account 0": "27 1053"},
    "scala3_case_class_field_added": {"account 0": "25 900"},
    "scala3_enum_reordered": {"account 0": "High 630", "account 1": "Low 651"},
    "scala3_java_enum_reordered": {"account 0": "High 693", "account 1": "Low 715"},
    "enum_in_kryo_reordered": {"val.st 1": "{n=10,c=GREEN}", "val.st 0": "{n=11,c=RED}"},
    "key_pojo_field_added": {"count.n k0": "11", "count.n k1": "10"},
    "key_pojo_field_removed": {"count.n k0": "11", "count.n k2": "10"},
    "key_pojo_hash_changed": {"count.n k0": "11", "count.n k2": "10"},
    "key_tuple_to_single": {"count.n 0": "11", "count.n 1": "11"},
    "kryo_field_removed": {"val.st 1": "{n=11,last=31,name=u1}"},
    "kryo_field_renamed_longs": {"val.st 0": "{n=12,last=533,zz=777}"},
    "kryo_registered": {"val.st 1": "{n=11,last=31,name=u1}"},
    "oplist_to_union": {"op.list 0": "[7001, 7002]"},
    "oplist_type": {"op.list 0": "[7001, 7002]"},
    "pojo_subclass_field_added": {"val.st 2": "{n=13,d=130,extra=9}"},
    "pojo_subclass_renamed": {"val.st 2": "{n=10,d=100}", "val.st 0": "{n=11,d=110}"},
    "q_agg_added": {"0": "20, null", "1": "20, null"},
    "q_agg_reordered": {"0": "6300, 20", "1": "5900, 20"},
    "q_dedup_col_added": {"0": "60, null", "1": "58, null"},
    "tuple_arity": {"val.st 0": "(u0,11,5)", "val.st 1": "(u1,11,5)"},
    "tuple_field_type": {"val.st 0": "(u0,11)", "val.st 1": "(u1,11)"},
    "value_to_map": {"fn.st 0": "{k0=11}", "fn.st 2": "{k0=10}"},
    "value_to_reducing": {"fn.st 0": "11", "fn.st 1": "11"},
    "tuple_to_pojo": {"val.st 0": "{n=12,last=7,name=u0}", "val.st 1": "{n=12,last=7,name=u1}"},
}
"""What NEW read on its newest Flink of values that were written in another form, by state and key."""
FROM_FLINK_1 = {
    "enum_in_kryo_reordered": {"val.st 0": "{n=11,c=RED}", "val.st 1": "{n=11,c=GREEN}"},
    "kotlin_data_class_same": {"account 0": "25 900", "account 1": "24 852"},
    "kryo_field_renamed_longs": {"val.st 0": "{n=12,last=533,zz=777}"},
    "kryo_same": {"val.st 0": "{n=12,last=33,name=u0}", "val.st 1": "{n=11,last=31,name=u1}"},
    "scala213_case_class_same": {"account 0": "21 630", "account 1": "21 651"},
    "scala213_enumeration_reordered": {"account 0": "High 630", "account 2": "Low 610"},
    "scala3_enum_reordered": {"account 0": "High 975", "account 1": "Low 925"},
}
"""What Flink 2 read of what Kryo of Flink 1 had written."""
NEWEST = {name: "1.20.0" for name in CONVERTED if name.startswith("flinkscala")}


def steps(record: dict[str, Any]) -> set[str]:
    return {step["step"] for step in record["recipe"]["steps"]}


def left(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The state and key of a value that OLD had left, and the value."""
    for state, told in record["before"].items():
        for example in (told.get("example") or {}).values():
            if isinstance(example, dict) and example.get("old") is not None:
                yield f"{state} {example['key']}", example["old"]


def named(record: dict[str, Any]) -> str:
    return f"{record['name']}-{record['version']}"


@pytest.mark.parametrize("record", RECORDS, ids=named)
def test_the_new_version_ran_from_it_on_each_backend(record: dict[str, Any]) -> None:
    assert set(record["read"]) == {"hashmap", "rocksdb"}
    for found in record["read"].values():
        assert "failed" not in found
        assert "drop-operator" in steps(record) or found.get("src.offset -") != "null"


@pytest.mark.parametrize("record", [one for one in RECORDS if steps(one) <= KEPT], ids=named)
def test_values_that_got_other_names_or_owners_are_read_as_they_were(record: dict[str, Any]) -> None:
    for where, value in left(record):
        for found in record["read"].values():
            assert found[where] == value, where


@pytest.mark.parametrize(
    "record",
    [one for one in RECORDS if one["name"] in CONVERTED and one["version"] == NEWEST.get(one["name"], "2.3.0")],
    ids=named,
)
def test_values_in_another_form_are_read_as_the_recipe_says(record: dict[str, Any]) -> None:
    assert steps(record) <= {"convert-state", "convert-key", "rename-field", "rename-class"}
    for found in record["read"].values():
        assert found | CONVERTED[record["name"]] == found


@pytest.mark.parametrize("record", [one for one in RECORDS if one["version"] == UPGRADE], ids=named)
def test_flink_2_reads_of_a_savepoint_of_flink_1_what_flink_1_would(record: dict[str, Any]) -> None:
    same = [one for one in RECORDS if one["version"] == "1.20.0" and one["name"] == record["name"]]
    for found in record["read"].values():
        assert found | FROM_FLINK_1.get(record["name"], {}) == found
        for one in same:
            assert steps(one) != steps(record) or found in one["read"].values()


def test_each_step_was_restored() -> None:
    kinds = set().union(*map(steps, RECORDS))
    assert kinds >= {"rename-operator", "drop-operator", "rename-state", "drop-state", "rename-field", "convert-state"}
    assert kinds >= {"convert-key", "rename-class"}
    assert {record["version"] for record in RECORDS} == {"2.3.0", "1.20.0", UPGRADE}
    assert {record["name"] for record in RECORDS if record["version"] == UPGRADE} >= FROM_FLINK_1.keys()
