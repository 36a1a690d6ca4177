"""States under other names, in other operators, of types with other names, or gone: keys and values stay as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.state.flink import (
    DamagedSavepoint,
    NewId,
    NotWritten,
    Savepoint,
    SavepointError,
    UnknownOperator,
    entries,
    parse_metadata,
    read_draft,
    read_metadata,
    read_states,
    self_contained,
    stored_states,
    with_references,
)
from compat.state.flink.handles import Incremental, KeyGroups
from compat.state.flink.header_parts import Field, StateKey, TypeNames
from compat.state.flink.rewriting import rewrite
from compat.state.flink.states import HeaderReader
from compat.state.flink.table_groups import TableGroups
from compat.state.flink.transfer import StateTarget, Transfer, Transferred
from compat.state.flink.transferring import count_entries, write_states
from tests.state.flink import writer as w

GOLDEN = Path(__file__).parents[2] / "golden"
SAVED = GOLDEN / "savepoints"
JAVA = GOLDEN / "java" / "2.3.0"
CANONICAL = (
    "small_uid_p2_canonical",
    "all_states_hashmap_canonical",
    "all_states_thread_canonical",
    "max_parallelism_p3_canonical",
    "windows_no_uid_p3_canonical",
    "flink_1_20_small_uid_canonical",
    "small_uid_p2_canonical_as_v3",
    "small_uid_p2_canonical_as_v5",
)
NATIVE = ("all_states_rocksdb_native", "small_rocksdb_incremental_checkpoint")
"""In RocksDB's own files."""
HEAP = ("all_states_retained_checkpoint", "broadcast_p2_native_files")
"""In the heap's own form."""
WRITTEN = (*CANONICAL, *NATIVE, *HEAP)


def made(
    savepoint: Savepoint, transfer: Transfer, folder: Path, *, copy: bool = False
) -> tuple[Savepoint, Transferred]:
    folder.mkdir()
    written = write_states(savepoint, transfer, str(folder))
    draft = read_draft(savepoint)
    remapped = self_contained(draft, written.changes) if copy else with_references(draft, written.changes)
    (folder / "_metadata").write_bytes(remapped.metadata)
    return read_metadata(folder), written


def held(savepoint: Savepoint) -> Counter[tuple[str, str, bool, str]]:
    """Everything in a savepoint that is read here: by operator and state, keys and values with their key groups."""
    return Counter(
        (
            one.state.operator_id,
            one.state.name,
            one.state.kind.keyed,
            repr((one.key_group, one.key, one.namespace, one.map_key, one.value, one.last_used)),
        )
        for one in entries(savepoint)
    )


def keys(savepoint: Savepoint) -> list[StateKey]:
    return [StateKey(one.operator_id, one.name, one.kind.keyed) for one in stored_states(savepoint) if not one.problem]


def expected(savepoint: Savepoint, transfer: Transfer) -> Counter[tuple[str, str, bool, str]]:
    found: Counter[tuple[str, str, bool, str]] = Counter()
    for (operator, name, keyed, what), count in held(savepoint).items():
        target = transfer.becomes(StateKey(operator, name, keyed))
        if target is not None:
            found[(*target, what)] += count
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_all_states_get_other_names_and_nothing_else_changes(name: str, tmp_path: Path) -> None:
    before = read_metadata(SAVED / name)
    transfer = Transfer(states={key: StateTarget(key.operator, f"{key.name} renamed") for key in keys(before)})
    after, written = made(before, transfer, tmp_path / "out")
    assert held(after) == expected(before, transfer)
    assert sum(held(after).values()) > 0
    assert count_entries(after, {key.operator for key in written.entries}) == Counter(
        {transfer.becomes(key): count for key, count in written.entries.items()}
    )
    back = Transfer(states={key: StateTarget(key.operator, key.name.removesuffix(" renamed")) for key in keys(after)})
    assert held(made(after, back, tmp_path / "back")[0]) == held(before)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_choice_of_names_drops_and_ids_gives_what_was_chosen(data: st.DataObject) -> None:
    import tempfile

    before = read_metadata(SAVED / data.draw(st.sampled_from(WRITTEN)))
    ids = [operator.id for operator in before.operators]
    states: dict[StateKey, StateTarget | None] = {
        key: data.draw(st.sampled_from([None, StateTarget(key.operator, f"{key.name}!")]))
        for key in data.draw(st.lists(st.sampled_from(keys(before)), unique=True))
    }
    swapped = dict(zip(ids, data.draw(st.permutations(ids)), strict=True))
    transfer = Transfer(states=states, ids={old: NewId(new) for old, new in swapped.items()})
    with tempfile.TemporaryDirectory() as folder:
        after, _ = made(before, transfer, Path(folder, "out"))
        assert held(after) == expected(before, transfer)


