"""Refusals of Flink and PyFlink while a program is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compat.compiler.datastream import (
    BroadcastProcessFunction,
    MapFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from compat.compiler.datastream.common import Types
from compat.compiler.datastream.data_stream import DataStream
from compat.compiler.datastream.program import Program, running
from compat.compiler.errors import ProgramError

pytestmark = pytest.mark.usefixtures("recorder")


@pytest.fixture
def stream() -> DataStream:
    environment = StreamExecutionEnvironment.get_execution_environment()
    return environment.from_collection([1, 2], Types.INT()).map(lambda x: x, Types.INT())


ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
UNSUPPORTED = "java.lang.UnsupportedOperationException"


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda s: s.set_uid_hash("xyz"),
            ILLEGAL_ARGUMENT,
            "Node hash must be a 32 character String that describes a hex code. Found: xyz",
        ),
        (
            lambda s: s.set_parallelism(0),
            ILLEGAL_ARGUMENT,
            "The parallelism of an operator must be at least 1, or ExecutionConfig.PARALLELISM_DEFAULT (use system "
            "default).",
        ),
        (
            lambda s: s.force_non_parallel().set_parallelism(2),
            ILLEGAL_ARGUMENT,
            "The parallelism of non parallel operator must be 1.",
        ),
        (
            lambda s: s.set_max_parallelism(40000),
            ILLEGAL_ARGUMENT,
            "Maximum parallelism must be between 1 and 32768. Found: 40000",
        ),
        (
            lambda s: s.force_non_parallel().set_max_parallelism(2),
            ILLEGAL_ARGUMENT,
            "The maximum parallelism of non parallel operator must be 1.",
        ),
        (lambda s: s.set_buffer_timeout(-2), ILLEGAL_ARGUMENT, "timeout must be >= -1"),
        (
            lambda s: s.key_by(lambda x: x).rebalance(),
            UNSUPPORTED,
            "Cannot override partitioning for KeyedStream.",
        ),
        (
            lambda s: (
                s.get_side_output(OutputTag("t", Types.INT())),
                s.get_side_output(OutputTag("t", Types.STRING())),
            ),
            UNSUPPORTED,
            "A side output with a matching id was already requested with a different type. This is not allowed, side "
            "output ids need to be unique.",
        ),
    ],
)
def test_flink_refuses(stream: DataStream, call: Callable[[DataStream], Any], kind: str, message: str) -> None:
    with pytest.raises(ProgramError) as refused:
        call(stream)
    assert (refused.value.kind, refused.value.message) == (kind, message)
    assert refused.value.location is not None
    assert refused.value.location.file == __file__


def test_a_union_needs_one_type(stream: DataStream) -> None:
    with pytest.raises(ProgramError, match="Cannot union streams of different types"):
        stream.union(stream.map(str, Types.STRING()))


@pytest.mark.parametrize("method", ["name", "uid", "set_parallelism", "set_max_parallelism", "start_new_chain"])
def test_a_keyed_stream_has_no_operator(stream: DataStream, method: str) -> None:
    keyed = stream.key_by(lambda x: x)
    argument = () if method == "start_new_chain" else (1,)
    with pytest.raises(ProgramError, match=f"{method} is not supported for KeyedStream"):
        getattr(keyed, method)(*argument)


@pytest.mark.parametrize("virtual", [lambda s: s.rebalance(), lambda s: s.union(s)])
def test_nor_has_a_partition_or_a_union(stream: DataStream, virtual: Callable[[DataStream], DataStream]) -> None:
    with pytest.raises(ProgramError, match="name needs an operator"):
        virtual(stream).name("n")


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.map(3),
        lambda s: s.map(lambda x: x, "INT"),
        lambda s: s.filter(None),
        lambda s: s.key_by("field"),
        lambda s: s.key_by(lambda x: x).process(lambda x: x),
        lambda s: s.key_by(lambda x: x).sum(1.5),
        lambda s: s.connect(s).map(lambda x: x),
        lambda s: s.broadcast("descriptor"),
        lambda s: s.set_parallelism("2"),
        lambda s: s.sink_to("sink"),
        lambda s: s.project(0),
        lambda s: s._environment.from_source("source", None, "name"),
    ],
)
def test_the_wrong_thing(stream: DataStream, call: Callable[[DataStream], Any]) -> None:
    with pytest.raises(TypeError, match=r"\w+ \w+"):
        call(stream)


def test_an_abstract_function_needs_its_method() -> None:
    class Nothing(MapFunction):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()  # type: ignore[abstract]


def test_broadcast_functions_belong_to_their_kind_of_stream(stream: DataStream) -> None:
    from compat.compiler.datastream.state import MapStateDescriptor

    class Rules(BroadcastProcessFunction[Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            yield value

    rules = stream.broadcast(MapStateDescriptor("rules", Types.INT(), Types.INT()))
    with pytest.raises(TypeError, match="KeyedBroadcastProcessFunction"):
        stream.key_by(lambda x: x).connect(rules).process(Rules())


def test_an_array_is_no_key(stream: DataStream) -> None:
    with pytest.raises(ProgramError, match="cannot be used as key"):
        stream.key_by(lambda x: x, Types.BASIC_ARRAY(Types.INT()))


def test_nothing_to_execute() -> None:
    with pytest.raises(ProgramError, match="No operators defined in streaming topology") as refused:
        StreamExecutionEnvironment.get_execution_environment().execute()
    assert refused.value.stage == "streamGraph"


def test_no_executor() -> None:
    with running(Program()) as program:
        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.from_collection([1]).print()
        with pytest.raises(ProgramError, match="compat job run"):
            environment.execute()
        with pytest.raises(ProgramError, match="compat job run"):
            program.require_executor()


def test_an_id_hash_only_for_sinks_of_the_old_kind(stream: DataStream) -> None:
    from compat.compiler.transformations.kinds import SinkStep, SinkTopology
    from compat.compiler.transformations.operators import SinkWriter

    class Anything:
        def topology(self) -> SinkTopology:
            return SinkTopology(writer=SinkStep(name="Writer", operator=SinkWriter()))

    stream.print().set_uid_hash("0" * 32)
    with pytest.raises(ProgramError, match="Cannot set a custom UID hash on a non-legacy sink"):
        stream.sink_to(Anything()).set_uid_hash("0" * 32)
