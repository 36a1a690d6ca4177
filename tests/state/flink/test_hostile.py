"""Untrusted bytes: only `SavepointError` comes out, and nothing in them is run, fetched or believed."""

from __future__ import annotations

import pickle
import socket
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.state.flink import (
    DamagedSavepoint,
    Savepoint,
    SavepointError,
    inspect_savepoint,
    parse_metadata,
)
from compat.state.flink.headers import read_keyed_header, read_operator_header
from tests.counting import calls_of
from tests.state.flink import writer as w

SMALL = ("small_uid_p2_canonical_as_v3", "flink_1_20_small_uid_canonical", "small_uid_p2_canonical")

EVERYTHING = w.metadata(
    w.operator(
        w.subtask(
            0,
            managed_operator=w.merged_operator_stream(w.segment("file:/x/taskowned/f"), w.partition("s", 0, [1])),
            raw_operator=w.operator_stream(w.relative("r")),
            managed_keyed=w.changelog(
                [w.incremental(w.inline(w.keyed_header(w.state_meta("s"))), [w.local_file("f", w.file("s3://a/b"))])],
                [w.file_changes(w.inline(b"x")), w.memory_changes((1, b"y"))],
            ),
            raw_keyed=w.full(w.inline(b"raw"), 0, [0, 1], 12),
            inputs=[w.channel(w.relative("in"), tag=1), w.merged_channel(w.relative("in"), 3)],
            outputs=[w.channel(w.relative("out"), tag=2)],
        ),
        w.finished_subtask(1),
        name="everything",
        uid="all",
        coordinator=w.inline(b"coordinator"),
    ),
    master_states=[w.master_state("m", b"data")],
)


def read_all(data: bytes) -> Savepoint | SavepointError:
    """Read and describe; whatever goes wrong has to be a `SavepointError` that names a byte."""
    found = read_alone(data)
    if isinstance(found, Savepoint):
        inspect_savepoint(found)
    return found


def read_alone(data: bytes) -> Savepoint | SavepointError:
    """Read the metadata without opening the streams that it names."""
    try:
        return parse_metadata(data, "/nowhere/savepoint/_metadata")
    except SavepointError as error:
        failed = error
    assert failed.offset is not None
    assert 0 <= failed.offset <= len(data)
    return failed


@pytest.fixture(scope="module")
def small(golden: Path) -> dict[str, bytes]:
    return {name: (golden / name / "_metadata").read_bytes() for name in SMALL}


@pytest.mark.parametrize("name", SMALL)
def test_truncation_at_every_byte(small: dict[str, bytes], name: str) -> None:
    data = small[name]
    assert isinstance(read_alone(data), Savepoint)
    for end in range(len(data)):
        assert isinstance(read_alone(data[:end]), SavepointError), end


CUT = (
    "savepoints/windows_no_uid_p3_canonical",
    "savepoints/small_rocksdb_incremental_checkpoint/*",
    "savepoints/small_file_merging_checkpoint/*",
    "savepoints_remapped/1.20.0-native/*",
    "savepoints_remapped/2.3.0-checkpoint/*",
    "flink_tests/nonKeyed-flink1.13",
)
"""Savepoints and checkpoints of Flink 1.13 to 2.3, below the golden data; the first of those that a star stands for."""


@pytest.mark.parametrize("name", CUT)
def test_the_properties_at_the_end_are_read_to_their_last_byte(golden: Path, name: str) -> None:
    data = min(golden.parent.glob(f"{name}/_metadata")).read_bytes()
    properties = data.rindex(bytes.fromhex("aced0005"))
    assert isinstance(read_alone(data), Savepoint)
    for end in range(properties, len(data)):
        assert isinstance(read_alone(data[:end]), SavepointError), end


def test_truncation_of_every_kind_of_handle() -> None:
    end_of_operators = EVERYTHING.rindex(bytes.fromhex("aced0005"))
    for end in range(end_of_operators + 4):
        assert isinstance(read_all(EVERYTHING[:end]), SavepointError)
    assert isinstance(read_all(EVERYTHING), Savepoint)


