"""File sources of savepoints that Flink wrote go on where they were; see ``tests/golden/flink_positions``."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compat.compiler.datastream.common.time import Duration
from compat.compiler.datastream.connectors.file_system import FileSource, StreamFormat
from compat.compiler.spark.connectors.files.formats import reader_of_format
from compat.compiler.spark.connectors.files.savepoint import positions
from compat.compiler.spark.connectors.files.source import FileEnumerator, FileReader
from compat.compiler.spark.flink.positions import splits_of
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state import names
from compat.state.flink import entries, read_metadata
from compat.state.flink.file_splits import FileSplit, Pending

GOLDEN = Path(__file__).parents[3] / "golden" / "flink_positions"
WRITTEN = b"compat-golden-01"
READ: dict[str, dict[str, int]] = json.loads((GOLDEN / "files.json").read_text())


def lines_of(file: int) -> list[str]:
    return [f"file {file} line {line}{' é世' if line % 7 == 0 else ''}" for line in range(300)]


@pytest.fixture
def files() -> Iterator[Path]:
    """The files of the recorder, in a folder whose path is as long as the one that they had."""
    with tempfile.TemporaryDirectory() as holder:
        folder = Path("/tmp") / os.path.basename(holder).rjust(len(WRITTEN), "x")[-len(WRITTEN) :]
        folder.symlink_to(holder)
        try:
            for file in range(9):
                (folder / f"part-{file}.txt").write_text(
                    "".join(line + "\n" for line in lines_of(file)), encoding="utf-8"
                )
            yield folder
        finally:
            folder.unlink()


def source_of(folder: Path, more: bool) -> FileSource:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    if more:
        builder.monitor_continuously(Duration.of_millis(10))
    return builder.build()


def restored(name: str, folder: Path, source: FileSource) -> dict[str, tuple[dict[str, object], bool]]:
    """The splits of a golden savepoint, whose files are in another folder now."""
    there = folder.parent / f"{folder.name}-savepoint"
    there.mkdir()
    try:
        data = (GOLDEN / name / "_metadata").read_bytes()
        (there / "_metadata").write_bytes(data.replace(WRITTEN, folder.name.encode()))
        savepoint = read_metadata(there)
        elements = [entry.value for entry in entries(savepoint) if entry.state.name == names.SOURCE_READER]
        (operator,) = (each for each in savepoint.operators if each.uid == "files" or each.coordinator is not None)
        return {key.decode(): tuple(json.loads(value)) for key, value in splits_of(source, operator, elements)}
    finally:
        (there / "_metadata").unlink()
        there.rmdir()


def rest(source: FileSource, splits: dict[str, tuple[dict[str, object], bool]]) -> Counter[str]:
    """What a source reads that goes on with these splits, and with those that it finds."""
    read = reader_of_format(source.format)
    assert read is not None
    reader = FileReader(read)
    known = dict(splits)
    for split in FileEnumerator(source.paths, source.settings.get("discovery_interval")).discover(set(known)):
        known[split["id"]] = (split, False)
    found: Counter[str] = Counter()
    for split, done in known.values():
        while not done:
            part = reader.read(split, 100)
            found.update(part.values)
            split, done = part.split, part.done
    return found


@pytest.mark.parametrize("name", READ)
def test_each_line_is_read_once_in_all(name: str, files: Path) -> None:
    source = source_of(files, more=name.endswith("more"))
    splits = restored(name, files, source)
    (files / "part-late.txt").write_text("late\n")
    expected = Counter(line for file in range(9) for line in lines_of(file)[READ[name].get(f"part-{file}.txt", 0) :])
    assert sum(expected.values()) > 1900
    assert rest(source, splits) == expected + Counter(["late"])


@pytest.mark.parametrize("name", [name for name in READ if name.endswith("end")])
def test_a_source_that_looks_once_reads_no_file_that_came_before_the_restore(name: str, files: Path) -> None:
    """Flink does not look again at all; on Spark a file that comes between the two looks is read."""
    source = source_of(files, more=False)
    (files / "part-late.txt").write_text("late\n")
    assert "late" not in rest(source, restored(name, files, source))


def test_a_file_that_is_gone_or_shorter_is_refused_by_name(files: Path) -> None:
    name = "files-2.3.0-end"
    half = next(file for file, lines in READ[name].items() if 0 < lines < 300)
    source = source_of(files, more=False)
    (files / half).write_text("one line\n")
    with pytest.raises(Untranslatable, match=rf"{half}, which has \d+ fewer now: it is another file"):
        restored(name, files, source)
    (files / half).unlink()
    with pytest.raises(Untranslatable, match=f"{half}, which was not read to its end, is gone"):
        restored(name, files, source)


def split_of(
    path: Path, begin: int = 0, length: int | None = None, offset: int | None = None, skipped: int = 0
) -> FileSplit:
    size = path.stat().st_size
    return FileSplit(f"file:{path}", begin, size if length is None else length, size, offset, skipped)


def test_parts_of_files_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("1\n2\n3\n")
    source = source_of(tmp_path, more=False)
    with pytest.raises(Untranslatable, match="a part of its own was to be read, from byte 2 on"):
        list(positions(source, [split_of(file, begin=2, length=4)], Pending()))
    with pytest.raises(Untranslatable, match="read in several parts"):
        list(positions(source, [split_of(file)], Pending((split_of(file),))))
    with pytest.raises(Untranslatable, match="storage that is known"):
        list(positions(source, [FileSplit("ftp://node/a.txt", 0, 6, 6)], Pending()))


@pytest.mark.parametrize(
    ("offset", "skipped", "left"), [(None, 2, ["3"]), (2, 1, ["3"]), (2, 0, ["2", "3"]), (None, 3, [])]
)
def test_records_are_skipped_from_where_the_reader_was(
    tmp_path: Path, offset: int | None, skipped: int, left: list[str]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("1\n2\n3\n")
    source = source_of(file, more=False)
    found = positions(source, [split_of(file, offset=offset, skipped=skipped)], Pending())
    assert sorted(rest(source, {str(split["id"]): (split, done) for split, done in found})) == left


def test_positions_in_parquet_are_records(tmp_path: Path) -> None:
    from compat.compiler.datastream.connectors.file_source import BulkFormat
    from compat.compiler.datastream.formats.parquet import AvroParquetReaders  # noqa: F401 - the module has to be there

    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": list(range(10))}), file)
    source = FileSource.for_bulk_file_format(BulkFormat("parquet"), str(tmp_path)).build()
    ((split, done),) = positions(source, [split_of(file, skipped=4)], Pending())
    assert (split["next"], done) == (4, False)
    with pytest.raises(
        Untranslatable, match=r"4 records behind byte 7 .* says nothing where files are of the format 'parquet'"
    ):
        list(positions(source, [split_of(file, offset=7, skipped=4)], Pending()))
