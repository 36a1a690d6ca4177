"""Savepoints of Flink as snapshots of jobs on Spark: what they hold then, and what is refused by name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from compat.compiler.datastream.connectors.kafka import KafkaOffsetsInitializer
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.restore import is_of_flink, saved_operators
from compat.compiler.spark.driver.source_coordinator import SourceCoordinator
from compat.compiler.spark.flink.positions import splits_of
from compat.compiler.spark.flink.sinks import require_nothing_to_publish
from compat.compiler.spark.runtime_api.splits import NOTHING_LEFT, SplitEnumerator
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state.delta.compaction import contents
from compat.state.delta.log import SnapshotLog
from compat.state.flink import entries, read_metadata
from compat.state.flink.binary import ByteReader
from compat.state.flink.handles import InlineBytes
from compat.state.flink.savepoint import OperatorState
from compat.state.stores.paths import place_of
from compat.tables import read_table
from tests.compat.restores.judging import records
from tests.state.flink.writer import integer, long, utf

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden" / "savepoints"
POSITIONS = GOLDEN.parent / "flink_positions"


def program_of(name, folder, *changes):
    """The program that wrote a golden savepoint, with texts replaced."""
    text = json.loads((GOLDEN / f"{name}.json").read_text())["program"]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "job.py"
    file.write_text(text)
    return file


def convert(name, folder, *changes, options=(), golden=GOLDEN):
    """``compat job savepoint convert`` of a golden savepoint for its program; the finished process and OUT."""
    program, out = program_of(name, folder, *changes), folder / "out"
    path = json.loads((GOLDEN / f"{name}.json").read_text())["folder"]
    return converted(f"{golden}/{path}", program, out, *options), out


def converted(savepoint, program, out, *options):
    command = ["savepoint", "convert", str(savepoint), str(out), "--program", str(program), *options]
    run = [sys.executable, "-m", "compat", *command]
    return subprocess.run(run, capture_output=True, text=True, timeout=300, cwd=ROOT)


def test_a_converted_savepoint_holds_what_the_job_held(tmp_path):
    done, out = convert("all_states_rocksdb_native", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = list(state_rows(str(out), "everything"))
    last = {row["key"]: row["value"] for row in rows if row["state"] == "last"}
    assert last.keys() == {"k0", "k1", "k2"}
    for row in rows:
        highest = last[row["key"]]
        numbers = [number for number in range(1, highest + 1) if number % 3 == int(row["key"][1])]
        match row["state"]:
            case "total":
                assert row["value"] == sum(numbers)
            case "avg":
                assert tuple(row["value"]) == (sum(numbers), len(numbers))
            case "items":
                assert list(row["value"]) == [f"i{number}" for number in numbers if number < 10]
    assert {"last", "last-ttl", "items", "seen", "plain", "total", "avg"} <= {row["state"] for row in rows}
    (operator,) = [one for one in saved_operators(SnapshotLog.open(out)).values() if one.uid == "everything"]
    assert {state["name"]: state["kind"] for state in operator.states}["total"] == "REDUCING"
    assert json.loads((out / "plan.json").read_text())["operators"]


def test_a_collection_that_flink_had_read_to_its_end_is_not_read_again(tmp_path):
    (record,) = (record for record in records("2.3.0") if record.seed == 101007)
    program, _, saved = record.put(tmp_path / "record")
    finished = {operator.id for operator in read_metadata(saved).operators if operator.fully_finished}
    out = tmp_path / "out"
    done = converted(saved, program, out)
    assert done.returncode == 0, done.stderr
    rows = (row for table in contents(SnapshotLog.open(out)) for row in table.to_pylist())
    ended = [row["operator_id"] for row in rows if row["map_key"] == NOTHING_LEFT["id"].encode()]
    assert len(ended) == 1
    assert set(ended) < finished


def test_a_savepoint_on_an_object_store_is_converted(tmp_path, s3):
    for file in (GOLDEN / "small_rocksdb_incremental_checkpoint").rglob("*"):
        if file.is_file():
            (place_of(s3) / str(file.relative_to(GOLDEN))).write(file.read_bytes())
    held = []
    for number, golden in enumerate((GOLDEN, s3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        done, out = convert("small_rocksdb_incremental_checkpoint", folder, golden=golden)
        assert done.returncode == 0, done.stderr
        held.append(read_table(str(out)).to_pylist())
    assert held[0] == held[1] != []


def test_state_is_shown_by_the_types_of_the_program(tmp_path):
    """Process mode has bytes in the savepoint; the values are those that the converted savepoint has."""
    name = "small_uid_p2_canonical"
    program = program_of(name, tmp_path)
    command = [sys.executable, "-m", "compat", "state", str(GOLDEN / name), "--store", str(tmp_path / "store")]
    form = ["--state", "count", "--format", "json"]

    def shown(*more):
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    counts = {row["key"]: row["value"] for row in json.loads(shown("count", *form, "--program", str(program)))}
    assert counts
    assert all(type(key) is int and type(value) is int for key, value in counts.items())
    untyped = json.loads(shown("count", *form))
    assert {tuple(row["key"].values()) for row in untyped} == {(key,) for key in counts}
    assert not any(isinstance(row["value"], int) for row in untyped)
    done = subprocess.run(
        [*command, "--program", str(program), "--checkpoint", "1"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, "leave out --checkpoint" in done.stderr) == (2, True)


def test_windows_and_aggregates_are_taken_over(tmp_path):
    name = "windows_no_uid_p3_canonical"
    done, out = convert(name, tmp_path)
    assert done.returncode == 0, done.stderr
    read = []
    for entry in entries(read_metadata(GOLDEN / name), lambda state: state.name == "SourceReaderState"):
        reader = ByteReader(entry.value, "a split", start=8)
        reader.utf()
        following, end = reader.long(), reader.long()
        read += range(max(start for start in (1, 3_333_335, 6_666_668) if start <= end), following)
    sums = {key: sum(number for number in read if number % 4 == key) for key in range(4)}
    rows = list(state_rows(str(out), "Reduce"))
    assert {row["key"]: row["value"][1] for row in rows if row["state"] == "_reduce_state"} == sums
    rows = [row for row in state_rows(str(out), "TumblingEventTimeWindows") if row["state"] == "window-contents"]
    totals = defaultdict(int)
    for row in rows:
        totals[row["key"]] += row["value"][1]
    assert totals == sums
    rows = [row for row in state_rows(str(out), "CountTumblingWindowAssigner") if row["state"] == "windows"]
    assert {row["key"]: (row["namespace"], row["value"]) for row in rows} == dict.fromkeys(range(4), (None, 9))


def test_a_state_of_which_the_program_tells_no_type_is_refused_by_name(tmp_path):
    hidden = (
        ('ValueStateDescriptor("windows", Types.LONG())', "described()"),
        (
            "class Count(",
            'def described():\n    return ValueStateDescriptor("windows", Types.LONG())\n\n\nclass Count(',
        ),
    )
    done, out = convert("windows_no_uid_p3_canonical", tmp_path, *hidden)
    assert done.returncode == 2
    assert "its state 'windows'" in done.stderr
    assert "open()" in done.stderr
    assert not out.exists()


def test_what_the_check_refuses_is_not_converted(tmp_path):
    done, out = convert("small_uid_p2_canonical", tmp_path, ('.uid("count")', '.uid("other")'))
    assert done.returncode == 2
    assert "CMP" in done.stderr
    assert not out.exists()


def test_state_is_left_behind_where_that_is_allowed(tmp_path):
    done, out = convert("small_uid_p2_canonical", tmp_path, ('.uid("count")', '.uid("other")'), options=["-n"])
    assert done.returncode == 0, done.stderr
    saved = saved_operators(SnapshotLog.open(out))
    assert {one.name for one in saved.values() if one.stateful} == {"Source: n"}


def test_values_that_are_not_of_the_declared_type_are_refused_by_name(tmp_path):
    done, out = convert(
        "small_uid_p2_canonical", tmp_path, ('Descriptor("count", Types.LONG())', 'Descriptor("count", Types.STRING())')
    )
    assert done.returncode == 2
    assert "count" in done.stderr
    assert not out.exists()


def test_records_in_flight_are_refused_by_name(tmp_path):
    done, _ = convert("backpressured_unaligned_checkpoint", tmp_path)
    assert done.returncode == 2
    assert "in flight" in done.stderr


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "out").mkdir()
    done, _ = convert("small_uid_p2_canonical", tmp_path)
    assert done.returncode == 2
    assert "is there already" in done.stderr


@pytest.mark.parametrize("path", ["small_uid_p2_canonical", "small_uid_p2_canonical/_metadata"])
def test_flinks_savepoints_are_told_from_ours(path, tmp_path):
    assert is_of_flink(str(GOLDEN / path))
    assert not is_of_flink(str(tmp_path))


class Source:
    def __init__(self, connector, **settings):
        self.connector = connector
        self.settings = {"starting_offsets": KafkaOffsetsInitializer.latest(), **settings}


def operator(coordinator=None, finished=False):
    state = None if coordinator is None else InlineBytes("coordinator", coordinator)
    return OperatorState("0" * 32, "source", None, 1, 128, state, (), finished)


def element(body, version=1):
    return integer(version, len(body)) + body


def splits(connector, *elements, coordinator=None, finished=False, **settings):
    found = splits_of(Source(connector, **settings), operator(coordinator, finished), elements)
    return {name.decode(): json.loads(value) for name, value in found}


def test_ranges_of_numbers_go_on():
    waiting = integer(1) + utf("3") + long(201, 300)
    coordinator = integer(1, 1, len(waiting)) + waiting
    found = splits(
        "number-sequence",
        element(utf("1") + long(57, 100)),
        element(utf("2") + long(201, 200)),
        coordinator=coordinator,
    )
    assert found == {
        "1": [{"id": "1", "next": 57, "end": 100}, False],
        "2": [{"id": "2", "next": 201, "end": 200}, True],
        "3": [{"id": "3", "next": 201, "end": 300}, False],
    }


def test_a_source_that_has_read_all_reads_nothing_again():
    found = splits("number-sequence", coordinator=integer(1, 1, 4) + integer(0))
    assert [done for _, done in found.values()] == [True]


class Looking(SplitEnumerator):
    """Looks for splits, which nobody may ask it to."""

    complete = False

    def create_enumerator(self, parallelism):
        return self

    def discover(self, known):
        raise AssertionError("what had finished does not run again")

    notify_checkpoint_complete = discover


@pytest.mark.parametrize("connector", ["number-sequence", "kafka", "filesystem", "collection", "socket"])
def test_a_source_that_had_finished_reads_nothing_again(connector):
    found = splits(connector, finished=True)
    spec = SimpleNamespace(name="source", operator=SimpleNamespace(function=Looking()))
    coordinator = SourceCoordinator(SimpleNamespace(parallelism=2), spec)
    coordinator.restore({name.encode(): json.dumps(split).encode() for name, split in found.items()})
    coordinator.discover()
    coordinator.notify_checkpoint_complete()
    assert coordinator.done
    assert not coordinator.has_work()
    assert [work.splits for work in coordinator.assign(None, drain=False).values()] == [(), ()]


def test_partitions_go_on_at_their_offsets():
    no_end = -(1 << 63)
    found = splits(
        "kafka", element(utf("a-b") + integer(3) + long(57, no_end), 0), element(utf("t") + integer(0) + long(9, 9), 0)
    )
    assert found == {
        "a-b-3": [{"id": "a-b-3", "topic": "a-b", "partition": 3, "next": 57}, False],
        "t-0": [{"id": "t-0", "topic": "t", "partition": 0, "next": 9, "end": 9}, True],
    }


OFFSETS = [json.loads(line) for line in (POSITIONS / "kafka.jsonl").read_text().splitlines()]
"""Partitions as four versions of the connector wrote them, see ``Partitions.java``."""


def test_partitions_as_the_connector_itself_writes_them():
    written = [bytes.fromhex(data) for _, _, start, end, data in OFFSETS if start >= 0 and (end is None or end >= 0)]
    found = list(splits("kafka", *written).values())
    assert [(split["topic"], split["partition"], split["next"], split.get("end"), done) for split, done in found] == [
        ("orders", 0, 0, None, False),
        ("orders", 41, 57, None, False),
        ("a-b_c.d", 3, 9_000_000_000, 9_000_000_001, False),
        ("orders", 1, 12, 12, True),
    ]
    for start, end, word in (
        (-1, None, "the end"),
        (-3, None, "the group's offset"),
        (5, -1, "ends at the end"),
        (5, -3, "ends at"),
    ):
        (data,) = (data for *_, from_, to, data in OFFSETS if (from_, to) == (start, end))
        with pytest.raises(Untranslatable, match=word):
            splits("kafka", written[0], bytes.fromhex(data))


def test_a_partition_that_is_empty_is_found_anew_and_read_from_its_beginning():
    at, unread = bytes.fromhex(OFFSETS[1][-1]), bytes.fromhex(OFFSETS[4][-1])
    assert splits("kafka", at, unread).keys() == {"orders-41"}
    assert splits("kafka", unread, starting_offsets=KafkaOffsetsInitializer.earliest()) == {}
    with pytest.raises(Untranslatable, match="at the beginning of orders-2, where the program does not start"):
        splits("kafka", unread)


@pytest.mark.parametrize(
    ("connector", "elements", "word"),
    [
        ("kafka", [element(utf("t") + integer(0) + long(-2, 9), 0)], "the beginning"),
        ("kafka", [element(utf("t") + integer(0) + long(5, -1), 0)], "the end"),
        ("kafka", [], "no partitions"),
        ("kafka", [element(b"??", 0)], "splits are not those"),
        ("filesystem", [element(b"file")], "not in the savepoint"),
        ("socket", [element(b"file")], "'socket'"),
        ("number-sequence", [element(utf("1") + long(1), 1)], "splits are not those"),
        ("number-sequence", [element(utf("1") + long(1, 2), 7)], "splits are not those"),
    ],
)
def test_positions_that_cannot_be_taken_over_are_named(connector, elements, word):
    with pytest.raises(Untranslatable, match=word):
        splits(connector, *elements)


MAGIC = 0xB91F252C - (1 << 32)
EMPTY = integer(2, 12) + integer(MAGIC, 1, 0)
FULL = integer(2, 17) + integer(MAGIC, 1, 1) + integer(1) + b"x"


def test_sinks_that_have_nothing_to_publish_are_passed_over():
    require_nothing_to_publish("writer_raw_states", b"whatever", Source("kafka"))
    require_nothing_to_publish("streaming_committer_raw_states", EMPTY, None)


@pytest.mark.parametrize(
    ("state", "element", "connector"),
    [
        ("writer_raw_states", b"bucket", "filesystem"),
        ("streaming_committer_raw_states", FULL, "kafka"),
        ("streaming_committer_raw_states", EMPTY[:-1], "kafka"),
        ("streaming_committer_raw_states", EMPTY + b"x", "kafka"),
        ("streaming_committer_raw_states", integer(1) + EMPTY[4:], "filesystem"),
    ],
)
def test_output_that_was_not_published_is_refused(state, element, connector):
    with pytest.raises(Untranslatable, match=state):
        require_nothing_to_publish(state, element, Source(connector))


def test_a_committer_of_flink_with_output_is_refused():
    found = entries(read_metadata(GOLDEN.parent / "java" / "2.3.0" / "sink_committer_removed" / "savepoint"))
    elements = [entry.value for entry in found if entry.state.name == "streaming_committer_raw_states"]
    assert elements
    for element_ in elements:
        with pytest.raises(Untranslatable):
            require_nothing_to_publish("streaming_committer_raw_states", element_, None)


def test_claiming_a_savepoint_of_flinks_is_refused(tmp_path):
    program = program_of("small_uid_p2_canonical", tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(GOLDEN / "small_uid_p2_canonical", copy)
    from compat.compiler.spark.driver.options import RunOptions
    from compat.compiler.spark.driver.restore import prepare_restore
    from compat.state.delta.errors import StoreError

    with pytest.raises(StoreError, match="claim"):
        prepare_restore(None, None, RunOptions(savepoint=str(copy), claim=True, program=str(program)))
    assert (copy / "_metadata").exists()
