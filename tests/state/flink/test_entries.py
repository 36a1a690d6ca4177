"""The entries of savepoints that Flink wrote, held against what the programs that wrote them had done by then."""

from __future__ import annotations

import json
import pickle
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from random import Random

import pyarrow
import pytest

from compat.compiler.streamgraph.hashing import uid_hash
from compat.state.flink import EntryKind, SavepointError, Undecoded, entries, read_metadata, stored_states
from compat.state.flink.binary import ByteReader
from compat.state.flink.checksums import masked_crc32c
from compat.state.flink.python_values import coder_of, decoded_all
from compat.state.flink.snappy import decompress, read_frames
from compat.state.flink.stream_readers import StreamReader
from compat.state.rows import Row
from compat.state.types import Types

GOLDEN = Path(__file__).parents[2] / "golden"
SAVEPOINTS = GOLDEN / "savepoints"
WRITTEN = sorted(SAVEPOINTS.glob("*.json"))
LIFETIME = 1_795_255_000_000, 1_795_256_000_000
"""The hour in which the golden savepoints were written, by the clock of that machine."""


def values(name, **wanted):
    """Values by state and key (and map key) of the operator that is keyed."""
    found = defaultdict(dict)
    for entry in entries(read_metadata(GOLDEN / name)):
        if entry.state.kind.keyed:
            key = entry.key[0] if isinstance(entry.key, Row) else entry.key
            if entry.state.kind.timers:
                found[entry.state.name].setdefault(key, []).append(entry.value)
            else:
                found[entry.state.name][key if entry.map_key is None else (key, entry.map_key)] = entry.value
    return found


def numbers_read(name):
    """How far the source of numbers from 1 on was: its split's next number, behind the split's id."""
    (split,) = [e.value for e in entries(read_metadata(GOLDEN / name)) if e.state.name == "SourceReaderState"]
    return int.from_bytes(split[11:19], "big") - 1


def test_states_of_thread_mode_are_what_the_program_counted():
    name = "savepoints/all_states_thread_canonical"
    found, last = values(name), numbers_read(name)
    seen = {f"k{rest}": [n for n in range(1, last + 1) if n % 3 == rest] for rest in range(3)}
    assert found["last"] == {key: numbers[-1] for key, numbers in seen.items()}
    assert found["total"] == {key: sum(numbers) for key, numbers in seen.items()}
    assert found["items"] == {key: [f"i{n}" for n in numbers if n < 10] for key, numbers in seen.items()}
    assert found["seen"] == {(key, key): numbers[-1] for key, numbers in seen.items()}
    assert found["last-ttl"] == {key: key for key in seen}
    timers = {key: [10**12 + n for n in numbers if n < 10] for key, numbers in seen.items()}
    assert {key: sorted(times) for key, times in found["_timer_state/event_user-timers"].items()} == timers


def test_a_lifetime_comes_with_its_times():
    savepoint = read_metadata(GOLDEN / "savepoints/all_states_hashmap_canonical")
    aged = {state.name for state in stored_states(savepoint) if state.ttl}
    assert aged == {"python-state-seen", "python-state-last-ttl"}
    for entry in entries(savepoint):
        assert len(entry.last_used) == (entry.state.name in aged)
        assert all(LIFETIME[0] < time < LIFETIME[1] for time in entry.last_used)


def test_the_heaps_own_layout_reads_as_the_canonical_one_does():
    savepoint = read_metadata(GOLDEN / "savepoints/broadcast_p2_native_files")
    counts = values("savepoints/broadcast_p2_native_files")["python-state-n"]
    assert counts.keys() == {0, 1, 2}
    splits = [entry.value for entry in entries(savepoint, lambda state: state.name == "SourceReaderState")]
    firsts = [int.from_bytes(split[11:19], "big") for split in splits]
    read = firsts[0] - 1 + firsts[1] - 5_000_001  # each of two splits of the numbers 1 to 10,000,000
    assert sum(int.from_bytes(*elements, "big") for elements in counts.values()) == read
    rules = [
        (entry.state.operator_name, entry.map_key, entry.value)
        for entry in entries(savepoint, lambda state: state.kind is EntryKind.BROADCAST)
    ]
    plain = [(key, value) for name, key, value in rules if name == "Co-Process-Broadcast"]
    assert sorted(plain) == [(n.to_bytes(8, "big"), b"\0\0\0\6rule %d" % n) for n in range(4)]
    assert len(rules) == 12  # every subtask has them, they are given once


