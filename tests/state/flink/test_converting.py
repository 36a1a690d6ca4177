"""Entries that are converted together: neither too many, nor too large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.contents import Entry
from compat.state.flink.converting import batches


@given(st.lists(st.integers(0, 3 << 20), max_size=12), st.integers(0, 9000))
def test_all_entries_come_in_their_order(sizes: list[int], small: int) -> None:
    large = [bytes(size) for size in sizes]
    found = [Entry(place, b"key", value) for place, value in enumerate([*large, *([b""] * small)])]
    made = list(batches(iter(found)))
    assert [entry for batch in made for entry in batch] == found
    for batch in made:
        assert 0 < len(batch) <= 4096
        assert sum(len(entry.value) for entry in batch[:-1]) < 4 << 20
