"""Programs find what the PyFlink of their version offers, with the same parameters and defaults, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from compat.compiler.datastream import beyond
from compat.compiler.datastream.beyond.noting import Beyond
from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.served import ADDED, recorded, serve
from compat.compiler.errors import NeedsPyFlink
from compat.compiler.versions import FLINK_VERSIONS
from compat.loader.process import load_one
from compat.loader.request import Loaded, Request
from compat.state.model.job import Plan
from compat.state.rows import Row, RowKind
from compat.state.time import Duration, Instant, Time
from compat.state.types import BasicType

GOLDEN = Path(__file__).parents[2] / "golden" / "pyflink_api"

INNER = (
    "Internal",
    "convert_to_python_obj",
    "long_to_int_with_bit_mixing",
    "mod_inverse",
    "pickled_bytes_to_python_obj",
)
"""How names begin that are steps on PyFlink's way to Java and back: asking for one needs PyFlink itself."""

CALLED_OTHERWISE = {
    "pyflink.common.typeinfo.ExternalTypeInfo.__init__",
    "pyflink.datastream.connectors.base.Sink.__init__",
    "pyflink.datastream.connectors.base.Source.__init__",
}
"""Calls that take what PyFlink's take, and more by keyword for our own modules."""

INNER_MEMBERS = {
    "AggregatingStateDescriptor": "kind",
    "AvroRowDeserializationSchema": "deserialize get_produced_type",
    "AvroRowSerializationSchema": "serialize",
    "BasicArrayTypeInfo": "kind",
    "BasicTypeInfo": "basic_type kind parts",
    "BucketAssigner": "format name timezone",
    "BulkFormat": "get_produced_type",
    "ByteArraySchema": "deserialize get_produced_type serialize",
    "CachedDataStream": "of",
    "CheckpointStorage": "options",
    "CompletableFuture": "completed",
    "CountWindow": "id",
    "CsvRowDeserializationSchema": "deserialize get_produced_type",
    "CsvRowSerializationSchema": "serialize",
    "CustomCheckpointStorage": "options",
    "CustomStateBackend": "options",
    "DateTypeInfo": "kind",
    "DefaultRollingPolicy": "inactivity_interval part_size rollover_interval",
    "DeserializationSchema": "deserialize get_produced_type settings",
    "Duration": "to_millis to_nanos",
    "DynamicKafkaSource": "connector",
    "Elasticsearch6SinkBuilder": "version",
    "Elasticsearch7SinkBuilder": "version",
    "ElasticsearchSink": "connector",
    "ElasticsearchSinkBuilderBase": "version",
    "Encoder": "encode",
    "ExternalTypeInfo": "children internal kind parts to_json type_info",
    "FileCompactStrategy": "num_checkpoints_before_compaction num_compact_threads size_threshold",
    "FileCompactor": "delimiter name",
    "FileSink": "connector topology",
    "FileSource": "connector",
    "FileSystemCheckpointStorage": "options",
    "FlinkKafkaConsumerBase": "connector parallel",
    "FlinkKafkaProducerBase": "connector",
    "FlinkKinesisConsumer": "connector get_produced_type parallel",
    "FsStateBackend": "options",
    "GenericRecordAvroTypeInfo": "kind parts schema to_json",
    "HashMapStateBackend": "options",
    "HybridSource": "connector",
    "Instant": "nanos seconds",
    "JdbcConnectionOptions": "driver_name password url user_name",
    "JdbcExecutionOptions": "batch_interval_ms batch_size max_retries",
    "JdbcSink": "connector",
    "JobClient": "collect",
    "JobManagerCheckpointStorage": "options",
    "JsonRowDeserializationSchema": "deserialize get_produced_type",
    "JsonRowSerializationSchema": "serialize",
    "KafkaRecordDeserializationSchema": "deserialize get_produced_type",
    "KafkaSink": "connector topology",
    "KafkaSource": "connector",
    "KafkaTopicPartition": "partition topic",
    "KinesisFirehoseSink": "connector",
    "KinesisStreamsSink": "connector",
    "ListStateDescriptor": "kind",
    "ListTypeInfo": "elem_type kind",
    "LocalTimeTypeInfo": "kind parts time_type",
    "MapStateDescriptor": "kind",
    "MapTypeInfo": "children key_type kind parts to_json value_type",
    "MapperOptions": "settings",
    "MemoryStateBackend": "options",
    "NumberSequenceSource": "connector",
    "ObjectArrayTypeInfo": "kind",
    "OutputFileConfig": "part_prefix part_suffix",
    "PickledBytesTypeInfo": "kind",
    "PrimitiveArrayTypeInfo": "kind",
    "PulsarSink": "connector topology",
    "PulsarSource": "connector",
    "RMQSink": "connector",
    "RMQSource": "connector get_produced_type",
    "ReducingStateDescriptor": "kind",
    "RestartStrategies.FailureRateRestartStrategyConfiguration": "options",
    "RestartStrategies.FixedDelayRestartStrategyConfiguration": "options",
    "RestartStrategies.NoRestartStrategyConfiguration": "options",
    "RestartStrategyConfiguration": "options",
    "RocksDBStateBackend": "options",
    "RowFieldExtractorSchema": "serialize",
    "RowTypeInfo": "children field_names field_types kind parts to_json",
    "SerializationSchema": "serialize settings",
    "SimpleStringSchema": "deserialize get_produced_type serialize",
    "Sink": "topology",
    "SlotSharingGroup": "has_resources resources",
    "Source": "describe get_produced_type",
    "SourceFunction": "parallel",
    "SqlTimeTypeInfo": "DATE TIME TIMESTAMP",
    "StateBackend": "options",
    "StateDescriptor": "kind to_json ttl_config",
    "StateTtlConfig": "to_json",
    "StreamExecutionEnvironment": "optimise submit",
    "StreamFormat": "get_produced_type",
    "StreamingFileSink": "connector",
    "TimeTypeInfo": "kind",
    "TimeWindow": "end start",
    "TimestampTypeInfo": "kind",
    "TupleTypeInfo": "children field_types kind parts to_json",
    "TypeInformation": "children kind parts to_json",
    "ValueStateDescriptor": "kind",
    "WatermarkStrategy": "create_watermark_generator timestamp_assigner",
    "_Described": "connector describe",
    "_OneElementType": "children element_type parts to_json",
    "_RocksDB": "options",
}
"""Members of our classes that PyFlink's have not, by the class that has them, and that a program has no use for.

They are what plans, graphs and the execution read off an object; what PyFlink leaves to Java; fields that PyFlink sets in
``__init__`` or holds in Java; of a class that ours extends and PyFlink's does not; and calls between our modules. What a
program has a use for, and PyFlink lacks, is in ``compiler/datastream/beyond`` and has a mark.
"""

