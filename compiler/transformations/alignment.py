"""PyFlink's first pass: hidden operators take the parallelism of the neighbour that they belong to.

Flink: ``PythonConfigUtil.configPythonOperator``. The map before a ``key_by`` or a custom partitioning runs with its upstream
operator, and the operator that drops the key with its downstream operator, each after a forward partition.
"""

from __future__ import annotations

from compat.compiler.errors import FlinkError
from compat.compiler.transformations.kinds import (
    BroadcastStateTransformation,
    MultipleInputTransformation,
    Partition,
    Transformation,
    TwoInputTransformation,
    Union,
)
from compat.compiler.transformations.partitioners import FORWARD
from compat.compiler.transformations.pipeline import Pipeline

KEYED_STREAM_VALUES = "_keyed_stream_values_operator"
KEY_BY_MAP = "_stream_key_by_map_operator"
PARTITION_CUSTOM_MAP = "_partition_custom_map_operator"

_WITHOUT_ONE_INPUT = (
    TwoInputTransformation,
    MultipleInputTransformation,
    BroadcastStateTransformation,
    Union,
)


def align(pipeline: Pipeline) -> None:
    """Align the hidden operators among the registered transformations of ``pipeline``, in place.

    Raises a FlinkError if PyFlink does: a value operator directly before an operator with two inputs.
    """
    for id in pipeline.registered:
        transformation = pipeline[id]
        if not transformation.inputs:
            continue
        upstream = pipeline[transformation.inputs[0]]
        if upstream.name == KEYED_STREAM_VALUES:
            _follow(pipeline, upstream.id, pipeline[id])
            _put_forward(pipeline, upstream.id, id)
        if transformation.name in (KEY_BY_MAP, PARTITION_CUSTOM_MAP):
            _follow(pipeline, id, pipeline[upstream.id])
            _put_forward(pipeline, upstream.id, id)


def _follow(pipeline: Pipeline, hidden: int, neighbour: Transformation) -> None:
    group = neighbour if neighbour.slot_sharing_group else pipeline[hidden]
    pipeline.update(
        hidden,
        slot_sharing_group=group.slot_sharing_group,
        slot_resources=group.slot_resources,
        co_location_group=neighbour.co_location_group,
        parallelism=neighbour.parallelism,
        parallelism_configured=False,
    )


def _put_forward(pipeline: Pipeline, upstream_id: int, id: int) -> None:
    upstream, transformation = pipeline[upstream_id], pipeline[id]
    if isinstance(transformation, _WITHOUT_ONE_INPUT):
        raise FlinkError(
            "java.lang.NoSuchFieldException",
            "input",
            operator=transformation.name,
            location=transformation.location,
        )
    partition = pipeline.add(
        Partition(
            id=pipeline.new_id(),
            name="Partition",
            input=upstream_id,
            output_type=upstream.output_type,
            parallelism=upstream.parallelism,
            parallelism_configured=True,
            partitioner=FORWARD,
            location=transformation.location,
        ),
        register=False,
    )
    pipeline.update(id, input=partition.id)
