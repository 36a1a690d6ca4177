"""The formats of keyed state, how each is told, and which backends restore from which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.state.flink import KeyedFormat, Restores, keyed_format, parse_metadata, read_metadata, restores
from compat.state.flink.formats import BACKENDS, RESTORES, backend_of
from tests.state.flink import writer as w

HEADER = w.keyed_header(w.state_meta("s"))
PLACE = len(HEADER)


def snapshot(group: int, entry: bytes, tag: int) -> bytes:
    """A full snapshot of one key group, which begins with an entry."""
    return w.full(w.inline(HEADER + entry), group, [PLACE], tag)


NATIVE, CANONICAL = 12, 7
HEAP = snapshot(1, w.integer(1) + w.short(0) + w.integer(0), NATIVE)
HEAP_0 = snapshot(0, w.integer(0) + w.short(0) + w.integer(0), NATIVE)
HEAP_0_FROM_STATE_2 = snapshot(0, w.integer(0) + w.short(2) + w.integer(1) + b"kv" + b"\xff\xff", NATIVE)
ENTRY = w.short(0) + w.sized(b"\x80" + b"12345678") + w.sized(b"v") + w.short(0xFFFF)
SCAN_0 = snapshot(0, ENTRY, NATIVE)
SCAN_1 = snapshot(1, ENTRY, NATIVE)
UNTOLD = w.full(w.relative("lost", 99), 0, [PLACE], NATIVE)
SCAN = w.full(w.inline(HEADER + w.short(0)), 0, [0, PLACE], NATIVE)
FILES = w.incremental(w.inline(HEADER))
ASYNCHRONOUS = w.incremental(w.inline(w.keyed_header(w.state_meta("t", 3), w.state_meta("s", 4))))
WHOLE = snapshot(1, w.short(0), CANONICAL)
CASES = [
    (WHOLE, KeyedFormat.CANONICAL),
    (HEAP, KeyedFormat.HEAP),
    (HEAP_0, KeyedFormat.HEAP),
    (HEAP_0_FROM_STATE_2, KeyedFormat.HEAP),
    (UNTOLD, KeyedFormat.UNTOLD),
    (SCAN, KeyedFormat.ROCKSDB_SCAN),
    (SCAN_0, KeyedFormat.ROCKSDB_SCAN),
    (SCAN_1, KeyedFormat.ROCKSDB_SCAN),
    (FILES, KeyedFormat.FILES),
    (ASYNCHRONOUS, KeyedFormat.ASYNCHRONOUS),
    (w.changelog(), KeyedFormat.CHANGES),
    (w.changelog([WHOLE]), KeyedFormat.CHANGELOG_CANONICAL),
    (w.changelog([HEAP]), KeyedFormat.CHANGELOG_HEAP),
    (w.changelog([SCAN]), KeyedFormat.CHANGELOG_ROCKSDB_SCAN),
    (w.changelog([FILES]), KeyedFormat.CHANGELOG_FILES),
    (w.NULL, None),
]


@pytest.mark.parametrize(("handle", "format"), CASES)
def test_a_format_is_told_from_the_handle(handle: bytes, format: KeyedFormat | None) -> None:
    savepoint = parse_metadata(w.metadata(w.operator(w.subtask(managed_keyed=handle))), "_metadata")
    assert keyed_format(savepoint, savepoint.operators[0]) is format


def test_every_format_has_a_case_and_an_answer_for_every_backend() -> None:
    assert {format for _, format in CASES} == {*KeyedFormat, None}
    assert {format: set(answers) for format, answers in RESTORES.items()} == {
        format: set(BACKENDS) for format in KeyedFormat
    }


Y, N, U = Restores.YES, Restores.NO, Restores.UNTOLD


@pytest.mark.parametrize(
    ("format", "hashmap", "rocksdb", "forst"),
    [
        (KeyedFormat.CANONICAL, Y, Y, N),
        (KeyedFormat.HEAP, Y, N, N),
        (KeyedFormat.ROCKSDB_SCAN, N, Y, N),
        (KeyedFormat.FILES, N, Y, Y),
        (KeyedFormat.ASYNCHRONOUS, N, N, Y),
        (KeyedFormat.CHANGES, Y, Y, N),
        (KeyedFormat.CHANGELOG_HEAP, Y, N, N),
        (KeyedFormat.CHANGELOG_FILES, N, Y, N),
        (KeyedFormat.UNTOLD, U, U, N),
    ],
)
def test_what_restores_from_what(format: KeyedFormat, hashmap: Restores, rocksdb: Restores, forst: Restores) -> None:
    assert [restores(format, backend) for backend in ("hashmap", "rocksdb", "forst")] == [hashmap, rocksdb, forst]


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("hashmap", "hashmap"),
        ("RocksDB", "rocksdb"),
        ("forst", "forst"),
        ("filesystem", "hashmap"),
        ("jobmanager", "hashmap"),
        ("org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory", "hashmap"),
        ("org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory", "rocksdb"),
        ("org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackendFactory", "rocksdb"),
        ("org.apache.flink.state.forst.ForStStateBackendFactory", "forst"),
        ("com.example.ForStStateBackendFactory", "forst"),
    ],
)
def test_a_backend_has_several_names(name: str, backend: str) -> None:
    if name.startswith("com.example."):
        assert backend_of(name) is None
        assert restores(KeyedFormat.CANONICAL, name) is Restores.UNTOLD
    else:
        assert backend_of(name) == backend


def test_operators_that_were_written_differently_have_the_format_that_fewer_restore_from() -> None:
    subtasks = [w.subtask(0, managed_keyed=WHOLE), w.subtask(1, managed_keyed=HEAP)]
    savepoint = parse_metadata(w.metadata(w.operator(*subtasks)), "_metadata")
    assert keyed_format(savepoint, savepoint.operators[0]) is KeyedFormat.HEAP


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("all_states_hashmap_canonical", {KeyedFormat.CANONICAL}),
        ("broadcast_p2_native_files", {KeyedFormat.HEAP}),
        ("all_states_rocksdb_native", {KeyedFormat.FILES}),
    ],
)
def test_savepoints_of_flink(name: str, formats: set[KeyedFormat], golden: Path) -> None:
    savepoint = read_metadata(str(golden / name))
    found = {keyed_format(savepoint, operator) for operator in savepoint.operators}
    assert found - {None} == formats


OF_FORST = Path(__file__).parents[2] / "golden" / "forst"
RESTORED = json.loads((OF_FORST / "restores.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "backend", "did"),
    [(name, backend, did) for name in sorted(RESTORED.keys() - {"flink"}) for backend, did in RESTORED[name].items()],
)
def test_what_flink_restored(name: str, backend: str, did: str) -> None:
    savepoint = read_metadata(str(OF_FORST / name))
    formats = {found for operator in savepoint.operators if (found := keyed_format(savepoint, operator)) is not None}
    expected = Restores.YES if did == "restored" else Restores.NO
    assert {restores(format, backend) for format in formats} == {expected}