def test_ids_alone_change_in_the_metadata_of_any_flink(tmp_path: Path) -> None:
    """States of Flink before 1.11 are not written anew; their operators can have other ids."""
    id, new = "ab" * 16, NewId("cd" * 16)
    subtask = w.subtask(managed_operator=w.operator_stream(w.inline(b"x")), version=2)
    data = w.metadata(w.operator(subtask, identity=bytes.fromhex(id), version=2), version=2)
    (tmp_path / "_metadata").write_bytes(data)
    before = read_metadata(tmp_path)
    written = write_states(before, Transfer(ids={id: new}), str(tmp_path))
    assert [
        one.id for one in parse_metadata(rewrite(read_draft(before), written.changes, lambda file: file), "").operators
    ] == [new.id]
    with pytest.raises(NotWritten, match=r"Flink before 1\.11"):
        write_states(before, Transfer(ids={id: new}, states={StateKey(id, "s", True): None}), str(tmp_path))


def test_with_nothing_to_do_not_a_byte_is_written(tmp_path: Path) -> None:
    before = read_metadata(SAVED / CANONICAL[0])
    after, written = made(before, Transfer(), tmp_path / "out")
    assert (tmp_path / "out" / "_metadata").read_bytes() == (SAVED / CANONICAL[0] / "_metadata").read_bytes()
    assert (written.entries, list(Path(after.folder).iterdir())) == ({}, [tmp_path / "out" / "_metadata"])


def counters(savepoint: Savepoint) -> list[StateKey]:
    """The states of the four keyed operators of `max_parallelism_p3_canonical`, which have keys of one type."""
    return [key for key in keys(savepoint) if key.name == "python-state-last"]


def test_a_state_moves_to_an_operator_that_has_others(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "uid_swapped_types" / "savepoint")
    first, second = [key for key in keys(before) if key.name == "n"]
    transfer = Transfer(states={first: StateTarget(second.operator, "joined")})
    after, _ = made(before, transfer, tmp_path / "out")
    assert held(after) == expected(before, transfer)
    assert StateKey(second.operator, "joined", True) in keys(after)
    assert first not in keys(after)


def test_keys_of_another_type_are_refused(tmp_path: Path) -> None:
    before = read_metadata(SAVED / "max_parallelism_p3_canonical")
    of_max = {operator.id: operator.max_parallelism for operator in before.operators}
    first, second = next(
        (one, other)
        for one in counters(before)
        for other in counters(before)
        if one != other and of_max[one.operator] == of_max[other.operator]
    )
    with pytest.raises(NotWritten, match="have two types"):
        write_states(before, Transfer(states={first: StateTarget(second.operator, "joined")}), str(tmp_path))


def test_a_state_moves_to_an_operator_that_is_new(tmp_path: Path) -> None:
    before = read_metadata(SAVED / "small_uid_p2_canonical")
    (key,) = [one for one in keys(before) if one.name == "python-state-count"]
    new = NewId("ab" * 16, "new")
    transfer = Transfer(states={key: StateTarget(new.id, key.name)}, added={new.id: new})
    after, _ = made(before, transfer, tmp_path / "out")
    assert held(after) == expected(before, transfer)
    added, old = after.operators[-1], next(one for one in before.operators if one.id == key.operator)
    assert (added.id, added.uid, added.parallelism) == (new.id, "new", old.parallelism)
    assert [one.managed_keyed is not None for one in added.subtasks] == [True] * old.parallelism


