"""Formats 2 to 6, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.state.flink import (
    DamagedSavepoint,
    NotASavepoint,
    OperatorState,
    SavepointTooLarge,
    TruncatedSavepoint,
    UnknownVersion,
    UnreadableSavepoint,
    inspect_savepoint,
    parse_metadata,
    read_metadata,
)
from compat.state.flink import metadata as metadata_module
from compat.state.flink.handles import InlineBytes, OperatorStream, Partition
from compat.state.flink.savepoint import Properties
from tests.state.flink import writer as w

ALL = (2, 3, 4, 5, 6)


def read_operator(data: bytes) -> OperatorState:
    (operator,) = parse_metadata(data, "_metadata").operators
    return operator


@pytest.mark.parametrize("version", ALL)
def test_an_operator_in_every_version(version: int) -> None:
    stream = w.operator_stream(w.inline(b"abc"), w.partition("buffer", 1, [0, 2]))
    data = w.metadata(
        w.operator(
            w.subtask(1, version=version, managed_operator=stream),
            version=version,
            name="Map",
            uid="map",
            parallelism=2,
        ),
        version=version,
        master_states=[w.master_state("hook", b"xyz")],
    )
    savepoint = parse_metadata(data, "_metadata")
    (operator,) = savepoint.operators
    assert savepoint.format_version == version
    assert (savepoint.checkpoint_id, savepoint.metadata_bytes) == (7, len(data))
    assert [(m.name, m.version, m.data) for m in savepoint.master_states] == [("hook", 1, b"xyz")]
    assert (operator.id, operator.parallelism, operator.max_parallelism) == (w.OPERATOR_ID.hex(), 2, 128)
    assert (operator.name, operator.uid) == (("Map", "map") if version >= 5 else (None, None))
    (subtask,) = operator.subtasks
    assert (subtask.index, subtask.size, subtask.has_state) == (1, 3, True)
    assert subtask.managed_operator == OperatorStream(
        (Partition("buffer", "UNION", (0, 2)),), InlineBytes("bytes", b"abc")
    )
    assert (savepoint.properties is None) == (version < 4)


def test_a_finished_operator_has_no_subtasks() -> None:
    operator = read_operator(w.metadata(w.operator(finished=True, parallelism=3)))
    assert operator.fully_finished
    assert (operator.subtasks, operator.has_state, operator.size) == ((), False, 0)


def test_finished_subtasks_among_running_ones() -> None:
    operator = read_operator(w.metadata(w.operator(w.finished_subtask(0), w.subtask(1))))
    assert [(s.index, s.finished) for s in operator.subtasks] == [(0, True), (1, False)]
    assert not operator.has_state


def test_coordinator_bytes_alone_are_state() -> None:
    operator = read_operator(w.metadata(w.operator(coordinator=w.inline(b"12345"))))
    assert (operator.has_state, operator.size) == (True, 5)


def test_raw_state_is_told_from_managed_state() -> None:
    raw = w.subtask(raw_operator=w.operator_stream(w.inline(b"a")), raw_keyed=w.full(w.inline(b"bc")))
    (subtask,) = read_operator(w.metadata(w.operator(raw))).subtasks
    assert subtask.managed_operator is None
    assert subtask.managed_keyed is None
    assert subtask.raw_operator is not None
    assert subtask.raw_keyed is not None
    assert subtask.size == 3


@pytest.mark.parametrize(
    ("type_class", "type_name", "savepoint_format", "expected"),
    [
        ("SavepointType", "Savepoint", "NATIVE", (True, "Savepoint", "NATIVE")),
        ("SavepointType", "Terminate Savepoint", None, (True, "Terminate Savepoint", None)),
        ("CheckpointType", "Checkpoint", None, (False, "Checkpoint", None)),
        ("CheckpointType", "Full Checkpoint", None, (False, "Full Checkpoint", None)),
        ("SomethingElse", "Else", None, (None, None, None)),
    ],
)
def test_properties_are_recognised(
    type_class: str,
    type_name: str,
    savepoint_format: str | None,
    expected: tuple[bool | None, str | None, str | None],
) -> None:
    data = w.metadata(tail=w.properties(type_class, type_name, savepoint_format))
    properties = parse_metadata(data, "_metadata").properties
    assert properties is not None
    assert (properties.is_savepoint, properties.type_name, properties.savepoint_format) == expected


def test_metadata_without_properties_is_neither_savepoint_nor_checkpoint() -> None:
    savepoint = parse_metadata(w.metadata(tail=w.JAVA_STREAM + w.JAVA_NULL), "_metadata")
    assert savepoint.properties == Properties(None, None, None, None)
    assert "is_savepoint" not in inspect_savepoint(savepoint)["properties"]


@pytest.mark.parametrize("version", [4, 5, 6])
def test_properties_that_are_cut_off_are_missed(version: int) -> None:
    data = w.metadata(version=version, tail=w.properties(savepoint_format="NATIVE"))
    before = len(w.metadata(version=version, tail=b""))
    for length in range(before, len(data)):
        with pytest.raises(TruncatedSavepoint):
            parse_metadata(data[:length], "_metadata")


def test_names_beyond_ascii() -> None:
    operator = read_operator(w.metadata(w.operator(name="Zähler\0 計数", uid="ü")))
    assert (operator.name, operator.uid) == ("Zähler\0 計数", "ü")


def test_a_name_beyond_the_basic_plane_is_written_as_two_surrogates() -> None:
    surrogates = b"".join(c.encode("utf-8", "surrogatepass") for c in ("\ud83d", "\ude00"))
    data = w.metadata(w.operator(uid="#" * 6)).replace(b"######", surrogates)
    assert read_operator(data).uid == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("data", "error", "offset"),
    [
        (b"", NotASavepoint, 0),
        (b"PK\x03\x04 a zip file", NotASavepoint, 0),
        (w.MAGIC, NotASavepoint, 0),
        (w.MAGIC + w.integer(1) + bytes(40), UnknownVersion, 4),
        (w.MAGIC + w.integer(7) + bytes(40), UnknownVersion, 4),
        (w.metadata(checkpoint_id=-1), DamagedSavepoint, 16),
        (w.metadata(tail=b""), TruncatedSavepoint, 24),
        (w.metadata(tail=b"no java"), DamagedSavepoint, 28),
        (w.metadata(w.operator(parallelism=200)), DamagedSavepoint, None),
        (w.metadata(w.operator(w.subtask(3), parallelism=2)), DamagedSavepoint, None),
        (w.metadata(w.operator(coordinator=w.file("file:/a"))), DamagedSavepoint, None),
        (w.metadata(w.operator(coordinator=w.inline(b""), finished=True)), DamagedSavepoint, None),
        (w.metadata(w.operator(w.subtask(managed_keyed=b"\x63"))), DamagedSavepoint, None),
        (w.metadata(w.operator(w.subtask(managed_keyed=w.full(w.NULL)))), DamagedSavepoint, None),
        (w.metadata(w.operator(w.subtask(managed_keyed=w.full(b"\x63")))), DamagedSavepoint, None),
        (w.metadata(master_states=[bytes(40)]), DamagedSavepoint, 24),
    ],
)
def test_what_is_refused(data: bytes, error: type[Exception], offset: int | None) -> None:
    with pytest.raises(error) as caught:
        parse_metadata(data, "some/_metadata")
    assert caught.value.path == "some/_metadata"  # type: ignore[attr-defined]
    if offset is not None:
        assert caught.value.offset == offset  # type: ignore[attr-defined]
        assert f"some/_metadata, byte {offset}: " in str(caught.value)


def test_legacy_state_of_flink_1_1_is_refused() -> None:
    subtask = w.integer(0) + w.long(-1) + w.integer(1) + bytes(20)
    with pytest.raises(DamagedSavepoint, match="Checkpointed"):
        parse_metadata(w.metadata(w.operator(subtask, version=2), version=2), "_metadata")


def test_folder_file_and_uri_mean_the_same(golden: Path) -> None:
    folder = golden / "small_uid_p2_canonical"
    same = [read_metadata(p) for p in (folder, str(folder), folder / "_metadata", f"file:{folder}", f"file://{folder}")]
    assert len({s.operators for s in same}) == 1
    assert {s.folder for s in same} == {str(folder)}


@pytest.mark.parametrize("name", ["nothing", "empty", "s3://bucket/savepoint"])
def test_no_metadata_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotASavepoint):
        read_metadata(name if "://" in name else tmp_path / name)


def test_a_path_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises((UnreadableSavepoint, NotASavepoint)):
        read_metadata(f"{tmp_path}/\0")


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_module, "MAX_METADATA_BYTES", 10)
    (tmp_path / "_metadata").write_bytes(w.metadata())
    with pytest.raises(SavepointTooLarge):
        read_metadata(tmp_path)
