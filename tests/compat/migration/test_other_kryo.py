"""What Kryo of Flink 1 wrote becomes what that of Flink 2 reads: in the same JVM, each by its own Flink."""

from __future__ import annotations

from pathlib import Path

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
from compat.state.flink.transcoding import SerializerConversion
from compat.state.flink.transfer import StateTarget, Transfer
from tests import needs
from tests.compat.migration.conftest import Pairs
from tests.compat.migration.in_flink import ANSWERS, UPGRADE, language_pairs, migrated
from tests.needs import Need

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
    with pytest.raises(RequestError, match="Kryo of Flink 1 wrote the state 'st'"):
        told_apart(draft, Transfer(converted={another: by_kryo}), "2.3")
    gone = Transfer(converted={another: by_kryo}, states={state: None, another: StateTarget(OTHER, "y")})
    assert told_apart(draft, gone, "2.3").savepoint.format_version == 5
    dropped = Transfer(converted={another: by_kryo}, dropped=frozenset({state.operator}))
    assert told_apart(draft, dropped, "2.3").savepoint.format_version == 5
