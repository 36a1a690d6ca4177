"""RocksDB's table files: those that Flink's own library wrote, and those of savepoints; see `tests/golden/flink_values`."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from compat.state.flink import SavepointError, UnreadableTable, entries, read_metadata, stored_states
from compat.state.flink.checksums import xxh3
from compat.state.flink.handles import InlineBytes
from compat.state.flink.sst_files import TableFile, merged

GOLDEN = Path(__file__).parents[2] / "golden"
TABLES = GOLDEN / "flink_values" / "tables"
SAVEPOINT = read_metadata(GOLDEN / "savepoints" / "all_states_rocksdb_native")


def table(data, name="000001.sst"):
    return TableFile(SAVEPOINT, InlineBytes(name, data), name)


FOLDERS = ["plain", "partitioned", "6.20.3/plain", "6.20.3/partitioned"]
"""Tables of RocksDB 8.10.0 in Flink 2.3, whose blocks have XXH3 checksums, and of 6.20.3 in Flink 1.20, which has CRC-32C."""


def tables(folder):
    return [table(file.read_bytes(), file.name) for file in sorted((TABLES / folder).glob("*.sst"))]


def with_block(data, handle, block, kind=0):
    """The table with another block in the place of one, which has its checksum."""
    hashed = (xxh3(block) ^ kind * 0x6B9083D9) & 0xFFFFFFFF
    assert len(block) == handle.size
    whole = block + bytes([kind]) + hashed.to_bytes(4, "little")
    return data[: handle.offset] + whole + data[handle.offset + len(whole) :]


def written_by_the_recorder():
    """The database that `Tables.java` had at its end, as a dictionary."""
    found = {}
    for round in range(4):
        for number in range(1500):
            key = bytes([number % 128]) + number.to_bytes(4, "big")
            match (number * 7 + round * 13) % 5:
                case 0:
                    found[key] = b"p%d" % round
                case 1:
                    found[key] = found[key] + b",m%d" % round if key in found else b"m%d" % round
                case 2:
                    found.pop(key, None)
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_database_of_several_files_holds_what_was_written(folder):
    files = tables(folder)
    assert len(files) == 3
    found = list(merged(files, b","))
    assert found == sorted(found)
    assert dict(found) == written_by_the_recorder()
    assert [list(file.deleted_ranges()) for file in files] == [[], [], []]


@pytest.mark.parametrize("at", [0, 100, 1000, 8000])
def test_files_that_are_cut_off_are_refused(at):
    whole = sorted((TABLES / "plain").glob("*.sst"))[0].read_bytes()
    with pytest.raises(SavepointError):
        list(table(whole[:at]).writes())
    with pytest.raises(SavepointError):
        list(table(whole[at:]).writes()) if at else list(table(b"").writes())


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_bit_that_turned_is_never_read_wrongly(folder):
    """Wherever it is in a file: in a block, in what is behind it, or in the footer."""
    whole = sorted((TABLES / folder).glob("*.sst"))[0].read_bytes()
    expected = list(table(whole).writes())
    blocks = list(table(whole)._blocks(table(whole)._index, partitioned="partitioned" in folder))
    refused = 0
    of_blocks = range(blocks[0].offset, blocks[1].offset + blocks[1].size + 5)
    for place in (*of_blocks[:: 23 if len(of_blocks) > 500 else 5], *range(of_blocks.stop, len(whole), 41)):
        damaged = whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        try:
            assert list(table(damaged).writes()) == expected, place
        except SavepointError:
            refused += 1
            continue
        assert place not in of_blocks
    assert refused


def test_a_table_that_lacks_entries_is_refused():
    """An index that leads to one block twice, with a checksum that fits."""
    data = sorted((TABLES / "plain").glob("*.sst"))[0].read_bytes()
    blocks = list(table(data)._blocks(table(data)._index, partitioned=False))
    assert blocks
    shorter = table(data)
    shorter._properties[b"rocksdb.num.entries"] = b"\x07"
    with pytest.raises(UnreadableTable, match=r"it has 1,200 entries, and its properties tell of 7"):
        list(shorter.writes())


@pytest.mark.parametrize(("kind", "word"), [(0, "are none"), (3, "are xxHash64"), (9, "are method 9")])
def test_checksums_that_are_not_known_are_named(kind, word):
    data = bytearray(sorted((TABLES / "plain").glob("*.sst"))[0].read_bytes())
    data[-53] = kind
    with pytest.raises(UnreadableTable, match=word):
        table(bytes(data))


def test_damage_never_leaves_as_another_error():
    whole = sorted((TABLES / "plain").glob("*.sst"))[0].read_bytes()
    for place in (*range(0, len(whole), 97), *range(len(whole) - 60, len(whole))):
        for value in (0, 0x7F, 0xFF):
            damaged = whole[:place] + bytes([value]) + whole[place + 1 :]
            with suppress(SavepointError):
                list(merged([table(damaged)], b","))


@pytest.mark.parametrize(("place", "value", "word"), [(-12, 6, "version 6"), (-1, 0, "does not end as a table")])
def test_what_is_not_known_is_named(place, value, word):
    data = bytearray(sorted((TABLES / "plain").glob("*.sst"))[0].read_bytes())
    data[place] = value
    with pytest.raises(UnreadableTable, match=word):
        table(bytes(data))


def test_another_compression_is_named():
    data = sorted((TABLES / "plain").glob("*.sst"))[0].read_bytes()
    first = next(iter(table(data)._handles(table(data)._index)))
    data = with_block(data, first, data[first.offset : first.offset + first.size], kind=7)
    with pytest.raises(UnreadableTable, match="Zstandard"):
        list(table(bytes(data)).writes())


def test_a_native_savepoint_reads_as_the_program_left_it():
    found = {}
    for entry in entries(SAVEPOINT, lambda state: state.kind.keyed and not state.kind.timers):
        found.setdefault(entry.state.declared_name, {})[entry.key[0]] = entry.value
    last = {key: int.from_bytes(*value, "big") for key, value in found["last"].items()}
    assert sorted(last) == ["k0", "k1", "k2"]
    for key, highest in last.items():
        total = sum(number for number in range(1, highest + 1) if number % 3 == int(key[1]))
        assert found["total"][key] == [total.to_bytes(8, "big")]
        assert b"".join(found["items"][key]) == b"".join(
            b"\0\0\0\2i%d" % number for number in range(1, 10) if number % 3 == int(key[1])
        )
    timers = [entry.value for entry in entries(SAVEPOINT, lambda state: state.kind.timers)]
    assert sorted(timers) == [origin + number for origin in (10**12, 4 * 10**12) for number in range(1, 10)]


def test_files_of_an_increment_count_once_and_the_latest_wins():
    savepoint = read_metadata(GOLDEN / "savepoints" / "small_rocksdb_incremental_checkpoint" / "chk-5")
    counts = {entry.key[0]: entry.value for entry in entries(savepoint, lambda state: state.declared_name == "count")}
    assert counts.keys() == {0, 1, 2, 3}
    splits = [entry.value for entry in entries(savepoint, lambda state: state.name == "SourceReaderState")]
    firsts = sorted(int.from_bytes(split[11:19], "big") for split in splits)
    read = firsts[0] - 1 + firsts[1] - 5_000_001
    assert sum(int.from_bytes(*value, "big") for value in counts.values()) == read


def test_a_native_savepoint_that_was_moved_reads_alike(tmp_path):
    source = GOLDEN / "savepoints_remapped" / "2.3.0-native" / "savepoint-909485-3293907d4270"
    shutil.copytree(source, tmp_path / "copy")
    savepoint = read_metadata(tmp_path / "copy")
    assert not [state for state in stored_states(savepoint) if state.problem]
    found = [(entry.state.name, entry.key, entry.value) for entry in entries(savepoint)]
    assert found == [(entry.state.name, entry.key, entry.value) for entry in entries(read_metadata(source))]
    assert found