def test_windows_have_namespaces():
    savepoint = read_metadata(GOLDEN / "savepoints/windows_no_uid_p3_canonical")
    found = [e for e in entries(savepoint) if e.state.operator_name == "TumblingEventTimeWindows"]
    contents = [entry for entry in found if entry.state.name == "python-state-window-contents"]
    assert contents
    for entry in contents:
        assert entry.namespace.end - entry.namespace.start == 3_600_000
        assert entry.namespace.start % 3_600_000 == 0
    timers = [entry for entry in found if entry.state.kind is EntryKind.EVENT_TIMER]
    assert {entry.key[0] for entry in timers} == {entry.key[0] for entry in contents}
    assert all(entry.value == entry.namespace.end - 1 for entry in timers)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("java/2.3.0/tuple_arity/savepoint", {0: ("u0", 11), 1: ("u1", 11)}),
        ("java/2.3.0/enum_reordered/savepoint", {0: "RED", 1: "GREEN"}),
    ],
)
def test_state_of_java_is_typed(name, expected):
    found = values(name)["st"]
    assert {key: found[key] for key in expected} == expected


def test_what_only_a_class_reads_is_given_as_bytes_with_its_key():
    savepoint = read_metadata(GOLDEN / "java_savepoints/kryo_same")
    (state,) = [state for state in stored_states(savepoint) if state.name == "st"]
    assert (str(state.key_type), state.value_type, state.problem) == ("Long", None, None)
    found = [entry for entry in entries(savepoint) if entry.state.name == "st"]
    assert {entry.key for entry in found} == {0, 1, 2}
    assert all(isinstance(entry.value, Undecoded) and "Kryo" in entry.value.serializer for entry in found)


def test_what_has_no_entries_has_a_problem():
    problems = {
        state.name: state.problem
        for state in stored_states(read_metadata(GOLDEN / "java_savepoints/custom_ser_incompatible"))
        if state.problem
    }
    assert problems.keys() == {"st"}
    assert "CustomSerIncompatible$Snap" in problems["st"]


def test_states_are_chosen_before_they_are_read():
    savepoint = read_metadata(GOLDEN / "savepoints/all_states_thread_canonical")
    assert {entry.state.name for entry in entries(savepoint, lambda state: state.name == "total")} == {"total"}


@pytest.mark.parametrize("name", [file.stem for file in WRITTEN if "rocksdb" not in file.stem])
def test_each_key_is_in_the_key_group_of_the_subtask_that_had_it(name):
    """RocksDB's own files do not tell in which key group an entry is."""
    savepoint = read_metadata(SAVEPOINTS / json.loads((SAVEPOINTS / f"{name}.json").read_text())["folder"])
    operators = {operator.id: operator for operator in savepoint.operators}
    for entry in entries(savepoint):
        if entry.key_group is not None:
            subtasks = operators[entry.state.operator_id].subtasks
            (mine,) = [subtask for subtask in subtasks if subtask.index == entry.subtask]
            groups = mine.managed_keyed.key_groups
            assert groups.first <= entry.key_group <= groups.last


def test_pieces_of_any_size_read_alike():
    data = bytes(range(200)) * 3
    for size in (1, 2, 3, 7, 600, 1000):
        pieces = iter([data[place : place + size] for place in range(0, len(data), size)])
        reader = StreamReader(pieces, "pieces", origin=100)
        found = [reader.short(), reader.long(), reader.raw(300, "much"), reader.integer(), reader.byte()]
        assert reader.offset == 100 + 315
        whole = ByteReader(data, "whole")
        assert found == [whole.short(), whole.long(), whole.raw(300, "much"), whole.integer(), whole.byte()]
        assert not reader.at_end()
        reader.raw(len(data) - 315, "the rest")
        assert reader.at_end()


def frame(kind, data):
    plain = decompress(data) if kind == 0 else data
    return bytes([kind]) + (len(data) + 4).to_bytes(3, "little") + masked_crc32c(plain).to_bytes(4, "little") + data