FIELDS = [
    ("common.time", "Instant(1, 2)", "seconds nanos"),
    ("datastream.output_tag", "OutputTag('late')", "tag_id type_info"),
    ("datastream.state", "ValueStateDescriptor('count', None)", "name type_info"),
    ("datastream.window", "TimeWindow(0, 5)", "start end"),
    ("datastream.window", "CountWindow(1)", "id"),
    ("datastream.window", "PurgingTrigger.of(EventTimeTrigger())", "nested_trigger"),
]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, GOLDEN / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORD = load("record")


@pytest.fixture(params=FLINK_VERSIONS)
def flink(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A version of Flink whose PyFlink this process finds."""
    times, types = "pyflink.common.time", "pyflink.common.types"
    kept_ones = {
        RowKind: types,
        Row: types,
        Instant: times,
        Duration: times,
        Time: times,
        BasicType: "pyflink.common.typeinfo",
    }
    for kept, module in kept_ones.items():
        monkeypatch.setattr(kept, "__module__", module)
    serve(request.param)
    with running(Program(flink=request.param)):
        yield request.param
    serve()


class Line(NamedTuple):
    """A line of a record, and the dotted name of what it stands in."""

    place: str
    text: str

    @property
    def name(self) -> str:
        """The name that the line is about."""
        words = self.text.partition("(")[0].partition(" = ")[0].partition(":")[0]
        return words.split()[-1]


def lines(record: Iterable[str]) -> Iterator[Line]:
    """The lines of a record, without those that list the names of ``import *``."""
    places: list[Line] = []
    for row in record:
        text = row.strip()
        del places[(len(row) - len(row.lstrip())) // 2 :]
        line = Line(".".join(each.name for each in places), text)
        places.append(line)
        if text.partition(" ")[0] != "all":
            yield line


def theirs(flink: str) -> list[Line]:
    return list(lines((GOLDEN / f"pyflink-{flink}.txt").read_text(encoding="utf-8").splitlines()))


def ours(flink: str) -> list[Line]:
    return list(lines(RECORD.api(recorded(flink))))


def is_inner(line: Line) -> bool:
    """True for what only PyFlink itself can do anything with; to ask for it is refused."""
    _, _, value = line.text.partition(" = ")
    if value.startswith("pyflink.") and not value.startswith(tuple(RECORD.TREES)):
        return True
    return any(line.name.startswith(INNER) or part.startswith(INNER) for part in line.place.split("."))


class Member(NamedTuple):
    """A line of the record of ours about a member of a class, and the class that has it."""

    line: Line
    home: type

    @property
    def key(self) -> tuple[str, str]:
        return self.home.__qualname__, self.line.name

    @property
    def marked(self) -> bool:
        return isinstance(vars(self.home).get(self.line.name), Beyond)

    @property
    def inner(self) -> bool:
        return self.line.name in INNER_MEMBERS.get(self.home.__qualname__, "").split()


def member(line: Line) -> Member | None:
    """The member that a line is about; None for one about a class, or about how it is called."""
    if not (owner := owner_of(line)) or line.name == "__init__":
        return None
    home = next((base for base in owner.__mro__ if line.name in vars(base)), None)
    return None if home is None else Member(line, home)


def owner_of(line: Line) -> type | None:
    """The class that a line stands in; None for a line about a module's own name."""
    if not line.place:
        return None
    places = list(accumulate(line.place.split("."), "{}.{}".format))
    module = next(place for place in reversed(places) if place in sys.modules)
    found: object = import_module(module)
    for name in line.place.removeprefix(module).split(".")[1:]:
        found = getattr(found, name)
    return found if isinstance(found, type) else None


def more(flink: str) -> list[Member]:
    """The members that we have and PyFlink has not. A class that PyFlink alone calls may be called otherwise here."""
    known = {(line.place, line.name) for line in theirs(flink)}
    others = [line for line in ours(flink) if (line.place, line.name) not in known and line.name != "__init__"]
    found = [member(line) for line in others]
    assert None not in found, others
    return [each for each in found if each is not None]


def marks() -> Iterator[tuple[str, str]]:
    """All members that have the mark, by the class that has them."""
    for module in pkgutil.iter_modules(beyond.__path__, f"{beyond.__name__}."):
        for owner in vars(import_module(module.name)).values():
            if isinstance(owner, type) and owner.__module__ == module.name:
                yield from (
                    (owner.__qualname__, name) for name, value in vars(owner).items() if isinstance(value, Beyond)
                )


def test_nothing_is_missing(flink: str) -> None:
    there = set(ours(flink))
    missing = [line for line in theirs(flink) if line not in there and not is_inner(line)]
    assert [line for line in missing if f"{line.place}.{line.name}" not in CALLED_OTHERWISE] == []


def test_there_is_nothing_else(flink: str) -> None:
    """Everything else has the mark by which a check tells that PyFlink lacks it, but for what programs have no use for."""
    assert [each for each in more(flink) if not each.marked and not each.inner] == []


def test_what_has_the_mark_is_nowhere_in_pyflink(flink: str) -> None:
    known = {(line.place, line.name) for line in theirs(flink)}
    marked = [each for each in map(member, ours(flink)) if each is not None and each.marked]
    assert [each for each in marked if (each.line.place, each.line.name) in known] == []
    assert {each.key for each in marked} == set(marks())
    assert not set(ADDED) & recorded(flink).keys()


def test_what_programs_have_no_use_for_is_all_there(flink: str) -> None:
    found = {each.key for each in more(flink)}
    homes = {home for home, _ in found}
    listed = {(home, name) for home, names in INNER_MEMBERS.items() for name in names.split() if home in homes}
    assert listed - found == set()


def test_what_import_star_gives(flink: str) -> None:
    for text in (GOLDEN / f"pyflink-{flink}.txt").read_text(encoding="utf-8").split("module ")[1:]:
        module, _, rest = text.partition("\n")
        given = rest.strip().partition("\n")[0]
        if given.startswith("all "):
            assert sorted(import_module(module).__all__) == given.split()[1:]


def test_inner_parts_need_pyflink_itself(flink: str) -> None:
    for line in theirs(flink):
        if line.place.count(".") < 3 and line.place.startswith("pyflink") and is_inner(line):
            with pytest.raises((NeedsPyFlink, ModuleNotFoundError)):
                getattr(import_module(line.place), line.name)


@pytest.mark.parametrize(("module", "made", "fields"), FIELDS)
def test_fields(flink: str, module: str, made: str, fields: str) -> None:
    value = eval(made, vars(import_module(f"compat.compiler.{module.replace('common', 'datastream.common')}")))
    assert all(hasattr(value, field) for field in fields.split())


def test_classes_go_by_pyflink_s_names(flink: str) -> None:
    """Also those that the program gets without importing them."""
    from pyflink.datastream import StreamExecutionEnvironment  # type: ignore[import-not-found]

    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection([1])
    keyed = stream.key_by(len)
    made = [environment, environment.get_config(), environment.get_checkpoint_config(), stream, keyed]
    made += [keyed.count_window(1), stream.connect(stream), stream.union(stream), stream.print(), stream.iterate()]
    assert {type(each).__module__.partition(".")[0] for each in made} == {"pyflink"}


def graphs(plan: Plan) -> dict[str, Any]:
    """The graphs of a plan as ``record_graphs.py`` writes them."""
    nodes = [
        {
            "id": node.id,
            "name": node.name,
            "parallelism": node.parallelism,
            "factory": node.operator_factory,
            "chaining": node.chaining_strategy,
        }
        for node in sorted(plan.stream_graph.nodes, key=lambda node: node.id)
    ]
    vertices = [
        {
            "name": vertex.name,
            "parallelism": vertex.parallelism,
            "operators": [operator.id for operator in vertex.operators],
        }
        for vertex in plan.job_graph.vertices
    ]
    return {"nodes": nodes, "vertices": sorted(vertices, key=lambda each: (each["name"], each["operators"]))}


def test_graphs_of_what_only_flink_1_20_has(flink: str) -> None:
    """The nodes, ids and parallelism that PyFlink 1.20 itself gives to programs for it."""
    golden = json.loads((GOLDEN / "graphs-1.20.json").read_text(encoding="utf-8"))
    programs = sorted((GOLDEN / "programs").glob("*.py"))
    assert [path.stem for path in programs] == sorted(golden)
    for path in programs:
        outcome = load_one(Request(path=str(path), shown=path.name, flink=flink))
        assert isinstance(outcome, Loaded)
        if flink != "1.20":
            assert outcome.crash is not None
            assert outcome.crash.type in ("AttributeError", "ImportError")
            continue
        (plan,) = outcome.plans
        assert isinstance(plan, Plan)
        assert graphs(plan) == {key: golden[path.stem][key] for key in ("nodes", "vertices")}
