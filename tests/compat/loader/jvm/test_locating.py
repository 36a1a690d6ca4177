"""The first value that fails is found among many, in few attempts."""

import pytest

from compat.loader.jvm.harness import OperatorFailed
from compat.loader.jvm.locating import locate
from compat.state.flink.contents import Entry, Group, group_of


def groups(count, size):
    return [
        group_of(number, [Entry(0, bytes([number, place]), b"v") for place in range(size)]) for number in range(count)
    ]


def fails_on(*keys):
    calls = []

    def attempt(part):
        calls.append(part)
        for group in part:
            for entry in group.entries() or ():
                if entry.key in keys:
                    raise OperatorFailed(f"at {entry.key.hex()}")

    return attempt, calls


@pytest.mark.parametrize("bad", [(0, 0), (3, 7), (9, 15), (15, 15)])
def test_the_entry_that_fails(bad):
    attempt, calls = fails_on(bytes(bad))
    found = locate(groups(16, 16), attempt)
    assert (found.group.number, found.entry.key) == (bad[0], bytes(bad))
    assert str(found.failure) == f"at {bytes(bad).hex()}"
    assert len(calls) < 12


def test_the_first_of_several():
    attempt, _ = fails_on(bytes([4, 1]), bytes([2, 3]), bytes([2, 5]))
    assert locate(groups(8, 8), attempt).entry.key == bytes([2, 3])


def test_a_key_group_that_cannot_be_taken_apart():
    def attempt(part):
        if any(group.number == 3 for group in part):
            raise OperatorFailed("no")

    found = locate([Group(number, b"\0\0\0\x05compressed") for number in range(6)], attempt)
    assert (found.group.number, found.entry) == (3, None)


def test_what_fails_only_together_is_not_blamed_on_one():
    def attempt(part):
        if len(part) > 1:
            raise OperatorFailed("too many")

    assert locate(groups(4, 2), attempt) is None