def test_frames_of_snappy_are_put_together(monkeypatch):
    text = b"compat " * 50 + bytes(range(256)) + b"a" * 1000
    block = pyarrow.compress(text, codec="snappy", asbytes=True)
    stream = b"\xff\x06\0\0sNaPpY" + frame(0, block) + b"\xfe\x02\0\0ab" + frame(1, b"plain") + b"\xff\x06\0\0sNaPpY"
    assert b"".join(read_frames(ByteReader(stream, "frames"))) == text + b"plain"
    for place in (*range(14, 18 + len(block)), len(stream) - 11):
        damaged = stream[:place] + bytes([stream[place] ^ 1]) + stream[place + 1 :]
        with suppress(SavepointError):  # a copy from another place may copy the same
            assert b"".join(read_frames(ByteReader(damaged, "frames"))) == text + b"plain", place
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert decompress(block) == text
    for cut in range(1, len(block)):
        with pytest.raises((ValueError, IndexError)):
            decompress(block[:cut])


@pytest.mark.parametrize(
    "name",
    [
        "savepoints/all_states_thread_canonical",
        "savepoints/all_states_rocksdb_native",
        "savepoints/windows_no_uid_p3_canonical",
        "java_savepoints/pojo_subclass_field_added",
        "java/2.3.0/avro_specific_added/savepoint",
    ],
)
def test_damage_never_leaves_as_another_error(name, tmp_path):
    whole = (GOLDEN / name / "_metadata").read_bytes()
    random = Random(name)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(random.choice((1, 1, 3))):
            data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        (tmp_path / "_metadata").write_bytes(data)
        with suppress(SavepointError):
            for entry in entries(read_metadata(tmp_path)):
                assert entry.state.problem is None


def read_by(name, starts):
    """The numbers that a source of several splits had read, by where each split had begun."""
    found = []
    for entry in entries(read_metadata(GOLDEN / "savepoints" / name), lambda state: state.name == "SourceReaderState"):
        reader = ByteReader(entry.value, "a split", start=8)
        reader.utf()
        following, end = reader.long(), reader.long()
        found.append(range(max(start for start in starts if start <= end), following))
    return found


def python_values(name, operator, state, type):
    """The values of a state of process mode by key and namespace, as the declared type has them."""
    read = coder_of(type, pickle.loads)
    wanted = entries(
        read_metadata(GOLDEN / "savepoints" / name),
        lambda one: one.declared_name == state and operator in (one.operator_name, one.operator_uid, one.operator_id),
    )
    return {
        (entry.key[0], None if entry.namespace is None else tuple(entry.namespace)): decoded_all(read, entry.value)
        for entry in wanted
    }


@pytest.mark.parametrize(
    "name",
    [
        "small_uid_p2_canonical",
        "small_uid_p2_canonical_as_v3",
        "small_uid_p2_canonical_as_v5",
        "small_file_merging_checkpoint/chk-5",
        "small_rocksdb_incremental_checkpoint/chk-5",
        "flink_1_20_small_uid_canonical",
    ],
)
def test_counts_are_those_of_what_was_read(name):
    numbers = [number for split in read_by(name, (1, 5_000_001)) for number in split]
    counted = python_values(name, uid_hash("count"), "count", Types.LONG())
    assert counted == {(key, None): [count] for key, count in Counter(number % 4 for number in numbers).items()}
    assert len(numbers) > 100


def test_windows_hold_what_was_read():
    name = "windows_no_uid_p3_canonical"
    splits = read_by(name, (1, 3_333_335, 6_666_668))
    numbers = [number for split in splits for number in split]
    hour = 3_600_000
    sums = Counter()
    for number in numbers:
        sums[(number % 4, (number // hour * hour, number // hour * hour + hour))] += number
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    found = python_values(name, "TumblingEventTimeWindows", "window-contents", pair)
    assert found == {(key, window): [(key, total)] for (key, window), total in sums.items()}
    assert len(found) == 8


@pytest.mark.parametrize(
    ("operator", "type", "keys"),
    [
        ("long key", Types.LONG(), lambda number: number % 3),
        ("tuple key", Types.LONG(), lambda number: (number % 2, "b")),
        ("pickled key", Types.LONG(), lambda number: pickle.dumps(number % 3)),
    ],
)
def test_keys_of_several_types_hold_what_was_read_last(operator, type, keys):
    name = "max_parallelism_p3_canonical"
    splits = read_by(name, (1, 3_333_335, 6_666_668))
    found = python_values(name, operator, "last", type)
    plain = {
        pickle.dumps(pickle.loads(key)) if isinstance(key, bytes) else key: last for (key, _), (last,) in found.items()
    }
    assert plain.keys() == {keys(number) for split in splits for number in split}
    for key, last in plain.items():
        assert keys(last) == key
        assert min(abs(last - split.stop) for split in splits) < 10
