"""One translator per kind of transformation, found through a map. Flink: ``TransformationTranslator``."""

from __future__ import annotations

from typing import Any

from compat.compiler.streamgraph.translators import cache, iterations, operators, sinks, sources, virtual
from compat.compiler.transformations import model

TRANSLATORS: dict[type[model.Transformation], Any] = {
    model.Source: sources.translate_source,
    model.LegacySource: sources.translate_legacy_source,
    model.OneInputTransformation: operators.translate_one_input,
    model.ReduceTransformation: operators.translate_reduce,
    model.TimestampsAndWatermarks: operators.translate_timestamps,
    model.TwoInputTransformation: operators.translate_two_input,
    model.MultipleInputTransformation: operators.translate_multiple_input,
    model.KeyedMultipleInputTransformation: operators.translate_multiple_input,
    model.BroadcastStateTransformation: operators.translate_broadcast_state,
    model.KeyedBroadcastStateTransformation: operators.translate_broadcast_state,
    model.LegacySink: sinks.translate_legacy_sink,
    model.Sink: sinks.translate_sink,
    sinks.GlobalCommitter: sinks.translate_global_committer,
    model.CacheTransformation: cache.translate_cache,
    model.Union: virtual.translate_union,
    model.Partition: virtual.translate_partition,
    model.SideOutput: virtual.translate_side_output,
    model.Feedback: iterations.translate_feedback,
    model.CoFeedback: iterations.translate_co_feedback,
}
