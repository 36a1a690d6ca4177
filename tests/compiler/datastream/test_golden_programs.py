"""Every golden PyFlink program builds the transformations that PyFlink built."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.errors import FlinkError, ProgramError
from compat.compiler.transformations.kinds import (
    BroadcastStateTransformation,
    KeyedBroadcastStateTransformation,
    LegacySink,
    LegacySource,
    OneInputTransformation,
    Partition,
    PhysicalTransformation,
    SideOutput,
    Sink,
    Source,
    TimestampsAndWatermarks,
    Transformation,
    TwoInputTransformation,
    Union,
)
from compat.compiler.transformations.pipeline import Pipeline
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.pyflink.installed import find_pyflink
from tests import needs
from tests.needs import Need

GOLDEN = Path(__file__).parents[2] / "golden" / "pyflink-2.3"

FLINK_CLASS = {
    KeyedBroadcastStateTransformation: "PythonKeyedBroadcastStateTransformation",
    BroadcastStateTransformation: "PythonBroadcastStateTransformation",
    LegacySink: "LegacySinkTransformation",
    LegacySource: "LegacySourceTransformation",
    OneInputTransformation: "OneInputTransformation",
    Partition: "PartitionTransformation",
    SideOutput: "SideOutputTransformation",
    Sink: "SinkTransformation",
    Source: "SourceTransformation",
    TimestampsAndWatermarks: "TimestampsAndWatermarksTransformation",
    TwoInputTransformation: "TwoInputTransformation",
    Union: "UnionTransformation",
}


OF_TABLES = {
    f"pyflink.examples.datastream.{name}" for name in ("streaming_word_count", "asyncio.remote_model_inference")
}
"""Examples that use the Table API: PyFlink itself builds them."""


def golden(file: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def programs() -> Iterator[Any]:
    for program in golden("programs.jsonl.gz"):
        yield pytest.param(program["script"], program["expected"], id=program["name"])
    for pair in golden("pairs.jsonl.gz"):
        for side in ("old", "new"):
            yield pytest.param(pair[side]["script"], pair[side]["expected"], id=f"{pair['name']}-{side}")


@pytest.mark.parametrize(("script", "expected"), list(programs()))
def test_program(run_program: Callable[[str], Any], script: str, expected: dict[str, Any]) -> None:
    check(run_program, script, expected)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        pytest.param(e["script"], e["expected"], id=e["name"])
        for e in golden("examples.jsonl.gz")
        if e["script"] not in OF_TABLES
    ],
)
def test_example(
    run_program: Callable[[str], Any], pyflinks_folder: Path, module: str, expected: dict[str, Any]
) -> None:
    script = pyflinks_folder.parent / (module.replace(".", "/") + ".py")
    check(run_program, script.read_text(encoding="utf-8"), expected)


@pytest.fixture(scope="module")
def pyflinks_folder() -> Path:
    """The folder of the package that brings the examples along, which are read from there."""
    try:
        return find_pyflink().folder
    except JvmError as error:
        needs.without(Need.PYFLINK, error)


def check(run_program: Callable[[str], Any], script: str, expected: dict[str, Any]) -> None:
    error = expected.get("error")
    jobs = expected.get("jobs", [])
    if error is not None and not jobs:
        if "Could not found the Java class" in error["message"]:
            recorder = run_program(script)  # needs a jar in Flink, and none here
            assert recorder.jobs
            return
        with pytest.raises(ProgramError) as refused:
            run_program(script)
        message = error["message"]
        assert isinstance(refused.value, FlinkError)
        assert f"{refused.value.kind}: {refused.value.message}" == message or same_start(refused.value, message)
        return
    recorder = run_program(script)
    assert [graph.job_name for graph in recorder.graphs] == [job["job_name"] for job in jobs]
    for job, before, graph in zip(jobs, recorder.before, recorder.graphs, strict=True):
        assert before.registered == tuple(job["transformations_before"]["registered_order"])
        theirs = {t["id"]: t for t in job["transformations_before"]["all"]}
        ours = {t.id: t for t in reachable(before)}
        assert sorted(ours) == sorted(theirs)
        for id, flink in theirs.items():
            assert described(ours[id], before, flink) == flink
        nodes = job["stream_graph"]["nodes"]
        assert sorted((node.id, node.name) for node in graph.nodes.values()) == sorted(
            (node["id"], node["name"]) for node in nodes
        )


def same_start(error: ProgramError, message: str) -> bool:
    """True when both say the same up to the sentence that gives advice."""
    return message.split(": ", 1)[1].startswith(error.message.split(". ")[0])


def reachable(pipeline: Pipeline) -> Iterator[Transformation]:
    pending = list(pipeline.registered)
    seen = set(pending)
    while pending:
        transformation = pipeline[pending.pop()]
        yield transformation
        for input in transformation.inputs:
            if input not in seen:
                seen.add(input)
                pending.append(input)


def described(transformation: Transformation, pipeline: Pipeline, like: dict[str, Any]) -> dict[str, Any]:
    """A transformation in the form of the golden files."""
    found: dict[str, Any] = {
        "buffer_timeout": transformation.buffer_timeout,
        "class": FLINK_CLASS[type(transformation)],
        "id": transformation.id,
        "inputs": list(transformation.inputs),
        "kind": None,
        "max_parallelism": transformation.max_parallelism,
        "name": transformation.name,
        "output_type": shown_type(transformation.output_type),
        "parallelism": transformation.parallelism,
        "parallelism_configured": transformation.parallelism_configured,
        "registered": transformation.id in pipeline.registered,
        "uid": transformation.uid,
        "user_hash": transformation.user_hash,
    }
    if isinstance(transformation, PhysicalTransformation):
        found["chaining_strategy"] = transformation.chaining.name
        found["kind"] = operator_class(transformation)
    if isinstance(transformation, Partition):
        found["partitioner"] = transformation.partitioner.flink_class
    if isinstance(transformation, SideOutput):
        found["tag"] = transformation.tag
    if transformation.slot_sharing_group is not None:
        found["slot_sharing_group"] = transformation.slot_sharing_group
    return found


def operator_class(transformation: PhysicalTransformation) -> str | None:
    operator = transformation.operator
    if isinstance(transformation, Source | TimestampsAndWatermarks):
        return None
    if isinstance(transformation, BroadcastStateTransformation):
        return "DelegateOperator"
    if operator.python is None:
        return operator.factory
    return ("Embedded" if operator.thread_mode else "External") + operator.python.value


SHOWN = {
    "STRING": "String",
    "INT": "Integer",
    "LONG": "Long",
    "FLOAT": "Float",
    "DOUBLE": "Double",
    "BOOLEAN": "Boolean",
}


def shown_type(given: Any) -> str:
    """A type as Java prints it."""
    name = type(given).__name__
    if name == "TupleTypeInfo":
        types = given.get_field_types()
        return f"Java Tuple{len(types)}<{', '.join(map(shown_type, types))}>"
    if name == "RowTypeInfo":
        pairs = zip(given.get_field_names(), given.get_field_types(), strict=True)
        return f"Row({', '.join(f'{field}: {shown_type(type)}' for field, type in pairs)})"
    if name == "PickledBytesTypeInfo":
        return "PickledByteArrayTypeInfo"
    return SHOWN.get(str(given), str(given))
