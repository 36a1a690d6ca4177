"""Parts of Flink's Java API that PyFlink lacks: loops and operators with many inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.compiler.datastream import CoMapFunction, StreamExecutionEnvironment
from compat.compiler.datastream.common import Types
from compat.compiler.datastream.data_stream import DataStream
from compat.compiler.datastream.program import current_program
from compat.compiler.datastream.window import CountEvictor
from compat.compiler.errors import ProgramError
from compat.compiler.transformations.kinds import (
    CoFeedback,
    Feedback,
    KeyedMultipleInputTransformation,
    MultipleInputTransformation,
)
from tests.compiler.datastream.conftest import Recorder

pytestmark = pytest.mark.usefixtures("recorder")


class Both(CoMapFunction):
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: int) -> int:
        return value


@pytest.fixture
def stream() -> DataStream:
    environment = StreamExecutionEnvironment.get_execution_environment()
    return environment.from_collection([1, 2], Types.INT()).map(lambda x: x, Types.INT())


def test_a_loop(stream: DataStream) -> None:
    loop = stream.iterate(500)
    body = loop.map(lambda x: x - 1, Types.INT())
    assert loop.close_with(body) is body
    head = loop._transformation
    assert isinstance(head, Feedback)
    assert (head.feedback, head.wait, head.inputs) == ((body._id,), 500, (stream._id,))


def test_a_loop_takes_only_what_comes_from_it(stream: DataStream) -> None:
    with pytest.raises(ProgramError, match="does not originate from said iteration"):
        stream.iterate().close_with(stream)


def test_the_feedback_has_the_loop_s_parallelism(stream: DataStream) -> None:
    loop = stream.iterate()
    with pytest.raises(ProgramError, match="Parallelism of the feedback stream must match"):
        loop.close_with(loop.map(lambda x: x, Types.INT()).set_parallelism(7))


def test_a_loop_with_feedback_of_another_type(stream: DataStream) -> None:
    loop = stream.iterate().with_feedback_type(Types.INT())
    body = loop.map(Both(), Types.INT())
    loop.close_with(body)
    heads = [t for t in stream._environment.pipeline if isinstance(t, CoFeedback)]
    assert [head.feedback for head in heads] == [(body._id,)]


@pytest.mark.parametrize(
    ("keyed", "kind"), [(False, MultipleInputTransformation), (True, KeyedMultipleInputTransformation)]
)
def test_many_inputs(stream: DataStream, keyed: bool, kind: type) -> None:
    streams = [stream, stream, stream]
    if keyed:
        streams = [s.key_by(lambda x: x, Types.INT()) for s in streams]
    made = stream._environment.connect_all(*streams).transform("Join", object(), Types.INT())
    assert type(made._transformation) is kind
    assert made._transformation.inputs == tuple(s._id for s in streams)


def test_many_inputs_are_all_keyed_or_none(stream: DataStream) -> None:
    with pytest.raises(ProgramError, match="all keyed by the same type"):
        stream._environment.connect_all(stream, stream.key_by(lambda x: x)).transform("Join", object())


@pytest.mark.parametrize("on_spark", [False, True])
def test_what_pyflink_lacks_is_noted_with_the_line_of_its_first_use(recorder: Recorder, on_spark: bool) -> None:
    current_program().on_spark = on_spark
    environment = StreamExecutionEnvironment.get_execution_environment()
    windows = environment.from_collection([1]).key_by(lambda x: x).count_window(2)
    first = windows.evictor(CountEvictor.of(1))
    first.evictor(CountEvictor.of(2)).reduce(max).print()
    environment.execute()
    noted = {
        name: Path(place.file).read_text().splitlines()[place.line - 1]
        for name, place in recorder.jobs[-1].beyond
        if place
    }
    assert noted == ({} if on_spark else {"WindowedStream.evictor": "    first = windows.evictor(CountEvictor.of(1))"})
