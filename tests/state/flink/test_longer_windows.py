"""Open windows that become part of longer ones: what they hold, and the timers that end them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink import NotWritten, entries, read_metadata
from compat.state.flink.composite_keys import KeyParts
from compat.state.flink.forms import Unconvertible
from compat.state.flink.longer_windows import LongerWindows
from compat.state.flink.merging import MergeByRule, Rule
from compat.state.flink.rekeying import KeyChange
from tests.state.flink.test_rekeying import JAVA, held, rekeyed

GOLDEN = Path(__file__).parents[2] / "golden"
SIZES = st.integers(1, 1 << 40)


def window(begin: int, end: int) -> bytes:
    return struct.pack(">qq", begin, end)


def timer(moment: int) -> bytes:
    """A time as a timer has it: its sign is turned over, so that earlier ones come first."""
    return struct.pack(">Q", moment + (1 << 63))


@given(
    old=SIZES, times=st.integers(1, 1000), offset=st.integers(-(1 << 40), 1 << 40), at=st.integers(-(1 << 20), 1 << 20)
)
def test_each_window_of_a_size_lies_in_one_of_a_multiple(old: int, times: int, offset: int, at: int) -> None:
    begin = offset + at * old
    found = LongerWindows(old * times, offset).parts(KeyParts(b"", b"k", window(begin, begin + old), b"m"))
    start, end = struct.unpack(">qq", found.namespace)
    assert start <= begin < begin + old <= end == start + old * times
    assert (start - offset) % (old * times) == 0
    assert found._replace(namespace=b"") == KeyParts(b"", b"k", b"", b"m")


@pytest.mark.parametrize(
    ("moment", "becomes"),
    [(1999, 4999), (1999 + 700, 4999 + 700), (1500, 1500), (-1, -1)],
    ids=["the end", "where late records are let in no more", "a trigger's", "before 1970"],
)
def test_what_ends_a_window_ends_the_longer_one(moment: int, becomes: int) -> None:
    parts = KeyParts(timer(moment), b"k", window(1000, 2000), b"")
    assert LongerWindows(5000).parts(parts).time == timer(becomes)


@pytest.mark.parametrize(
    ("begin", "end", "windows"),
    [
        (4000, 6000, LongerWindows(5000)),
        (1000, 2000, LongerWindows(500)),
        (1000, 2000, LongerWindows(5000, 500)),
        (500, 1500, LongerWindows(5000)),
    ],
    ids=["on both sides of an end", "shorter", "another offset", "one of several that overlap"],
)
def test_what_does_not_lie_in_one_is_refused(begin: int, end: int, windows: LongerWindows) -> None:
    with pytest.raises(Unconvertible, match=f"a window from {begin} to {end} is no part of one of"):
        windows.parts(KeyParts(b"", b"k", window(begin, end), b""))


@pytest.mark.parametrize("pair", ["win_evictor_added", "win_count_trigger_n"])
def test_the_windows_of_a_job_in_java(pair: str, tmp_path: Path) -> None:
    before = read_metadata(JAVA / pair / "savepoint")
    after = rekeyed(before, KeyChange(windows=LongerWindows(4000)), tmp_path / "out")
    spaces = {str(one.namespace) for one in entries(after) if one.state.kind.keyed}
    assert spaces == {"Row(start=0, end=4000)"}
    times = {one.value for one in entries(after) if one.state.kind.timers}
    assert times == {3999}
    again = [
        (name, told.replace("start=0, end=4000", "start=1000, end=2000").replace("3999", "1999"))
        for name, told in held(after)
    ]
    assert sorted(again) == sorted(held(before))


def test_what_several_windows_hold_is_merged_by_name(tmp_path: Path) -> None:
    before = read_metadata(GOLDEN / "migrations" / "pyflink" / "windows_longer" / "savepoint")
    change = KeyChange(windows=LongerWindows(20_000))
    with pytest.raises(
        NotWritten, match="and both have a value of `python-state-window-contents`: say how they `merge`"
    ):
        rekeyed(before, change, tmp_path / "refused")
    merged = KeyChange(windows=LongerWindows(20_000), merges={"python-state-window-contents": MergeByRule(Rule.ALL)})
    after = rekeyed(before, merged, tmp_path / "out")
    contents = [[one for one in entries(made) if "contents" in one.state.name] for made in (before, after)]
    assert [len(found) for found in contents] == [12, 6]
    assert [sum(len(one.value) for one in found) for found in contents] == [12, 12]


@pytest.mark.parametrize(
    ("pair", "told"),
    [("win_session_gap", "sessions and other windows that merge"), ("state_renamed", "there are no windows of time")],
)
def test_other_windows_are_refused(pair: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match=told):
        rekeyed(read_metadata(JAVA / pair / "savepoint"), KeyChange(windows=LongerWindows(4000)), tmp_path / "out")
