"""The states of an operator, put together from all its subtasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.state.flink import (
    HeaderReader,
    OperatorStates,
    UnknownOperator,
    find_operator,
    parse_metadata,
    read_metadata,
    read_states,
)
from compat.state.flink import states as states_module
from tests.state.flink import writer as w


def states_of(*subtasks: bytes) -> OperatorStates:
    savepoint = parse_metadata(w.metadata(w.operator(*subtasks)), "/nowhere/_metadata")
    return read_states(savepoint, savepoint.operators[0])


def keyed(*names: str) -> bytes:
    header = w.keyed_header(*(w.state_meta(name, VALUE_SERIALIZER=w.simple("Long")) for name in names))
    return w.full(w.inline(header))


def test_by_id_uid_and_name(golden: Path) -> None:
    savepoint = read_metadata(golden / "small_uid_p2_canonical")
    count = find_operator(savepoint, "count")
    assert find_operator(savepoint, count.id) is count
    assert find_operator(savepoint, "Count") is count
    states = read_states(savepoint, "count")
    assert states.key_serializer is not None
    assert states.key_serializer.class_name.endswith("RowSerializerSnapshot")
    assert [s.name for s in states.keyed if s.type == "KEY_VALUE"] == ["python-state-count"]
    assert states.unreadable == ()


def test_an_operator_that_is_not_there(golden: Path) -> None:
    with pytest.raises(UnknownOperator, match="no operator with the id, uid or name `nobody`"):
        find_operator(read_metadata(golden / "small_uid_p2_canonical"), "nobody")


def test_two_operators_of_one_name() -> None:
    twice = [w.operator(name="Map", identity=bytes([n] * 16)) for n in (1, 2)]
    with pytest.raises(UnknownOperator, match="2 operators have the name `Map`"):
        find_operator(parse_metadata(w.metadata(*twice), "_metadata"), "Map")


def test_states_that_only_some_subtasks_have() -> None:
    states = states_of(w.subtask(0, managed_keyed=keyed("a")), w.subtask(1, managed_keyed=keyed("a", "b")))
    assert [s.name for s in states.keyed] == ["a", "b"]


def test_what_a_changelog_has_materialized() -> None:
    header = w.keyed_header(w.state_meta("counts"))
    handle = w.changelog([w.incremental(w.inline(header))], [w.memory_changes((-1, b"x"))])
    assert [s.name for s in states_of(w.subtask(managed_keyed=handle)).keyed] == ["counts"]


def test_operator_states_are_known_without_their_file() -> None:
    stream = w.operator_stream(w.relative("gone"), w.partition("list", 0, [1]), w.partition("rules", 2, [2]))
    states = states_of(w.subtask(managed_operator=stream))
    assert [(s.name, s.options) for s in states.lists] == [
        ("list", (("OPERATOR_STATE_DISTRIBUTION_MODE", "SPLIT_DISTRIBUTE"),))
    ]
    assert [s.name for s in states.broadcast] == ["rules"]
    assert "no local file for `gone`" in states.unreadable[0]


def test_an_unknown_serializer_is_told_once() -> None:
    header = w.keyed_header(w.state_meta("s", VALUE_SERIALIZER=w.snapshot("com.example.Mine")))
    subtasks = [w.subtask(i, managed_keyed=w.full(w.inline(header))) for i in range(3)]
    states = states_of(*subtasks)
    assert [s.name for s in states.keyed] == ["s"]
    assert len(states.unreadable) == 1


def test_equal_headers_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    subtasks = [w.subtask(i, managed_keyed=keyed("a")) for i in range(5)]
    savepoint = parse_metadata(w.metadata(w.operator(*subtasks)), "_metadata")
    headers = HeaderReader(savepoint)
    handles = [s.managed_keyed for s in savepoint.operators[0].subtasks]
    found = {id(headers.keyed(handle)) for handle in handles if handle is not None}
    assert len(found) == 1


def test_a_header_longer_than_the_first_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states_module, "FIRST_READ", 64)
    header = w.keyed_header(*(w.state_meta(f"state-{n}", VALUE_SERIALIZER=w.simple("Long")) for n in range(20)))
    (tmp_path / "state").write_bytes(header + bytes(10_000))
    handle = w.full(w.relative("state", len(header) + 10_000))
    (tmp_path / "_metadata").write_bytes(w.metadata(w.operator(w.subtask(managed_keyed=handle))))
    savepoint = read_metadata(tmp_path)
    assert len(read_states(savepoint, savepoint.operators[0]).keyed) == 20
