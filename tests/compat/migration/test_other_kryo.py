"""What Kryo of Flink 1 wrote becomes what that of Flink 2 reads: in the same JVM, each by its own Flink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat.loader.inputs import FlinkJars
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.warm import WarmJvms
from compat.migration.other_kryo import told_apart
from compat.migration.recipe import ConvertState
from compat.savepoint.operators import RequestError
from compat.state.flink import HeaderReader, NotWritten, entries, read_draft, read_metadata
from compat.state.flink.header_parts import StateKey, TypeNames
from compat.state.flink.keyed_transfer import keyed_source
from compat.state.flink.rekeying import KeyChange, KeyConversion
from compat.state.flink.transcoding import SerializerConversion
from compat.state.flink.transfer import StateTarget, Transfer
from tests import needs
from tests.compat.migration.conftest import Pairs
from tests.compat.migration.in_flink import ANSWERS, UPGRADE, language_pairs, migrated
from tests.needs import Need
from tests.state.flink import writer as w

SAVED = Path(__file__).parents[2] / "golden" / "java" / "1.20.0" / "kryo_same" / "savepoint"
STEP = ConvertState(operator="val", state="st")
OTHER = "00" * 16
HIGH, LOW = (b"scala.Enumeration$Va\xec\x01" + number for number in (b"\x00\x00", b"\x02\x00"))
"""How Kryo writes the values of NEW's enumeration."""


@pytest.mark.parametrize("pair", ["kryo_same", "enum_in_kryo_reordered"])
def test_kryo_of_flink_1_is_read_and_that_of_flink_2_written(pair: str, pairs: Pairs, tmp_path: Path) -> None:
    """The check of what was written restores it into Flink 2's own classes, which would not read a byte of the other Kryo."""
    done = pairs.upgrade(pair, tmp_path, STEP)
    assert (done.kept, set(done.entries.values())) == (True, {3})
    assert read_metadata(tmp_path / "out").format_version == 5


@pytest.mark.parametrize("version", ["2.3.0", UPGRADE])
def test_values_of_an_enumeration_of_scala_go_by_the_names_of_old(version: str, java: object, tmp_path: Path) -> None:
    """OLD has Low and High, NEW High and Low, and Kryo keeps numbers. In the upgrade Scala's library is in OLD's jar."""
    (pair,) = (one for one in language_pairs(version) if one["name"] == "scala213_enumeration_reordered")
    try:
        with WarmJvms() as jvms:
            made = migrated(pair, str(tmp_path / "out"), jvms)
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    assert made is not None
    assert made[0].steps == ANSWERS[pair["name"]]
    kept = [one.value.data for one in entries(read_metadata(tmp_path / "out")) if one.state.name == "account"]
    assert sorted(number for data in kept for number in (HIGH, LOW) if number in data) == [HIGH, LOW, LOW]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (FlinkJars(home="/nowhere"), r"Kryo of Flink 1 wrote it, name that Flink \(--old-flink-version 1.20.0\)"),
        (FlinkJars(version="2.3.0"), "Kryo of Flink 1 wrote it, and 2.3.0 is another one"),
    ],
)
def test_a_flink_that_does_not_read_it_is_refused(given: FlinkJars, told: str, pairs: Pairs, tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match=told):
        pairs.upgrade("kryo_same", tmp_path, STEP, old_flink=given)


@pytest.fixture
def state() -> StateKey:
    """The state of the savepoint that Kryo wrote."""
    (one,) = (one for one in read_metadata(SAVED).operators if one.id.startswith("545163d0"))
    return StateKey(one.id, "st", keyed=True)


@pytest.fixture
def by_kryo(state: StateKey) -> SerializerConversion:
    """A conversion into what Kryo writes, by the serializer that stands in the savepoint."""
    savepoint = read_metadata(SAVED)
    (operator,) = (one for one in savepoint.operators if one.id == state.operator)
    source = keyed_source(HeaderReader(savepoint), operator, operator.subtasks[0], TypeNames({}, {}), {})
    assert source is not None
    return SerializerConversion(source.parts.values["st"][4:])


def test_the_format_tells_one_kryo_from_the_other(state: StateKey, by_kryo: SerializerConversion) -> None:
    draft = read_draft(read_metadata(SAVED))
    transfer = Transfer(converted={state: by_kryo})
    assert told_apart(draft, transfer, "1.20") is draft
    assert told_apart(draft, Transfer(states={state: None}), "2.3") is draft
    assert told_apart(draft, transfer, "2.3").savepoint.format_version == 5


