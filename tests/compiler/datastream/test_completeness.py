"""Programs find what the PyFlink of their version offers, with the same parameters and defaults, and nothing else."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.served import recorded, serve
from compat.compiler.errors import NeedsPyFlink
from compat.compiler.versions import FLINK_VERSIONS
from compat.loader.process import load_one
from compat.loader.request import Loaded, Request
from compat.plan.model import Plan
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

OURS = {
    # what plans, graphs and the execution read off an object
    "format",
    "get_distributed_cache",
    "children",
    "connector",
    "describe",
    "driver_name",
    "has_resources",
    "internal",
    "kind",
    "name",
    "options",
    "parallel",
    "parts",
    "resources",
    "schema",
    "settings",
    "timezone",
    "to_json",
    "topology",
    "ttl_config",
    "version",
    # of a class that ours extends and PyFlink's does not
    "DATE",
    "TIME",
    "TIMESTAMP",
    # what PyFlink leaves to Java
    "completed",
    "collect",
    "create_watermark_generator",
    "deserialize",
    "encode",
    "for_generator",
    "get_produced_type",
    "of",
    "serialize",
    "timestamp_assigner",
    "to_millis",
    "to_nanos",
    # fields, which PyFlink sets in __init__ or holds in Java
    "basic_type",
    "batch_interval_ms",
    "batch_size",
    "delimiter",
    "elem_type",
    "element_type",
    "end",
    "field_names",
    "field_types",
    "id",
    "inactivity_interval",
    "key_type",
    "max_retries",
    "nanos",
    "num_checkpoints_before_compaction",
    "num_compact_threads",
    "part_prefix",
    "part_size",
    "part_suffix",
    "partition",
    "password",
    "rollover_interval",
    "seconds",
    "size_threshold",
    "start",
    "time_type",
    "topic",
    "type_info",
    "url",
    "user_name",
    "value_type",
    # Flink's Java API, which PyFlink lacks
    "add_operator",
    "connect_all",
    "create_with_end_of_stream_trigger",
    "evictor",
    "iterate",
    "register_job_listener",
    # between our modules
    "note_slot_sharing_group",
    "optimise",
    "submit",
}
"""Members of our classes that PyFlink's have not."""

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


def test_nothing_is_missing(flink: str) -> None:
    there = set(ours(flink))
    missing = [line for line in theirs(flink) if line not in there and not is_inner(line)]
    assert [line for line in missing if f"{line.place}.{line.name}" not in CALLED_OTHERWISE] == []


def test_there_is_nothing_else(flink: str) -> None:
    """A class that PyFlink alone calls may be called otherwise here."""
    known = {(line.place, line.name) for line in theirs(flink)}
    more = [line for line in ours(flink) if (line.place, line.name) not in known]
    assert [line for line in more if line.name not in {"__init__", *OURS}] == []


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
