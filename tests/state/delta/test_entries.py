"""Entries that are made of many rows at once are those that are made of each."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.state.delta import entries, following
from compat.state.delta.entries import entries_of
from compat.state.delta.following import follow
from compat.state.delta.replica import LONGEST, MemoryReplica, Position, entry_of
from compat.state.delta.rows import Kind, Row, table_of

LONG = b"x" * LONGEST
PARTS = st.sampled_from([b"", b"a", b"b\0", LONG, LONG + b"!"])
KEYS = st.sampled_from([b"", b"a", b"b", LONG, LONG + b"!"]).map(lambda key: b"\0" + key)
TIMES = st.sampled_from([-(2**63), -1, 0, 7, 2**63 - 1])
WITHOUT_KEY = (Kind.OPERATOR, Kind.TASK, Kind.JOB)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    kind = draw(st.sampled_from([Kind.VALUE, Kind.LIST, Kind.MAP, Kind.BROADCAST, Kind.EVENT_TIMER]))
    state, key, namespace = draw(st.sampled_from(["s", "t"])), draw(KEYS), draw(PARTS)
    value = draw(st.none() | st.sampled_from([b"", b"1", b"\0\0"]))
    if kind == Kind.EVENT_TIMER:
        return Row("op", kind, 0, state, key, namespace, b"", None if value is None else b"", draw(TIMES))
    time = None if value is None else draw(st.none() | TIMES)
    map_key = b"" if kind == Kind.VALUE else draw(PARTS)
    return Row("op", kind, 0, state, key, namespace, map_key, value, time)


def identity(key: bytes) -> bytes:
    """What tells keys apart is not all that is written of them."""
    return key[1:]


def one_by_one(changed: list[Row]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for row in changed:
        key, value = entry_of(row, identity)
        if row.value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(rows(), max_size=8))
def test_of_many_rows_they_are_those_of_each(changed: list[Row]) -> None:
    with patch.object(entries, "FEW", 0):
        made = [
            each
            for keys, values in entries_of(table_of(changed, 1), lambda _: identity)
            for each in zip(keys, values, strict=True)
        ]
    expected = [
        (key, None if row.value is None else value) for row in changed for key, value in [entry_of(row, identity)]
    ]
    assert sorted(made, key=repr) == sorted(expected, key=repr)
    for key in {key for key, _ in expected}:
        assert [value for other, value in made if other == key] == [value for other, value in expected if other == key]


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_a_replica_that_follows_has_the_last_of_each(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever part of the rows is taken over at once; what is the driver's is left."""
    monkeypatch.setattr(entries, "FEW", 0)
    monkeypatch.setattr(following, "_PART", at_once)
    monkeypatch.setattr(following, "_BATCH", at_once)
    epochs = [
        [
            Row("op", Kind.VALUE, 0, "s", b"\0%d" % (number % 5), b"", b"", None if number % 4 == 3 else b"%d" % number)
            for number in range(epoch, 12 + epoch)
        ]
        for epoch in range(3)
    ]
    driver = [Row("op", kind, -1, "s", b"", b"", b"", b"1") for kind in WITHOUT_KEY]
    replica = MemoryReplica()
    tables = [table_of([*driver, *changed], number) for number, changed in enumerate(epochs)]
    assert follow(replica, Position(3, "t"), lambda _: iter(tables), lambda _: identity, lambda _: None) == "rebuilt"
    assert replica.position == Position(3, "t")
    assert replica.entries == one_by_one([row for changed in epochs for row in changed])
