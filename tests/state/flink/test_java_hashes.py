"""Java's hash codes: as Java gave them, and as the key groups of real savepoints say."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from compat.state.flink import entries, read_metadata
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.handles import KeyGroups
from compat.state.flink.java_hashes import hash_of
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.states import HeaderReader
from compat.state.key_groups import murmur_hash
from compat.state.time import Instant
from tests.state.flink.test_transcoding import composite, enum, leaf, pojo, row_of, tuple_of

GOLDEN = Path(__file__).parents[2] / "golden"
BYTES = SerializerSnapshot(
    "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot",
    3,
    serializer="org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer",
)
LONG, STRING = leaf("Long"), leaf("String")


def signed(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


@pytest.mark.parametrize(
    ("serializer", "value", "code"),
    [
        (LONG, 5, 5),
        (LONG, -1, 0),
        (leaf("Int"), -7, -7),
        (STRING, "a", 97),
        (STRING, "\U0001f600", 1772899),
        (STRING, None, 0),
        (leaf("Boolean"), True, 1231),
        (leaf("Boolean"), False, 1237),
        (leaf("BigInt"), -1234567890123, -1912285068),
        (leaf("BigInt"), 0, 0),
        (leaf("BigDec"), Decimal("1.50"), 4652),
        (leaf("LocalDate"), date(2024, 2, 29), 4145309),
        (leaf("Date"), datetime(1970, 1, 1, 0, 0, 5), 5000),
        (leaf("Instant"), Instant(5, 7), 362),
        (leaf("Double"), 1.5, 1073217536),
        (leaf("Double"), float("nan"), 2146959360),
        (leaf("Float"), -2.5, -1071644672),
        (tuple_of(LONG, STRING), (5, "a"), 252),
        (row_of(LONG), (5,), 67),
        (row_of(STRING), ("a",), 159),
        (row_of(LONG, STRING), (5, "a"), 2205),
        (row_of(LONG), (None,), 31),
        (row_of(BYTES), (b"\x01\x02",), 1056),
    ],
)
def test_hash_codes_are_those_of_java(serializer: SerializerSnapshot, value: Any, code: int) -> None:
    assert signed(hash_of(form_of(serializer))(value)) == code


@pytest.mark.parametrize(
    "serializer",
    [
        pojo(id=LONG),
        enum("A", "B"),
        BYTES,
        tuple_of(LONG, BYTES),
        row_of(composite("org.apache.flink.api.common.typeutils.base.ListSerializer", LONG)),
    ],
    ids=["pojo", "enum", "bytes", "bytes in a tuple", "list in a row"],
)
def test_what_another_process_hashes_otherwise_or_only_a_class_knows_is_refused(serializer: SerializerSnapshot) -> None:
    with pytest.raises(Unconvertible, match="only its class knows the hash code of"):
        hash_of(form_of(serializer))


def test_keys_of_real_savepoints_are_in_the_key_groups_of_their_hash_codes() -> None:
    found: Counter[bool] = Counter()
    for folder in [*(GOLDEN / "savepoints").iterdir(), *(GOLDEN / "java" / "2.3.0").glob("*/savepoint")]:
        if (folder / "_metadata").exists():
            found.update(_placed(folder))
    assert found[False] == 0
    assert found[True] > 500


def _placed(folder: Path):
    savepoint = read_metadata(folder)
    headers, hashes = HeaderReader(savepoint), {}
    for operator in savepoint.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed
            header = headers.keyed(handle) if isinstance(handle, KeyGroups) else None
            if header is not None and header.key_serializer is not None:
                try:
                    hashes[operator.id] = hash_of(form_of(header.key_serializer)), operator.max_parallelism
                except Unconvertible:
                    continue
    for entry in entries(savepoint, lambda state: state.kind.keyed and state.key_type is not None):
        if entry.state.operator_id in hashes:
            code, most = hashes[entry.state.operator_id]
            yield murmur_hash(signed(code(entry.key))) % most == entry.key_group