def test_every_byte_of_every_kind_of_handle_set_to_the_extremes() -> None:
    for at in range(len(EVERYTHING)):
        for value in (0x00, 0x7F, 0x80, 0xFF):
            read_all(EVERYTHING[:at] + bytes([value]) + EVERYTHING[at + 1 :])


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_bit_flips(small: dict[str, bytes], data: st.DataObject) -> None:
    changed = bytearray(data.draw(st.sampled_from([*small.values(), EVERYTHING])))
    for bit in data.draw(st.lists(st.integers(0, len(changed) * 8 - 1), min_size=1, max_size=8)):
        changed[bit // 8] ^= 1 << bit % 8
    read_all(bytes(changed))


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_lying_numbers(small: dict[str, bytes], data: st.DataObject) -> None:
    changed = bytearray(data.draw(st.sampled_from([*small.values(), EVERYTHING])))
    at = data.draw(st.integers(8, len(changed) - 4))
    lie = data.draw(st.sampled_from([0, 1, 255, 65535, 2**20, 2**31 - 1, -1, -(2**31)]))
    changed[at : at + 4] = struct.pack(">i", lie)
    read_all(bytes(changed))


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=300), version=st.integers(2, 6))
def test_noise_behind_a_version(body: bytes, version: int) -> None:
    read_all(w.MAGIC + w.integer(version) + body)


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(max_size=200), at=st.integers(0, 400))
def test_noise_in_headers(noise: bytes, at: int) -> None:
    header = w.keyed_header(w.state_meta("s", VALUE_SERIALIZER=w.pojo("P", a=w.simple("Long"))))
    read_keyed_header(header[:at] + noise + header[at:], "header")
    read_operator_header(noise, "header")


@pytest.mark.parametrize("count", [2**31 - 1, 2**24])
@pytest.mark.parametrize(
    "before",
    [
        w.long(1),  # master states
        w.long(1) + w.integer(0),  # operators
        w.long(1) + w.integer(0, 1) + w.OPERATOR_ID + w.integer(1, 128) + w.NULL,  # subtasks
    ],
)
def test_lying_counts_allocate_nothing(before: bytes, count: int) -> None:
    data = w.MAGIC + w.integer(4) + before + w.integer(count) + bytes(1000)
    tracemalloc.start()
    found = read_all(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(found, SavepointError)
    assert peak < 1_000_000


def test_handles_nested_without_end() -> None:
    nested = w.inline(b"")
    for _ in range(20_000):
        nested = b"\x03" + w.integer(0, 0) + nested
    found = read_all(w.metadata(w.operator(w.subtask(managed_operator=w.operator_stream(nested)))))
    assert isinstance(found, DamagedSavepoint)
    assert "handles within each other" in str(found)


def test_changelogs_nested_without_end() -> None:
    opened = b"\x0e" + w.integer(0, 1) + w.long(0) + w.integer(1)
    found = read_all(w.metadata(w.operator(w.subtask(managed_keyed=opened * 20_000 + bytes(1000)))))
    assert isinstance(found, DamagedSavepoint)


def test_serializers_nested_without_end() -> None:
    opened = w.snapshot(w.BASE + "ListSerializerSnapshot", 3, w.integer(911108, 1, 1333245, 1, 1))
    header = read_keyed_header(w.keyed_header(key=opened * 5_000), "header")
    assert header.unreadable is not None
    assert "serializers within each other" in header.unreadable.what


class Planted:
    """Unpickling this would raise the flag."""

    touched = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Planted, "touched", True)


def test_planted_objects_are_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    java = bytes.fromhex("aced0005") + b"sr\0\x11java.util.HashMap\0\0\0\0\0\0\0\0\3\0\0xp" + b"x" * 50

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the reader reached out")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    planted = pickle.dumps(Planted()) + java
    data = w.metadata(
        w.operator(
            w.subtask(
                managed_operator=w.operator_stream(w.inline(planted)),
                managed_keyed=w.full(w.inline(planted)),
                raw_keyed=w.full(w.file("http://evil.example/gadget")),
            ),
            coordinator=w.inline(planted),
        ),
        master_states=[w.master_state("m", planted)],
        tail=java + planted,
    )
    assert isinstance(read_all(data), Savepoint)
    assert not Planted.touched


def test_work_grows_no_faster_than_size() -> None:
    def calls(operators: int) -> int:
        stream = w.operator_stream(w.inline(w.operator_header([w.state_meta("s", 1)])), w.partition("s", 0, [20]))
        subtasks = [w.subtask(i, managed_operator=stream) for i in range(10)]
        written = [w.operator(*subtasks, identity=n.to_bytes(16, "big")) for n in range(operators)]
        data = w.metadata(*written)
        return calls_of(lambda: inspect_savepoint(parse_metadata(data, "/nowhere/_metadata")))

    assert calls(200) < 4.2 * calls(50)
