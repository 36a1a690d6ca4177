"""PyFlink's passes: what merges with what, in which order, and in time linear in the program."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.datastream.common.typeinfo import Types
from compat.compiler.datastream.window import EventTimeTrigger, TumblingEventTimeWindows
from compat.compiler.errors import FlinkError
from compat.compiler.transformations.alignment import KEY_BY_MAP, KEYED_STREAM_VALUES, align
from compat.compiler.transformations.kinds import (
    BroadcastStateTransformation,
    CacheTransformation,
    LegacySource,
    OneInputTransformation,
    Partition,
    SideOutput,
    TwoInputTransformation,
    Union,
)
from compat.compiler.transformations.merging import merge
from compat.compiler.transformations.operators import (
    BroadcastProcess,
    ChainingStrategy,
    Collection,
    CoMap,
    KeyedMap,
    Map,
    PythonFunction,
    Window,
    WindowCall,
)
from compat.compiler.transformations.partitioners import FORWARD, REBALANCE
from compat.compiler.transformations.pipeline import Pipeline
from compat.state.descriptors import ListStateDescriptor
from tests.counting import calls_of


def source(pipeline: Pipeline) -> int:
    made = LegacySource(id=pipeline.new_id(), name="source", operator=Collection(), bounded=True, parallelism=1)
    return pipeline.add(made, register=False).id


def python(
    pipeline: Pipeline,
    input: int,
    name: str,
    operator: PythonFunction | None = None,
    thread_mode: bool = False,
    **fields: Any,
) -> int:
    operator = operator or Map(thread_mode=thread_mode)
    made = OneInputTransformation(
        id=pipeline.new_id(), name=name, input=input, operator=operator, **{"parallelism": 2, **fields}
    )
    return pipeline.add(made).id


def window(*, thread_mode: bool = False) -> Window:
    assigner = TumblingEventTimeWindows(5, 0)
    return Window(
        thread_mode=thread_mode,
        call=WindowCall.APPLY,
        assigner=assigner,
        trigger=EventTimeTrigger(),
        state_descriptor=ListStateDescriptor("window-contents", Types.INT()),
        window_serializer=assigner.get_window_serializer(),
        input_type=Types.INT(),
    )


def partition(pipeline: Pipeline, input: int, partitioner: Any) -> int:
    made = Partition(id=pipeline.new_id(), name="Partition", input=input, partitioner=partitioner)
    return pipeline.add(made, register=False).id


def merged_names(pipeline: Pipeline) -> list[str]:
    merge(pipeline)
    return [pipeline[id].name for id in pipeline.registered]


def chain(pipeline: Pipeline, *names: str, **fields: Any) -> int:
    last = source(pipeline)
    for name in names:
        last = python(pipeline, last, name, **fields)
    return last


def test_a_run_becomes_one_operator_with_the_last_id() -> None:
    pipeline = Pipeline()
    chain(pipeline, "a", "b", "c")  # 1 is the source, 2 to 4 are these
    merge(pipeline)
    assert pipeline.registered == (6, 1)
    whole = pipeline[6]
    assert isinstance(whole, OneInputTransformation)
    assert (whole.name, whole.input, whole.parts) == ("a, b, c", 1, (2, 3, 4))
    assert len(whole.operator.chained) == 2


@pytest.mark.parametrize(
    ("up", "down", "merges"),
    [
        ({}, {}, True),
        ({"operator": KeyedMap()}, {}, True),
        ({"operator": window()}, {}, True),
        ({"operator": window(thread_mode=True)}, {"thread_mode": True}, True),
        ({"operator": BroadcastProcess()}, {}, False),
        ({}, {"operator": KeyedMap()}, False),
        ({}, {"parallelism": 3}, False),
        ({}, {"max_parallelism": 64}, False),
        ({"max_parallelism": 64}, {"max_parallelism": 64}, True),
        ({}, {"slot_sharing_group": "g"}, False),
        ({"chaining": ChainingStrategy.HEAD}, {}, True),
        ({"chaining": ChainingStrategy.NEVER}, {}, False),
        ({}, {"chaining": ChainingStrategy.HEAD}, False),
        ({}, {"chaining": ChainingStrategy.NEVER}, False),
        ({"thread_mode": True}, {}, False),
        ({"thread_mode": True}, {"thread_mode": True}, True),
    ],
)
def test_what_merges(up: dict[str, Any], down: dict[str, Any], merges: bool) -> None:
    pipeline = Pipeline()
    python(pipeline, python(pipeline, source(pipeline), "up", **up), "down", **down)
    assert merged_names(pipeline) == (["up, down", "source"] if merges else ["up", "down", "source"])


@pytest.mark.parametrize(("partitioner", "merges"), [(FORWARD, True), (REBALANCE, False)])
def test_only_forward_may_stand_between(partitioner: Any, merges: bool) -> None:
    pipeline = Pipeline()
    up = python(pipeline, source(pipeline), "up")
    python(pipeline, partition(pipeline, up, partitioner), "down")
    assert ("up, down" in merged_names(pipeline)) is merges


def test_a_second_consumer_prevents_it() -> None:
    pipeline = Pipeline()
    up = chain(pipeline, "up")
    python(pipeline, up, "left")
    python(pipeline, up, "right")
    assert merged_names(pipeline) == ["up", "left", "right", "source"]


def test_so_does_a_side_output() -> None:
    pipeline = Pipeline()
    up = chain(pipeline, "up")
    python(pipeline, up, "down")
    side = pipeline.add(SideOutput(id=pipeline.new_id(), name="SideOutput", input=up, tag="t"), register=False)
    python(pipeline, side.id, "late")
    assert "up" in merged_names(pipeline)


def test_the_head_keeps_its_uid() -> None:
    pipeline = Pipeline()
    up = python(pipeline, source(pipeline), "up", uid="u", user_hash="0" * 32, description="first")
    python(pipeline, up, "down", uid="dropped", buffer_timeout=5, description="second")
    merge(pipeline)
    whole = pipeline[pipeline.registered[0]]
    assert (whole.uid, whole.user_hash, whole.buffer_timeout) == ("u", "0" * 32, -1)
    assert whole.description == "first, second"


def test_a_union_reads_the_merged_input_last() -> None:
    pipeline = Pipeline()
    a, b, c = chain(pipeline, "a"), chain(pipeline, "b", "b2"), chain(pipeline, "c")
    union = Union(id=pipeline.new_id(), name="Union", input_list=(a, b, c))
    python(pipeline, pipeline.add(union, register=False).id, "after")
    merge(pipeline)
    assert [pipeline[id].name for id in pipeline[union.id].inputs] == ["a", "c", "b, b2"]


def test_a_union_with_itself_keeps_the_other_occurrence() -> None:
    pipeline = Pipeline()
    s = chain(pipeline, "a", "b")
    union = Union(id=pipeline.new_id(), name="Union", input_list=(s, s))
    python(pipeline, pipeline.add(union, register=False).id, "after")
    merge(pipeline)
    assert [pipeline[id].name for id in pipeline[union.id].inputs] == ["b", "a, b"]


def test_collecting_starts_from_the_collected_stream() -> None:
    pipeline = Pipeline()
    target = chain(pipeline, "a", "b", "c")
    chain(pipeline, "elsewhere")
    collected = merge(pipeline, target)
    assert [pipeline[id].name for id in pipeline.registered] == ["a, b, c", "source"]
    assert collected == pipeline.registered[0]


def test_alignment_gives_the_key_map_its_upstream_s_parallelism() -> None:
    pipeline = Pipeline()
    key_map = chain(pipeline, KEY_BY_MAP)
    align(pipeline)
    aligned = pipeline[key_map]
    assert isinstance(aligned, OneInputTransformation)
    assert (aligned.parallelism, aligned.parallelism_configured) == (1, False)
    between = pipeline[aligned.input]
    assert isinstance(between, Partition)
    assert (between.partitioner, between.input) == (FORWARD, 1)


def test_alignment_gives_the_value_operator_its_downstream_s_parallelism() -> None:
    pipeline = Pipeline()
    values = chain(pipeline, KEYED_STREAM_VALUES)
    python(pipeline, values, "down", parallelism=5, slot_sharing_group="g")
    align(pipeline)
    assert (pipeline[values].parallelism, pipeline[values].slot_sharing_group) == (5, "g")


def test_a_value_operator_before_two_inputs_is_refused() -> None:
    pipeline = Pipeline()
    values = chain(pipeline, KEYED_STREAM_VALUES)
    both = TwoInputTransformation(id=pipeline.new_id(), name="Co-Map", input1=values, input2=values, operator=CoMap())
    pipeline.add(both)
    with pytest.raises(FlinkError, match="input") as refused:
        align(pipeline)
    assert refused.value.kind == "java.lang.NoSuchFieldException"


@given(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=30))
def test_merging_keeps_every_operator_once_and_in_order(parallelisms: list[int]) -> None:
    pipeline = Pipeline()
    last = source(pipeline)
    for number, parallelism in enumerate(parallelisms):
        last = python(pipeline, last, str(number), parallelism=parallelism)
    merge(pipeline)
    names = ", ".join(pipeline[id].name for id in pipeline.registered if pipeline[id].name != "source")
    assert sorted(names.split(", "), key=int) == [str(number) for number in range(len(parallelisms))]
    runs = 1 + sum(a != b for a, b in pairwise(parallelisms))
    assert len(pipeline.registered) == runs + 1


def test_the_work_is_linear() -> None:
    def calls(length: int) -> int:
        pipeline = Pipeline()
        chain(pipeline, *("m" for _ in range(length)))
        count = calls_of(lambda: merge(pipeline))
        assert len(pipeline.registered) == 2
        return count

    assert calls(8_000) < 10.5 * calls(800)


def test_what_reads_a_merged_operator_must_be_redirected() -> None:
    """PyFlink cannot do that for a cache, nor for an operator with broadcast state."""
    pipeline = Pipeline()
    last = chain(pipeline, "a", "b")
    pipeline.add(CacheTransformation(id=pipeline.new_id(), name="Cache: b", input=last))
    with pytest.raises(FlinkError, match="Unsupported transformation: CacheTransformation"):
        merge(pipeline)

    pipeline = Pipeline()
    last = chain(pipeline, "a", "b")
    rules = partition(pipeline, source(pipeline), REBALANCE)
    pipeline.add(
        BroadcastStateTransformation(
            id=pipeline.new_id(),
            name="Co-Process-Broadcast",
            regular_input=last,
            broadcast_input=rules,
            operator=BroadcastProcess(),
        )
    )
    with pytest.raises(FlinkError, match="NoSuchFieldException: regularInput"):
        merge(pipeline)
