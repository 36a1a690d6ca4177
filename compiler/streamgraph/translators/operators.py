"""Operators with one, two or more inputs. Flink: ``AbstractOneInputTransformationTranslator`` and its siblings."""

from __future__ import annotations

from msgspec.structs import replace

from compat.compiler.streamgraph.graph import Task
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import (
    BroadcastStateTransformation,
    KeyedBroadcastStateTransformation,
    KeyedMultipleInputTransformation,
    MultipleInputTransformation,
    OneInputTransformation,
    ReduceTransformation,
    TimestampsAndWatermarks,
    TwoInputTransformation,
)
from compat.compiler.transformations.operators import ChainingStrategy


def translate_one_input(operator: OneInputTransformation, context: Context) -> tuple[int, ...]:
    """Translate an operator with one input, keyed or not."""
    return context.add_operator(
        operator,
        Task.ONE_INPUT,
        chaining=context.batch_keyed(operator.chaining, operator.keyed),
        keyed_inputs=int(operator.keyed),
        key_type=operator.key_type,
    )


def translate_reduce(operator: ReduceTransformation, context: Context) -> tuple[int, ...]:
    """Translate a rolling reduce; its input is always keyed."""
    return context.add_operator(
        operator,
        Task.ONE_INPUT,
        chaining=context.batch_keyed(operator.chaining, True),
        keyed_inputs=1,
        key_type=operator.key_type,
    )


def translate_timestamps(operator: TimestampsAndWatermarks, context: Context) -> tuple[int, ...]:
    """Translate an assigner of timestamps and watermarks; it never uses a key."""
    if context.settings.legacy:
        plain = replace(operator.operator, factory="SimpleOperatorFactory")
        operator = replace(operator, operator=plain)
    return context.add_operator(operator, Task.ONE_INPUT)


def translate_two_input(operator: TwoInputTransformation, context: Context) -> tuple[int, ...]:
    """Translate an operator with two inputs, of which none, one or both are keyed."""
    keyed = operator.keyed1 + operator.keyed2
    return context.add_operator(
        operator,
        Task.TWO_INPUT,
        chaining=context.batch_keyed(operator.chaining, keyed > 0),
        keyed_inputs=keyed,
        key_type=operator.key_type,
    )


def translate_multiple_input(operator: MultipleInputTransformation, context: Context) -> tuple[int, ...]:
    """Translate an operator with any number of inputs."""
    keyed = isinstance(operator, KeyedMultipleInputTransformation)
    return context.add_operator(
        operator,
        Task.MULTIPLE_INPUT,
        chaining=context.batch_keyed(operator.chaining, keyed),
        keyed_inputs=len(operator.inputs) if keyed else 0,
        key_type=operator.key_type if isinstance(operator, KeyedMultipleInputTransformation) else None,
    )


def translate_broadcast_state(operator: BroadcastStateTransformation, context: Context) -> tuple[int, ...]:
    """Translate a stream connected with a broadcast one. Its chaining strategy is ignored, as Flink makes the operator late."""
    keyed = isinstance(operator, KeyedBroadcastStateTransformation)
    default = ChainingStrategy.HEAD if context.settings.legacy else ChainingStrategy.ALWAYS
    return context.add_operator(
        operator,
        Task.TWO_INPUT,
        chaining=context.batch_keyed(default, keyed),
        keyed_inputs=int(keyed),
        key_type=operator.key_type if isinstance(operator, KeyedBroadcastStateTransformation) else None,
    )
