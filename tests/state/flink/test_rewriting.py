"""Metadata written anew: other ids, other places of files, and not one other byte."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from compat.state.flink import (
    IdConflict,
    NewId,
    OperatorState,
    SavepointError,
    UnknownOperator,
    parse_metadata,
    read_draft,
    read_metadata,
)
from compat.state.flink.binary import ByteReader
from compat.state.flink.handles import RelativeFile, StateFile
from compat.state.flink.rewriting import Changes, Draft, FileHandle, draft_of, rewrite
from compat.state.flink.writing import LONGEST_TEXT, write_file, write_utf
from tests.state.flink import writer as w
from tests.state.flink.test_hostile import EVERYTHING

ROOT = Path(__file__).parents[2] / "golden"
METADATA = sorted(ROOT.rglob("_metadata"))

A, B, C = (hashlib.md5(letter.encode()).hexdigest() for letter in "abc")


def drafted(data: bytes, path: str = "/nowhere/_metadata") -> Draft:
    return draft_of(data, parse_metadata(data, path))


def renamed(data: bytes, ids: Mapping[str, NewId]) -> bytes:
    return rewrite(drafted(data), Changes(ids=ids), lambda file: file)


def fresh(operator: OperatorState, uid: str | None = None) -> NewId:
    return NewId(hashlib.md5(operator.id.encode()).hexdigest(), uid)


def of_uids(*uids: tuple[str, str], version: int = 6) -> bytes:
    """Metadata of operators, each with an id and a uid."""
    subtask = w.subtask(managed_operator=w.operator_stream(w.relative("f")), version=version)
    return w.metadata(
        *(w.operator(subtask, identity=bytes.fromhex(id), uid=uid, name="n", version=version) for id, uid in uids),
        version=version,
    )


def test_there_is_metadata_of_every_format() -> None:
    assert {int.from_bytes(file.read_bytes()[4:8], "big") for file in METADATA} >= {2, 3, 4, 5, 6}


@pytest.mark.parametrize("file", METADATA, ids=lambda file: "/".join(file.parts[-4:-1]) or file.name)
def test_every_operator_gets_a_fresh_id_and_all_else_stays(file: Path) -> None:
    data = file.read_bytes()
    before = drafted(data, str(file)).savepoint
    ids = {operator.id: fresh(operator, f"uid of {at}") for at, operator in enumerate(before.operators)}
    written = renamed(data, ids)
    after = parse_metadata(written, str(file))
    named = before.format_version >= 5
    expected = [replace(o, id=ids[o.id].id, uid=ids[o.id].uid if named else None) for o in before.operators]
    assert list(after.operators) == expected
    assert (after.digest == before.digest) == (written == data)
    apart = {"operators": (), "metadata_bytes": 0, "digest": ""}
    assert replace(after, **apart) == replace(before, **apart)
    back = {new.id: NewId(old, before_uid(before.operators, old)) for old, new in ids.items()}
    assert renamed(written, back) == data
    assert renamed(data, {o.id: NewId(o.id) for o in before.operators}) == data


def before_uid(operators: tuple[OperatorState, ...], id: str) -> str | None:
    return next(operator.uid for operator in operators if operator.id == id)


def test_what_a_coordinator_keeps_is_written_anew_and_nothing_else_changes() -> None:
    folder = Path(__file__).parents[2] / "golden" / "kafka_restores" / "5.0.0-2.2" / "older-savepoint"
    draft = read_draft(read_metadata(folder / "savepoint-000000-0"))
    (source,) = (operator for operator in draft.savepoint.operators if operator.uid == "orders")
    made = parse_metadata(rewrite(draft, Changes(coordinators={source.id: b"other"}), lambda file: file), "_metadata")
    (after,) = (operator for operator in made.operators if operator.uid == "orders")
    assert source.coordinator is not None
    assert after == replace(source, coordinator=replace(source.coordinator, data=b"other"))
    assert [one for one in made.operators if one != after] == [
        one for one in draft.savepoint.operators if one != source
    ]
    with pytest.raises(UnknownOperator):
        rewrite(draft, Changes(coordinators={"ab" * 16: b""}), lambda file: file)


@given(st.permutations([A, B, C]), st.lists(st.sampled_from([A, B, C]), unique=True))
def test_there_and_back_gives_the_same_bytes(targets: list[str], chosen: list[str]) -> None:
    data = of_uids((A, "a"), (B, "b"), (C, "c"))
    ids = dict(zip((A, B, C), targets, strict=True))
    there = {old: NewId(new, f"uid {new}") for old, new in ids.items()}
    back = {new: NewId(old, {A: "a", B: "b", C: "c"}[old]) for old, new in ids.items()}
    assert renamed(renamed(data, there), back) == data
    assert renamed(data, {id: NewId(id) for id in chosen}) == data


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6])
def test_only_the_bytes_of_ids_and_uids_differ(version: int) -> None:
    data = of_uids((A, "old"), (B, "other"), version=version)
    written = renamed(data, {A: NewId(C, "new")})
    expected = data.replace(bytes.fromhex(A), bytes.fromhex(C))
    assert written == (expected.replace(w.utf("old"), w.utf("new")) if version >= 5 else expected)


def test_an_id_that_is_made_of_no_uid_takes_the_uid_away() -> None:
    """As `SavepointWriter.changeOperatorIdentifier` with `OperatorIdentifier.forUidHash`."""
    (operator,) = parse_metadata(renamed(of_uids((A, "old")), {A: NewId(B)}), "_metadata").operators
    assert (operator.id, operator.uid, operator.name) == (B, None, "n")


def test_a_uid_can_be_given_to_the_id_that_an_operator_has() -> None:
    (operator,) = parse_metadata(renamed(of_uids((A, "")), {A: NewId(A, "told")}), "_metadata").operators
    assert (operator.id, operator.uid) == (A, "told")


def test_operators_change_places() -> None:
    data = of_uids((A, "a"), (B, "b"))
    written = parse_metadata(renamed(data, {A: NewId(B, "b"), B: NewId(A, "a")}), "_metadata")
    assert [(o.id, o.uid) for o in written.operators] == [(B, "b"), (A, "a")]


@pytest.mark.parametrize(
    ("ids", "error", "text"),
    [
        ({C: NewId(B)}, UnknownOperator, "no operator has the id"),
        ({A: NewId(B)}, IdConflict, "operator `a`"),
        ({A: NewId(C), B: NewId(C)}, IdConflict, "would both have the id"),
    ],
)
def test_what_flink_could_not_tell_apart_is_refused(
    ids: dict[str, NewId], error: type[SavepointError], text: str
) -> None:
    with pytest.raises(error, match=text):
        renamed(of_uids((A, "a"), (B, "b")), ids)


def test_metadata_that_lists_an_operator_twice_is_refused() -> None:
    with pytest.raises(IdConflict):
        renamed(of_uids((A, "a"), (A, "again")), {A: NewId(C)})


@pytest.mark.parametrize("id", ["", "abc", A.upper(), A + "0", "g" * 32, A + "\n"])
def test_an_id_has_32_hex_digits(id: str) -> None:
    with pytest.raises(ValueError, match="32 hex digits"):
        NewId(id)


def test_files_get_other_places() -> None:
    both = [w.operator_stream(w.relative("near", 7)), w.operator_stream(w.file("s3://b/far", 8))]
    data = w.metadata(w.operator(*(w.subtask(at, managed_operator=stream) for at, stream in enumerate(both))))

    def exchanged(file: FileHandle) -> FileHandle:
        return StateFile("file:/x", file.size) if isinstance(file, RelativeFile) else RelativeFile("y", file.size)

    draft = drafted(data)
    assert list(draft.files()) == [RelativeFile("near", 7), StateFile("s3://b/far", 8)]
    written = rewrite(draft, Changes(), exchanged)
    assert written == data.replace(w.relative("near", 7), w.file("file:/x", 7)).replace(
        w.file("s3://b/far", 8), w.relative("y", 8)
    )


def test_bytes_that_look_like_an_id_elsewhere_stay() -> None:
    looks = bytes.fromhex(A) + w.relative("f")
    stream = w.operator_stream(w.inline(looks), w.partition("a"))
    data = w.metadata(
        w.operator(w.subtask(managed_operator=stream), identity=bytes.fromhex(A), coordinator=w.inline(looks)),
        master_states=[w.master_state("m", looks)],
        tail=w.properties() + looks,
    )
    written = renamed(data, {A: NewId(B)})
    assert written.count(looks) == data.count(looks) == 4
    assert written.count(bytes.fromhex(B)) == 1


@given(st.data())
def test_whatever_the_bytes_they_are_refused_or_kept(data: st.DataObject) -> None:
    changed = bytearray(EVERYTHING)
    for at in data.draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=4)):
        changed[at] = data.draw(st.integers(0, 255))
    cut = bytes(changed[: data.draw(st.integers(0, len(changed)))])
    for given_bytes in (bytes(changed), cut):
        try:
            draft = drafted(given_bytes)
            ids = {operator.id: fresh(operator) for operator in draft.savepoint.operators}
            written = rewrite(draft, Changes(ids=ids), lambda file: file)
        except SavepointError:
            continue
        assert len(parse_metadata(written, "/nowhere/_metadata").operators) == len(ids)
        assert rewrite(draft, Changes(), lambda file: file) == given_bytes


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_texts_are_written_as_java_does(text: str) -> None:
    assert ByteReader(write_utf(text), "").utf() == text


@pytest.mark.parametrize(
    ("text", "encoded"), [("", "0000"), ("a\0", "000361c080"), ("é", "0002c3a9"), ("😀", "0006eda0bdedb880")]
)
def test_modified_utf8(text: str, encoded: str) -> None:
    assert write_utf(text).hex() == encoded


@pytest.mark.parametrize("text", ["a" * (LONGEST_TEXT + 1), "é" * (LONGEST_TEXT // 2 + 1), "\ud800"])
def test_texts_that_java_cannot_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"bytes of text|surrogate"):
        write_utf(text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), st.integers(0, 2**63 - 1))
def test_handles_read_back(name: str, size: int) -> None:
    for handle in (RelativeFile(name, size), StateFile(name, size)):
        data = w.metadata(w.operator(w.subtask(managed_operator=w.operator_stream(write_file(handle)))))
        assert list(drafted(data).files()) == [handle]
