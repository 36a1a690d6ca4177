from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.types import Types
from compat.tables import compare
from compat.tables.difference import Change, ChangedEntry, Difference, compare_snapshots
from compat.tables.snapshots import TableEntry, TableState

STATE = TableState(
    operator="op",
    uid=None,
    operator_id="0" * 32,
    name="n",
    kind="value",
    key_type=Types.STRING(),
    value_type=Types.LONG(),
)
Contents = dict[str, int]


class Fake:
    """A snapshot of one state, in so many parts."""

    states = [STATE]

    def __init__(self, contents: Contents, parts: int = 1) -> None:
        self._contents = contents
        borders = [n * 128 // parts for n in range(parts + 1)]
        self._parts = [range(low, high) for low, high in pairwise(borders)]

    def parts(self):
        return self._parts

    def entries(self, states, part=None):
        for key, value in self._contents.items():
            group = sum(map(ord, key)) * 37 % 256 // 2
            if part is None or group in part:
                yield TableEntry(STATE, group, key, None, None, value, None)


def found(differences: list[Difference], state: str) -> Difference:
    (one,) = [each for each in differences if each.state.name == state]
    return one


def test_what_went_on_in_between(savepoint: Callable[..., str]) -> None:
    before, after = savepoint(epochs=1), savepoint(epochs=2)
    differences = compare(before, after, operator="keeps")
    total = found(differences, "sum")
    assert (total.before, total.after) == (3, 3)
    assert total.changes == {Change.ADDED: 0, Change.REMOVED: 0, Change.CHANGED: 3}
    assert ChangedEntry(Change.CHANGED, "k1", None, None, "1", "5") in total.examples
    parity = found(differences, "parity")
    assert ChangedEntry(Change.ADDED, "k0", None, "false", None, "3") in parity.examples
    assert parity.changes[Change.ADDED] == 3


def test_a_savepoint_does_not_differ_from_itself_at_another_parallelism(savepoint: Callable[..., str]) -> None:
    differences = compare(savepoint(parallelism=1), savepoint(parallelism=3))
    assert [each.state.name for each in differences if each.differs and each.state.uid == "keeps"] == []


CONTENTS = st.dictionaries(st.text("abcdef", max_size=3), st.integers(0, 3), max_size=12)


@given(CONTENTS, CONTENTS, st.integers(1, 5), st.integers(1, 5))
def test_every_difference_is_counted_once(old: Contents, new: Contents, parts: int, others: int) -> None:
    (one,) = compare_snapshots(Fake(old, parts), Fake(new, others), examples=1000)
    assert (one.before, one.after) == (len(old), len(new))
    assert one.changes == {
        Change.ADDED: len(new.keys() - old.keys()),
        Change.REMOVED: len(old.keys() - new.keys()),
        Change.CHANGED: sum(old[key] != new[key] for key in old.keys() & new.keys()),
    }
    assert len(one.examples) == sum(one.changes.values())
    assert one.differs == (old != new)


@pytest.mark.parametrize(
    ("old", "new", "added", "removed"), [([1, 1, 2], [1, 2, 3], 1, 1), ([], [5], 1, 0), ([1, 2], [2, 1], 0, 0)]
)
def test_elements_without_a_key_are_counted(old: list[int], new: list[int], added: int, removed: int) -> None:
    class Elements(Fake):
        def entries(self, states, part=None):
            for value in self._contents:
                yield TableEntry(STATE, None, None, None, None, value, None)

    (one,) = compare_snapshots(Elements(old), Elements(new))
    assert (one.changes[Change.ADDED], one.changes[Change.REMOVED]) == (added, removed)
