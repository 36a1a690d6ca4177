"""Key groups of full snapshots, and the entries in them."""

from pathlib import Path

import pytest

from compat.state.flink.contents import Entry, Group, group_of, places, read_groups, without
from compat.state.flink.handles import KeyGroups
from compat.state.flink.metadata import read_metadata

GOLDEN = Path(__file__).parents[2] / "golden"
CANONICAL = ["savepoints/max_parallelism_p3_canonical", "savepoints/small_uid_p2_canonical"]
CANONICAL += ["java/2.3.0/pojo_field_added/savepoint", "java/2.3.0/connect_swapped/savepoint"]


def groups(name):
    found = read_metadata(GOLDEN / name)
    for operator in found.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed
            if isinstance(handle, KeyGroups):
                for group in read_groups(found, handle, places(handle)):
                    yield handle, group


@pytest.mark.parametrize("name", CANONICAL)
def test_entries_make_the_key_group_again(name):
    seen = 0
    for handle, group in groups(name):
        assert handle.canonical
        entries = group.entries()
        assert entries
        assert group_of(group.number, entries) == group
        seen += len(entries)
    assert seen


def test_places_follow_each_other_up_to_the_end():
    for handle, _ in groups(CANONICAL[0]):
        found = places(handle)
        assert [one.start + one.size for one in found] == [*(one.start for one in found[1:]), handle.size]
        assert all(handle.offsets[one.number - handle.key_groups.first] == one.start for one in found)


def test_the_layout_of_the_heap_has_no_entries():
    found = list(groups("savepoints/broadcast_p2_native_files"))
    assert found
    assert {group.entries() is None for _, group in found} == {True}


def test_a_state_can_be_left_out():
    entries = [Entry(0, b"\x05a", b"1"), Entry(1, b"\x05a", b"2"), Entry(1, b"\x05b", b"3"), Entry(3, b"\x05a", b"")]
    group = group_of(5, entries)
    assert group.entries() == entries
    assert without(group, {1}).entries() == [entries[0], entries[3]]
    assert without(group, {0, 1, 3}) == Group(5, b"")
    assert without(group, ()) is group


def test_bytes_that_are_cut_off_have_no_entries():
    group = group_of(5, [Entry(0, b"\x05a", b"1")])
    assert [Group(5, group.data[:end]).entries() for end in range(1, len(group.data))] == [None] * (len(group.data) - 1)
