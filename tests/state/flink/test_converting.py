"""Entries that are converted together: neither too many, nor too large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.contents import Entry
from compat.state.flink.converting import batches


@given(st.lists(st.integers(0, 9), max_size=9).map(sorted), st.sampled_from([1, 4095, 4096, 4097, 9000]))
def test_entries_that_belong_together_are_in_one(keys: list[int], times: int) -> None:
    found = [Entry(0, bytes([key]), b"") for key in keys for _ in range(times)]
    made = list(batches(found, lambda entry: entry.key))
    assert [entry for batch in made for entry in batch] == found
    assert sum(len({entry.key for entry in batch}) for batch in made) == len(set(keys))


@given(st.lists(st.integers(0, 3 << 20), max_size=12), st.integers(0, 9000))
def test_all_entries_come_in_their_order(sizes: list[int], small: int) -> None:
    large = [bytes(size) for size in sizes]
    found = [Entry(place, b"key", value) for place, value in enumerate([*large, *([b""] * small)])]
    made = list(batches(iter(found)))
    assert [entry for batch in made for entry in batch] == found
    for batch in made:
        assert 0 < len(batch) <= 4096
        assert sum(len(entry.value) for entry in batch[:-1]) < 4 << 20