def test_all_that_the_other_kryo_wrote_is_converted_or_goes(state: StateKey, by_kryo: SerializerConversion) -> None:
    draft = read_draft(read_metadata(SAVED))
    another = StateKey(OTHER, "x", keyed=True)
    with pytest.raises(RequestError, match="Kryo of Flink 1 wrote values of the state 'st'"):
        told_apart(draft, Transfer(converted={another: by_kryo}), "2.3")
    gone = Transfer(converted={another: by_kryo}, states={state: None, another: StateTarget(OTHER, "y")})
    assert told_apart(draft, gone, "2.3").savepoint.format_version == 5
    dropped = Transfer(converted={another: by_kryo}, dropped=frozenset({state.operator}))
    assert told_apart(draft, dropped, "2.3").savepoint.format_version == 5


def test_an_operator_whose_states_cannot_be_read_is_refused(by_kryo: SerializerConversion, tmp_path: Path) -> None:
    unknown = w.state_meta(
        "s", 0, {"KEYED_STATE_TYPE": "VALUE"}, VALUE_SERIALIZER=w.utf("acme.Snapshot") + w.integer(1)
    )
    state = w.full(w.inline(w.keyed_header(unknown)), 0, [0] * 128)
    operator = w.operator(w.subtask(managed_keyed=state, version=4), version=4)
    (tmp_path / "_metadata").write_bytes(w.metadata(operator, version=4))
    draft = read_draft(read_metadata(tmp_path))
    id, converted = draft.savepoint.operators[0].id, {StateKey(OTHER, "x", keyed=True): by_kryo}
    with pytest.raises(RequestError, match=f"What Kryo wrote of operator {id} is not known"):
        told_apart(draft, Transfer(converted=converted), "2.3")
    gone = Transfer(converted=converted, dropped=frozenset({id}))
    assert told_apart(draft, gone, "2.3").savepoint.format_version == 5


MAP = w.BASE + "MapSerializerSnapshot"
CONVERTED, REKEYED = "converted", "rekeyed"


@pytest.mark.parametrize(
    ("parts", "key", "done", "told"),
    [
        ({"VALUE_SERIALIZER": "kryo"}, "long", {CONVERTED}, None),
        ({"VALUE_SERIALIZER": "kryo"}, "long", set(), "values of the state 's'"),
        ({"VALUE_SERIALIZER": ("long", "kryo")}, "long", {CONVERTED}, None),
        ({"VALUE_SERIALIZER": ("kryo", "long")}, "long", {CONVERTED}, "keys in a map of the state 's'"),
        (
            {"VALUE_SERIALIZER": "long", "NAMESPACE_SERIALIZER": "kryo"},
            "long",
            {CONVERTED},
            "namespaces of the state 's'",
        ),
        ({"VALUE_SERIALIZER": "long"}, "kryo", {REKEYED}, None),
        ({"VALUE_SERIALIZER": "long"}, "kryo", {CONVERTED}, "the keys"),
    ],
)
def test_what_no_step_writes_anew_is_refused(
    parts: dict[str, Any], key: str, done: set[str], told: str | None, by_kryo: SerializerConversion, tmp_path: Path
) -> None:
    """Where Kryo wrote it: values are converted, and keys of an operator, but nothing else."""
    snapshots = {"kryo": by_kryo.serializer, "long": w.simple("Long")}
    made = {
        name: snapshots[one] if isinstance(one, str) else w.composite(MAP, *(snapshots[part] for part in one))
        for name, one in parts.items()
    }
    kind = {"KEYED_STATE_TYPE": "VALUE" if isinstance(parts["VALUE_SERIALIZER"], str) else "MAP"}
    header = w.keyed_header(w.state_meta("s", 0, kind, **made), key=snapshots[key])
    state = w.full(w.inline(header), 0, [0] * 128)
    (tmp_path / "_metadata").write_bytes(
        w.metadata(w.operator(w.subtask(managed_keyed=state, version=4), version=4), version=4)
    )
    draft = read_draft(read_metadata(tmp_path))
    id = draft.savepoint.operators[0].id
    other = StateKey(OTHER, "x", keyed=True)
    transfer = Transfer(
        converted={StateKey(id, "s", keyed=True): by_kryo} if CONVERTED in done else {other: by_kryo},
        keys={id: KeyChange(KeyConversion(by_kryo.serializer))} if REKEYED in done else {},
    )
    if told is None:
        assert told_apart(draft, transfer, "2.3").savepoint.format_version == 5
        return
    with pytest.raises(RequestError, match=f"Kryo of Flink 1 wrote {told} of operator {id}"):
        told_apart(draft, transfer, "2.3")
