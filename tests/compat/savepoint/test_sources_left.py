"""What a savepoint tells of sources that are not Kafka's: savepoints that Flink wrote, and bytes of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.savepoint.connectors import FilesLeft, NumbersLeft, OtherLeft, source_left
from compat.savepoint.recorded import read
from compat.state.flink.lists import Versioned
from compat.state.flink.savepoint import InlineBytes, OperatorState
from compat.state.model.connectors import FileSource

GOLDEN = Path(__file__).parents[2] / "golden"
LOOKED_ONCE = FileSource(paths=("in",), looks_for_more=False)
LOOKING = FileSource(paths=("in",), looks_for_more=True)


@pytest.mark.parametrize("version", ["1.20.0", "2.3.0"])
@pytest.mark.parametrize(("how", "looks"), [("end", False), ("more", True)])
def test_sources_of_files_tell_whether_they_look_for_more(version: str, how: str, looks: bool) -> None:
    operators = read(str(GOLDEN / "flink_positions" / f"files-{version}-{how}")).operators
    assert [each.connector for each in operators if each.coordinated] == [FilesLeft(looks)]


@pytest.mark.parametrize(
    ("left", "named", "new", "source"),
    [
        (FilesLeft(True), None, LOOKED_ONCE, FileSource(paths=None, looks_for_more=True)),
        (FilesLeft(None), None, LOOKING, FileSource(paths=None, looks_for_more=True)),
        (FilesLeft(None), LOOKED_ONCE, LOOKING, LOOKED_ONCE),
        (FilesLeft(False), None, None, FileSource(paths=None, looks_for_more=False)),
    ],
)
def test_what_the_state_does_not_tell_is_as_in_the_programs(
    left: FilesLeft, named: FileSource | None, new: FileSource | None, source: FileSource
) -> None:
    assert left.source(named, new) == source


def _number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "big")


_RANGE = b"\0\x011" + _number(5, 8) + _number(9, 8)


def _left(written: bytes, *splits: bytes, version: int = 1) -> object:
    data = _number(1) + _number(version) + _number(len(written)) + written
    operator = OperatorState("0" * 32, None, None, 1, 128, InlineBytes("coordinator", data), ())
    return source_left(operator, [Versioned(1, split) for split in splits])


@pytest.mark.parametrize(
    ("written", "splits", "left"),
    [
        (_number(1) + _RANGE, (), NumbersLeft()),
        (_number(0), (_RANGE,), NumbersLeft()),
        (_number(0), (), None),
        (_number(0), (_RANGE + b"\0",), OtherLeft()),
        (_number(1) + _RANGE[:-1], (), OtherLeft()),
        (b"", (b"another's",), OtherLeft()),
    ],
)
def test_ranges_of_numbers_are_told_from_what_others_write(
    written: bytes, splits: tuple[bytes, ...], left: object
) -> None:
    assert _left(written, *splits) == left


def test_a_serializer_of_another_version_is_another_source_s() -> None:
    assert _left(_number(1) + _RANGE, version=0) == OtherLeft()