def test_an_operator_goes_and_one_of_its_states_stays(tmp_path: Path) -> None:
    before = read_metadata(SAVED / "small_uid_p2_canonical")
    (key,) = [one for one in keys(before) if one.name == "python-state-count"]
    new = NewId("cd" * 16)
    transfer = Transfer(states={key: StateTarget(new.id, "n")}, added={new.id: new}, dropped=frozenset([key.operator]))
    after, _ = made(before, transfer, tmp_path / "out")
    assert held(after) == expected(before, transfer)
    assert key.operator not in {operator.id for operator in after.operators}
    assert {one.name for one in keys(after) if one.operator == new.id} == {"n"}


def test_broadcast_and_list_states_are_written_anew(tmp_path: Path) -> None:
    for pair, name in (("broadcast_renamed", "rules"), ("oplist_renamed", "buf")):
        before = read_metadata(JAVA / pair / "savepoint")
        (key,) = [one for one in keys(before) if one.name == name]
        transfer = Transfer(states={key: StateTarget(key.operator, "other")})
        after, written = made(before, transfer, tmp_path / pair, copy=True)
        assert held(after) == expected(before, transfer)
        assert written.entries[key] > 0


def test_fields_and_classes_have_other_names_in_serializers_alone(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "pojo_field_renamed" / "savepoint")
    types = TypeNames({"PojoFieldRenamed$P": "acme.P"}, {Field("PojoFieldRenamed$P", "score"): "points"})
    after, written = made(before, Transfer(types=types), tmp_path / "out")
    assert written.types == {"PojoFieldRenamed$P", Field("PojoFieldRenamed$P", "score")}
    (meta,) = [one for operator in after.operators for one in read_states(after, operator).keyed if one.name == "st"]
    snapshot = meta.serializer("VALUE_SERIALIZER")
    assert snapshot is not None
    assert dict(snapshot.details) == {"pojo_class": "acme.P", "fields": ("last", "n", "name", "points")}
    assert set(snapshot.owners) == {"acme.P"}
    assert sum(held(after).values()) == sum(held(before).values())


def test_enum_constants_have_other_names(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "enum_added_last" / "savepoint")
    (old,) = {
        (details["enum_class"], details["constants"])
        for operator in before.operators
        for one in read_states(before, operator).keyed
        for snapshot in [one.serializer("VALUE_SERIALIZER")]
        if snapshot is not None and (details := dict(snapshot.details)).get("enum_class")
    }
    enum, constants = str(old[0]), tuple(map(str, old[1]))  # type: ignore[arg-type]
    types = TypeNames(fields={Field(enum, constants[0]): "RENAMED"})
    after, _ = made(before, Transfer(types=types), tmp_path / "out")
    found = [
        dict(snapshot.details)["constants"]
        for operator in after.operators
        for one in read_states(after, operator).keyed
        for snapshot in [one.serializer("VALUE_SERIALIZER")]
        if snapshot is not None and dict(snapshot.details).get("enum_class") == enum
    ]
    assert found == [("RENAMED", *constants[1:])]


def _clash(savepoint: Savepoint) -> Mapping[StateKey, StateTarget]:
    first, second = [key for key in keys(savepoint) if key.keyed][:2]
    return {first: StateTarget(second.operator, second.name)}


def test_two_states_of_one_name_are_refused(tmp_path: Path) -> None:
    before = read_metadata(SAVED / "all_states_hashmap_canonical")
    with pytest.raises(NotWritten, match="would both be called"):
        write_states(before, Transfer(states=_clash(before)), str(tmp_path))


def test_keys_of_another_max_parallelism_are_refused(tmp_path: Path) -> None:
    before = read_metadata(SAVED / "max_parallelism_p3_canonical")
    by_max = {
        next(one for one in before.operators if one.id == key.operator).max_parallelism: key for key in counters(before)
    }
    first, second = list(by_max.values())[:2]
    with pytest.raises(NotWritten, match="max parallelisms are"):
        write_states(before, Transfer(states={first: StateTarget(second.operator, "joined")}), str(tmp_path))


