"""Few rows are looked at one by one, many by Arrow: both come to the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from compat.state.delta import compaction, rows
from compat.state.delta import table as tables
from compat.state.delta.compaction import latest
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import FEW, Kind, Row, counted, table_of, together, write_rows

PART = st.sampled_from([b"", b"a", b"b"])
ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from(["one", "other"]),
        st.sampled_from([Kind.VALUE, Kind.MAP, Kind.EVENT_TIMER]),
        st.integers(-1, 2),
        st.sampled_from(["count", "seen"]),
        PART,
        PART,
        PART,
        st.none() | PART,
        st.sampled_from([None, 5, 7]),
    ),
    max_size=6,
)
EPOCHS = st.lists(ROWS, min_size=1, max_size=5)


@contextmanager
def at_most(few: int) -> Iterator[None]:
    """While this is entered, so many rows are few."""
    with patch.object(rows, "FEW", few), patch.object(tables, "FEW", few), patch.object(compaction, "FEW", few):
        yield


@settings(max_examples=60)
@given(EPOCHS, st.sampled_from([frozenset[str](), frozenset({"one"})]))
def test_the_last_rows_are_the_same(epochs: list[list[Row]], pickled: frozenset[str]) -> None:
    table = together([table_of(changed, epoch) for epoch, changed in enumerate(epochs)])
    found = []
    for few in (0, FEW):
        with at_most(few), patch.object(compaction, "identity_of", lambda key: key[:0]):
            found.append(latest(table, pickled).to_pylist())
    assert found[0] == found[1]


@settings(max_examples=20)
@given(EPOCHS, st.integers(0, 4), st.integers(0, 2))
def test_the_changes_are_the_same(tmp_path_factory: Any, epochs: list[list[Row]], after: int, first: int) -> None:
    log = SnapshotLog.create(tmp_path_factory.mktemp("log"))
    for epoch, changed in enumerate(epochs, start=1):
        log.commit(epoch, [write_rows(log.path, changed, epoch)] if changed else [], {"token": "t"})
    found = []
    for few in (0, FEW):
        with at_most(few):
            found.append(list(log.changes(after, range(first, 3), frozenset({"one"}))))
    assert found[0] == found[1]


def test_rows_are_counted() -> None:
    changed = [Row("one", Kind.VALUE, number % 2, "count", b"", b"", b"", b"") for number in range(6)]
    table = table_of(changed, 1).select(["operator_id", "key_group"])
    for few in (0, FEW):
        with at_most(few):
            assert counted(table) == {("one", 0): 3, ("one", 1): 3}
