"""Totals: bytes by state, key groups, and what cannot be told."""

from __future__ import annotations

from pathlib import Path

from compat.state.flink import (
    HeaderReader,
    KeyGroupBalance,
    OperatorSummary,
    StateTotal,
    parse_metadata,
    read_metadata,
    summarize,
)
from compat.state.flink.measure import Budget
from compat.state.flink.summary import summarize_operator
from tests.state.flink import writer as w

HEADER = w.keyed_header(w.state_meta("a"), w.state_meta("b", 3))


def summary_of(*subtasks: bytes) -> OperatorSummary:
    savepoint = parse_metadata(w.metadata(w.operator(*subtasks)), "/nowhere/_metadata")
    return summarize(savepoint).operators[0]


def entry(key: bytes, value: bytes, *, more: int | None = None) -> bytes:
    """An entry of a key group; `more` is the number of the state of the next one, if that is another state."""
    flagged = key if more is None else bytes([key[0] | 0x80]) + key[1:]
    return w.sized(flagged) + w.sized(value) + (b"" if more is None else w.short(more))


def test_bytes_of_each_state_in_a_canonical_savepoint() -> None:
    first = w.short(0) + entry(b"k", b"value") + entry(b"k", b"", more=1) + entry(b"t", b"", more=0xFFFF)
    second = w.short(1) + entry(b"tt", b"", more=0xFFFF)
    start = len(HEADER)
    stream = w.inline(HEADER + first + second)
    summary = summary_of(w.subtask(managed_keyed=w.full(stream, 4, [0, start, 0, start + len(first)])))
    assert summary.states == (
        StateTotal("a", "KEY_VALUE", (4 + 1 + 4 + 5) + (4 + 1 + 4)),
        StateTotal("b", "PRIORITY_QUEUE", (4 + 1 + 4) + (4 + 2 + 4)),
    )
    assert summary.key_groups == KeyGroupBalance(4, 4, 2)


def test_entries_that_are_none_leave_the_bytes_unknown() -> None:
    stream = w.inline(HEADER + w.short(0) + w.integer(1_000_000))
    summary = summary_of(w.subtask(managed_keyed=w.full(stream, 0, [len(HEADER)])))
    assert [s.bytes for s in summary.states] == [None, None]


def test_state_files_beyond_the_budget_are_not_walked(tmp_path: Path) -> None:
    data = HEADER + w.short(0) + entry(b"k", b"value", more=0xFFFF)
    (tmp_path / "state").write_bytes(data)
    handle = w.full(w.relative("state", len(data)), 0, [len(HEADER)])
    subtasks = [w.subtask(i, managed_keyed=handle) for i in range(2)]
    (tmp_path / "_metadata").write_bytes(w.metadata(w.operator(*subtasks)))
    savepoint = read_metadata(tmp_path)

    def bytes_of_states(budget: int) -> list[int | None]:
        summary = summarize_operator(savepoint, savepoint.operators[0], HeaderReader(savepoint), Budget(budget))
        return [state.bytes for state in summary.states]

    assert bytes_of_states(2 * len(data)) == [2 * (4 + 1 + 4 + 5), 0]
    assert bytes_of_states(2 * len(data) - 1) == [None, None]


def test_key_groups_on_the_heap() -> None:
    empty = [w.integer(group) + (w.short(0) + w.integer(0)) + (w.short(1) + w.integer(0)) for group in (1, 3)]
    full = w.integer(2) + (w.short(0) + w.integer(1) + b"kv") + (w.short(1) + w.integer(0))
    parts = [empty[0], full, empty[1]]
    offsets = [len(HEADER) + sum(map(len, parts[:n])) for n in range(3)]
    handle = w.full(w.inline(HEADER + b"".join(parts)), 1, offsets, tag=12)
    assert summary_of(w.subtask(managed_keyed=handle)).key_groups == KeyGroupBalance(3, 3, 1)


def on_the_heap(*entries: bytes) -> bytes:
    """A handle of key group 1 with a state of these entries, and one of none."""
    state = w.short(0) + w.integer(len(entries)) + b"".join(entries)
    return w.full(w.inline(HEADER + w.integer(1) + state + w.short(1) + w.integer(0)), 1, [len(HEADER)], tag=12)


def test_on_the_heap_it_is_seen_that_there_is_nothing() -> None:
    for handle, expected in ((on_the_heap(), [0, 0]), (on_the_heap(b"kv"), [None, None])):
        assert [state.bytes for state in summary_of(w.subtask(managed_keyed=handle)).states] == expected


def test_beside_a_log_of_changes_no_snapshot_is_the_whole() -> None:
    handle = w.changelog([on_the_heap()], [w.memory_changes((1, b"x"))])
    assert [state.bytes for state in summary_of(w.subtask(managed_keyed=handle)).states] == [None, None]
    assert [state.bytes for state in summary_of(w.subtask(managed_keyed=w.changelog([on_the_heap()]))).states] == [0, 0]


def test_balance_over_subtasks() -> None:
    stream = w.inline(HEADER)
    subtasks = [w.subtask(i, managed_keyed=w.full(stream, 0, [0] * n)) for i, n in enumerate((42, 43, 43))]
    assert summary_of(*subtasks).key_groups == KeyGroupBalance(42, 43, 0)


def test_operator_state_by_where_its_parts_begin() -> None:
    header = w.operator_header([w.state_meta("a", 1), w.state_meta("b", 1)])
    at = len(header)
    stream = w.operator_stream(
        w.inline(header + bytes(30)), w.partition("a", 0, [at, at + 20]), w.partition("b", 1, [at + 5])
    )
    summary = summary_of(w.subtask(managed_operator=stream))
    assert summary.states == (StateTotal("a", "OPERATOR", 15), StateTotal("b", "OPERATOR", 15))
    assert summary.operator_bytes == at + 30


def test_incremental_snapshots_do_not_tell_bytes_by_state() -> None:
    handle = w.incremental(w.inline(HEADER), [w.local_file("1.sst", w.inline(bytes(50)))])
    summary = summary_of(w.subtask(managed_keyed=handle))
    assert [s.bytes for s in summary.states] == [None, None]
    assert summary.key_groups == KeyGroupBalance(128, 128, None)
    assert summary.keyed_bytes == len(HEADER) + 50


def test_a_savepoint_of_flink(golden: Path) -> None:
    summary = summarize(read_metadata(golden / "small_uid_p2_canonical"))
    count = next(o for o in summary.operators if o.key_groups)
    assert count.key_groups is not None
    assert (count.key_groups.fewest_per_subtask, count.key_groups.most_per_subtask) == (64, 64)
    assert count.key_groups.with_data == 4  # the program has four keys
    sizes = {s.name: s.bytes for s in count.states}
    assert sizes["_timer_state/event_user-timers"] == 0
    assert (sizes["python-state-count"] or 0) > 0
    assert summary.missing == ()