@pytest.mark.parametrize("name", NATIVE)
def test_what_was_in_rocksdbs_files_is_canonical_and_the_rest_stays(name: str, tmp_path: Path) -> None:
    before = read_metadata(SAVED / name)
    (operator,) = {key.operator for key in keys(before) if key.keyed}
    moved = next(key for key in keys(before) if key.keyed and key.name.startswith("python-state"))
    added = NewId("cd" * 16)
    transfer = Transfer(states={moved: StateTarget(added.id, "elsewhere")}, added={added.id: added})
    after, _ = made(before, transfer, tmp_path / "out", copy=True)
    handles = {
        one.id: {type(subtask.managed_keyed) for subtask in one.subtasks if subtask.managed_keyed is not None}
        for one in after.operators
    }
    assert handles[operator] <= {KeyGroups}
    assert handles[added.id] == {KeyGroups}
    assert all(
        subtask.managed_keyed.canonical for one in after.operators for subtask in one.subtasks if subtask.managed_keyed
    )
    assert held(after) == expected(before, transfer)
    untouched, _ = made(before, Transfer(), tmp_path / "same", copy=True)
    assert held(untouched) == held(before)


def test_key_groups_of_rocksdbs_files_are_found_in_any_order() -> None:
    savepoint = read_metadata(SAVED / "all_states_rocksdb_native")
    handles = [
        (operator, subtask.managed_keyed)
        for operator in savepoint.operators
        for subtask in operator.subtasks
        if isinstance(subtask.managed_keyed, Incremental)
    ]
    operator, handle = handles[0]
    header = HeaderReader(savepoint).keyed(handle)
    assert header is not None
    groups = TableGroups(savepoint, handle, header, operator.max_parallelism)
    once = {number: list(groups.entries(number)) for number in groups.numbers}
    assert sum(map(len, once.values())) > 0
    assert {number: list(groups.entries(number)) for number in reversed(groups.numbers)} == once  # type: ignore[call-overload]
    assert list(groups.entries(max(groups.numbers) + 1)) == []


def test_a_log_of_changes_is_refused_with_what_to_do(tmp_path: Path) -> None:
    header = w.keyed_header(w.state_meta("s", 0, VALUE_SERIALIZER=w.simple("Long")))
    handle = w.changelog([w.full(w.inline(header))], [w.file_changes(w.inline(b"x"))])
    id = "ab" * 16
    (tmp_path / "_metadata").write_bytes(
        w.metadata(w.operator(w.subtask(managed_keyed=handle), identity=bytes.fromhex(id)))
    )
    with pytest.raises(NotWritten, match=r"has a log of changes.*flink savepoint --type canonical"):
        write_states(read_metadata(tmp_path), Transfer(states={StateKey(id, "s", True): None}), str(tmp_path))


def test_parts_of_a_state_that_no_header_names_are_told(tmp_path: Path) -> None:
    header = w.operator_header([w.state_meta("s", 1, VALUE_SERIALIZER=w.simple("Long"))])
    handle = w.operator_stream(w.inline(header + w.long(1)), w.partition("other", 0, [len(header)]))
    id = "ab" * 16
    (tmp_path / "_metadata").write_bytes(
        w.metadata(w.operator(w.subtask(managed_operator=handle), identity=bytes.fromhex(id)))
    )
    with pytest.raises(DamagedSavepoint, match="parts of a state `other`"):
        write_states(read_metadata(tmp_path), Transfer(states={StateKey(id, "s", False): None}), str(tmp_path))


def test_an_operator_that_is_not_there_is_refused(tmp_path: Path) -> None:
    before = read_metadata(SAVED / CANONICAL[0])
    with pytest.raises(UnknownOperator):
        write_states(before, Transfer(states={StateKey("ef" * 16, "x", True): None}), str(tmp_path))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CANONICAL), st.integers(0, 1 << 20), st.integers(1, 255))
def test_damaged_bytes_are_told_in_our_own_words(name: str, place: int, change: int) -> None:
    """Whatever byte differs, the states are written, or a `SavepointError` says why they are not."""
    import tempfile

    data = bytearray((SAVED / name / "_metadata").read_bytes())
    data[place % len(data)] ^= change
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "_metadata").write_bytes(data)
        with suppress(SavepointError):
            before = read_metadata(folder)
            states = {key: StateTarget(key.operator, f"{key.name}!") for key in keys(before)}
            write_states(before, Transfer(states=states), folder)
